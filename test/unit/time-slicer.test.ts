import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { TimeSlicer } from '../../src/collections/time-slicer.js';

afterEach(() => vi.useRealTimers());

function burn(ms: number): void {
  if (vi.isFakeTimers()) return void vi.advanceTimersByTime(ms);
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Lets the clock go on by a millisecond with each turn of the event loop: what else the machine does then counts for nobody. */
async function inFakeTime(work: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  let isDone = false;
  const ended = work().finally(() => (isDone = true));
  while (!isDone) {
    await turn();
    vi.advanceTimersByTime(1);
  }
  await ended;
}

/** A task of so many slices, each of which is told. */
function slices(slicer: TimeSlicer, count: number, tell: () => void): Promise<void> {
  let left = count;
  return slicer.run(() => {
    tell();
    burn(2);
    return --left === 0;
  });
}

/** Does the work of one organisation's call. */
async function callOf<T>(slicer: TimeSlicer, orgId: string, work: () => Promise<T>): Promise<T> {
  await turn();
  slicer.begin(orgId);
  return await work();
}

test('however many long tasks an organisation has, another gets every second slice', async () => {
  const slicer = new TimeSlicer();
  const order: string[] = [];
  let last = 0;
  await inFakeTime(async () => {
    const crowd = callOf(slicer, 'crowd', () =>
      Promise.all(Array.from({ length: 30 }, () => slices(slicer, 4, () => order.push('crowd')))),
    );
    await callOf(slicer, 'other', () => slices(slicer, 5, () => order.push('other')));
    last = order.lastIndexOf('other');
    await crowd;
  });
  // Three: its calls begin a few turns later.
  expect(order.slice(0, last).filter((name) => name === 'crowd').length).toBeLessThanOrEqual(5 + 3);
  expect(order.length).toBe(125);
});

/** How many turns the event loop has within the time of some slices. */
async function turnsBeside(work: Promise<void>): Promise<number> {
  let isDone = false;
  const ended = work.then(() => (isDone = true));
  let turns = 0;
  for (; !isDone; turns++) await turn();
  await ended;
  return turns;
}

test('an organisation that calls alone does its long work without a pause', async () => {
  const slicer = new TimeSlicer();
  await callOf(slicer, 'alone', () => Promise.resolve());
  const turns = await turnsBeside(callOf(slicer, 'alone', () => slices(slicer, 10, () => undefined)));
  expect(turns).toBeLessThanOrEqual(15);
});

test('while others call, the event loop has turns without long work, also where the work follows a slice', async () => {
  const slicer = new TimeSlicer();
  const work = async () => {
    for (let at = 0; at < 10; at++) {
      await slicer.run(() => true);
      await Promise.resolve();
      burn(2);
    }
  };
  await callOf(slicer, 'other', () => Promise.resolve());
  const turns = await turnsBeside(callOf(slicer, 'crowd', work));
  expect(turns).toBeGreaterThan(40);
});

test('what a slice throws ends its own task alone', async () => {
  const slicer = new TimeSlicer();
  const fault = new Error('of one');
  const failing = slicer.run(() => {
    throw fault;
  });
  const [failed, other] = await Promise.allSettled([failing, slices(slicer, 3, () => undefined)]);
  expect(failed).toEqual({ status: 'rejected', reason: fault });
  expect(other.status).toBe('fulfilled');
});
