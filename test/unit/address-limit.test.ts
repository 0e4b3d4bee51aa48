import { afterEach, expect, test, vi } from 'vitest';
import { createAddressLimit } from '../../src/boot/http/address-limit.js';

afterEach(() => vi.useRealTimers());

const HOUR = 3_600_000;

test.each([
  ['set back by an hour', -HOUR],
  ['set forward by an hour', HOUR],
])('a clock that is %s neither prolongs the window of an address nor ends it', (_what, by) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const limit = createAddressLimit();
  const take = () => limit.take('192.0.2.1').admitted;
  expect(Array.from({ length: 61 }, take)).toEqual([...Array.from({ length: 60 }, () => true), false]);
  // Only the day's clock moves.
  vi.setSystemTime(Date.now() + by);
  const refused = limit.take('192.0.2.1');
  expect(refused.admitted).toBe(false);
  expect(refused.retryAfter).toBe(60);
  // Callers reckon with the day's clock.
  expect(refused.rate.reset).toBe(Math.ceil((Date.now() + 60_000) / 1000));
  vi.advanceTimersByTime(60_001);
  expect(take()).toBe(true);
});
