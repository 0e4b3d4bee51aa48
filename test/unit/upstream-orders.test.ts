import { expect, test } from 'vitest';
import { UpstreamError } from '../../src/providers/index.js';
import type { OrderLog } from '../../src/providers/index.js';
import { followOrder } from '../../src/providers/predictions/operation.js';

/** An upstream that never finishes, the notes of its orders, and what it was told. */
function bench(log: Partial<OrderLog> = {}) {
  const told: string[] = [];
  const abort = new AbortController();
  const work = {
    place: () => {
      told.push('order');
      return Promise.resolve(`o${told.length}`);
    },
    check: (reference: string) => {
      told.push(`ask ${reference}`);
      abort.abort();
      return Promise.resolve({ done: false as const });
    },
    withdraw: (reference: string) => Promise.resolve(told.push(`withdraw ${reference}`)),
    limits: { pollMs: 1, generationMs: 60_000 },
    signal: abort.signal,
    log: {
      key: 'penstock-1',
      earlier: () => null,
      held: () => Promise.resolve(true),
      placed: () => Promise.resolve(true),
      withdrawn: (reference: string) => Promise.resolve(void told.push(`forget ${reference}`)),
      isHandedOver: () => false,
      ...log,
    },
  };
  return { told, abort, work };
}
const faultOf = (work: Promise<unknown>) => work.catch((error: UpstreamError) => error.fault);

test('an order that nobody waits for is taken back and forgotten', async () => {
  const { told, work } = bench();
  expect(await faultOf(followOrder(work))).toBe('aborted');
  expect(told).toEqual(['order', 'ask o1', 'withdraw o1', 'forget o1']);
});

test('an order whose job goes on in another process is left alone there', async () => {
  const { told, work } = bench({ isHandedOver: () => true });
  expect(await faultOf(followOrder(work))).toBe('aborted');
  expect(told).toEqual(['order', 'ask o1']);
});

test('an order of a job that another worker took meanwhile is taken back', async () => {
  const { told, work } = bench({ placed: () => Promise.resolve(false), isHandedOver: () => true });
  expect(await faultOf(followOrder(work))).toBe('aborted');
  expect(told).toEqual(['order', 'withdraw o1', 'forget o1']);
});

test('nothing is ordered for a job whose claim came to nothing', async () => {
  const { told, work } = bench({ held: () => Promise.resolve(false) });
  expect(await faultOf(followOrder(work))).toBe('aborted');
  expect(told).toEqual([]);
});

test('an earlier order is followed without another; one that the upstream does not know any more is placed anew', async () => {
  const first = bench({ earlier: () => 'before', isHandedOver: () => true });
  await faultOf(followOrder(first.work));
  expect(first.told).toEqual(['ask before']);

  const second = bench({ earlier: () => 'before', isHandedOver: () => true });
  const check = (reference: string) => {
    if (reference !== 'before') return second.work.check(reference);
    return Promise.reject(new UpstreamError('Upstream answered 404', { status: 404, retryable: false }));
  };
  await faultOf(followOrder({ ...second.work, check }));
  expect(second.told).toEqual(['order', 'ask o1']);
});

test('an upstream that is to be left alone for a while is not asked about its order until then', async () => {
  const { work } = bench();
  const asked: number[] = [];
  const busy = { status: 429, retryable: true, retryAfterMs: 200 };
  const check = (): Promise<{ done: true; value: string }> => {
    asked.push(performance.now());
    if (asked.length === 1) return Promise.reject(new UpstreamError('Upstream answered 429', busy));
    return Promise.resolve({ done: true, value: 'made' });
  };
  expect(await followOrder({ ...work, check })).toBe('made');
  expect(asked[1]! - asked[0]!).toBeGreaterThan(190);
});
