import { afterEach, expect, test, vi } from 'vitest';
import { retryUntilAvailable } from '../../src/database/pool.js';

afterEach(() => vi.restoreAllMocks());

const HOUR_MS = 3_600_000;
const server = { url: '', ensure: () => Promise.resolve() };
const away = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

/** Sets the clock as a time server does that finds it wrong. */
function setClock(byMs: number): void {
  const real = Date.now();
  const began = performance.now();
  vi.spyOn(Date, 'now').mockImplementation(() => real + byMs + performance.now() - began);
}

test('a clock that is set back makes no call wait longer for PostgreSQL', async () => {
  const began = performance.now();
  const call = retryUntilAvailable(server, () => {
    if (!vi.isMockFunction(Date.now)) setClock(-HOUR_MS);
    return Promise.reject(away);
  });
  await expect(call).rejects.toMatchObject({ code: 'unavailable' });
  expect(performance.now() - began).toBeLessThan(6000);
}, 10_000);

test('a clock that is set forward does not shorten the time for which a call retries', async () => {
  let attempts = 0;
  const call = retryUntilAvailable(server, () => {
    attempts += 1;
    if (attempts === 1) setClock(HOUR_MS);
    return attempts < 5 ? Promise.reject(away) : Promise.resolve('there');
  });
  await expect(call).resolves.toBe('there');
});
