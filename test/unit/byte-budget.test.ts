import { afterEach, expect, it, vi } from 'vitest';
import { createByteBudget } from '../../src/http/byte-budget.js';
import { DEFAULT_PLANS } from '../../src/access/plans.js';
import type { Plan } from '../../src/access/access.types.js';

const MB = 1024 * 1024;
const plan = {
  ...DEFAULT_PLANS.plans.free,
  code: 'free',
  bodies: { heldMb: 1000, mbPerSecond: 50 },
} as unknown as Plan;
const of = (orgId: string, keyId = orgId) => ({ orgId, keyId, plan });

afterEach(() => void vi.useRealTimers());

it('reads long bodies at any speed until an organisation has sent what it may send in two seconds, and then at the pace of its plan', () => {
  vi.useFakeTimers();
  const budget = createByteBudget(1024 * MB);
  const body = budget.hold(of('a'));
  expect(body.read(100 * MB)).toBe(0);
  expect(body.read(10 * MB)).toBeCloseTo(200);
  vi.advanceTimersByTime(200);
  expect(body.read(0)).toBe(0);
  expect(body.read(1 * MB)).toBeCloseTo(20);
  vi.advanceTimersByTime(60_000);
  expect(body.read(100 * MB)).toBe(0);
});

it('counts all keys of an organisation together, and no other organisation with them', () => {
  vi.useFakeTimers();
  const budget = createByteBudget(1024 * MB);
  budget.hold(of('a', 'one')).read(100 * MB);
  expect(budget.hold(of('a', 'two')).read(20 * MB)).toBeCloseTo(400);
  expect(budget.hold(of('b')).read(20 * MB)).toBe(0);
});
