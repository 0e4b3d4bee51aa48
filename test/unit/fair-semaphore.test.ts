import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { runForOrg, withoutPermit, FairSemaphore } from '../../src/processes/index.js';
import type { Permit } from '../../src/processes/index.js';

/** The same numbers for the same seed, so that a failure can be run again. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** All that can happen without time has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

interface Asking {
  org: string;
  nth: number;
  gone: AbortController;
  permit: Permit | null;
}

/** Asks for permits and notes, in order, who got one. */
function desk(permits: FairSemaphore) {
  const asking: Asking[] = [];
  const entered: Asking[] = [];
  let nth = 0;
  return {
    asking,
    entered,
    ask(org: string): Asking {
      const entry: Asking = { org, nth: nth++, gone: new AbortController(), permit: null };
      asking.push(entry);
      void permits.acquire(org, entry.gone.signal).then(
        (permit) => {
          entry.permit = permit;
          asking.splice(asking.indexOf(entry), 1);
          entered.push(entry);
        },
        () => asking.splice(asking.indexOf(entry), 1),
      );
      return entry;
    },
    held: (org?: string) =>
      entered.filter((entry) => entry.permit?.held && (org === undefined || entry.org === org)),
  };
}

describe('fair permits', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'one organisation whose work never ends keeps nobody waiting, whatever it does (sequence %i)',
    async (seed) => {
      const below = numbersFrom(seed);
      const [size, reserve] = [1 + below(4), 1 + below(3)];
      const permits = new FairSemaphore({ permits: size, reserve, maxRestingPerOrg: 3 });
      const { entered, ask, held } = desk(permits);
      const resting: (() => void)[] = [];
      for (let step = 0; step < 400; step++) {
        const action = below(6);
        const [mine] = held('hostile').slice(-1);
        if (action < 2) ask('hostile');
        else if (action === 2 && mine !== undefined)
          void mine.permit?.rest(() => new Promise<void>((wake) => resting.push(wake)));
        else if (action === 3) resting.splice(below(resting.length || 1), 1)[0]?.();
        else if (action === 4)
          held()
            .find(({ org }) => org !== 'hostile')
            ?.permit?.release();
        else if (held().filter(({ org }) => org !== 'hostile').length < reserve) {
          const other = ask(`other ${step}`);
          await settled();
          expect(other.permit?.held).toBe(true);
        }
        await settled();
        expect(held('hostile').length).toBeLessThanOrEqual(size);
      }
      expect(entered.length).toBeGreaterThan(size);
    },
  );

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'keep their rules whatever is asked, given back and given up (sequence %i)',
    async (seed) => {
      const below = numbersFrom(seed);
      const [size, reserve] = [1 + below(4), 1 + below(3)];
      const permits = new FairSemaphore({ permits: size, reserve });
      const { asking, entered, ask, held } = desk(permits);
      for (let step = 0; step < 600; step++) {
        const action = below(10);
        if (action < 5) ask(`org${below(6)}`);
        else if (action < 8) held()[below(held().length || 1)]?.permit?.release();
        else asking[below(asking.length || 1)]?.gone.abort();
        await settled();
        const taken = held().length;
        expect(taken).toBeLessThanOrEqual(size + reserve);
        expect(permits.available).toEqual({
          free: Math.max(0, size - taken),
          reserve: size + reserve - Math.max(size, taken),
        });
        // Nobody waits beside a permit that is free, nor an organisation that has none beside the reserve.
        if (taken < size) expect(asking).toEqual([]);
        if (taken < size + reserve) expect(asking.filter(({ org }) => held(org).length === 0)).toEqual([]);
      }
      for (const org of new Set(entered.map((entry) => entry.org))) {
        const order = entered.filter((entry) => entry.org === org).map((entry) => entry.nth);
        expect(order).toEqual([...order].sort((a, b) => a - b));
      }
      while (held().length > 0) {
        for (const { permit } of held()) permit?.release();
        await settled();
      }
      expect(asking).toEqual([]);
      expect(permits.available).toEqual({ free: size, reserve });
    },
  );

  it('are all for an organisation that is alone, and one is left for each that comes while they are taken', async () => {
    const permits = new FairSemaphore({ permits: 4, reserve: 2 });
    const { ask, held } = desk(permits);
    for (let n = 0; n < 50; n++) ask('crowd');
    await settled();
    expect(held('crowd')).toHaveLength(4);
    for (const org of ['a', 'a', 'b', 'c']) ask(org);
    await settled();
    expect([held('a').length, held('b').length, held('c').length]).toEqual([1, 1, 0]);
  });

  it('go to the organisation that has the fewest, and in turns between equals', async () => {
    const permits = new FairSemaphore({ permits: 1, reserve: 0 });
    const { ask, entered, held } = desk(permits);
    for (const org of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) ask(org);
    for (let n = 0; n < 7; n++) {
      await settled();
      held()[0]?.permit?.release();
    }
    expect(entered.map(({ org }) => org).join('')).toBe('abcabaa');
  });

  it('come to every organisation although another asks again and again', async () => {
    const permits = new FairSemaphore({ permits: 2 });
    const { ask, held } = desk(permits);
    const others = Array.from({ length: 20 }, (_, n) => `org${n}`);
    for (let n = 0; n < 500; n++) ask('crowd');
    await settled();
    const waiting = others.map((org) => ask(org));
    for (let turn = 0; turn < 2 * others.length; turn++) {
      held()[0]?.permit?.release();
      ask('crowd');
      await settled();
    }
    expect(waiting.every(({ permit }) => permit !== null)).toBe(true);
  });

  it('are given to each of a hundred thousand that wait, those apart that left', async () => {
    const permits = new FairSemaphore({ permits: 1, reserve: 0, maxWaitingPerOrg: 1_000_000 });
    const first = await permits.acquire('first');
    let entered = 0;
    const leavers: AbortController[] = [];
    const signalOf = (n: number): AbortSignal | undefined => {
      if (n % 2 === 1) return undefined;
      const leaver = new AbortController();
      leavers.push(leaver);
      return leaver.signal;
    };
    const all = Array.from({ length: 100_000 }, (_, n) =>
      permits.acquire(`org${n % 1000}`, signalOf(n)).then(
        (permit) => {
          entered++;
          permit.release();
        },
        () => undefined,
      ),
    );
    for (const leaver of leavers) leaver.abort(new Error('gone'));
    first.release();
    await Promise.all(all);
    expect(entered).toBe(50_000);
    expect(permits.available.free).toBe(1);
  });

  it('refuse an organisation whose line is full, and nobody else', async () => {
    const permits = new FairSemaphore({ permits: 1, maxWaitingPerOrg: 2 });
    const { ask } = desk(permits);
    for (let n = 0; n < 3; n++) ask('crowd');
    await settled();
    await expect(permits.acquire('crowd')).rejects.toMatchObject({ code: 'unavailable' });
    const other = await permits.acquire('other');
    expect(other.held).toBe(true);
  });

  it('know nothing any more of one that gave up, at once and with its own reason', async () => {
    const permits = new FairSemaphore({ permits: 1, reserve: 0 });
    const first = await permits.acquire('a');
    const gone = new AbortController();
    const waiting = permits.acquire('b', gone.signal);
    const behind = permits.acquire('b');
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(getEventListeners(gone.signal, 'abort')).toEqual([]);
    first.release();
    first.release();
    expect((await behind).held).toBe(true);
    await expect(permits.acquire('c', gone.signal)).rejects.toThrow('gone');
  });

  it('refuse all that wait when they close', async () => {
    const permits = new FairSemaphore({ permits: 1, reserve: 0 });
    await permits.acquire('a');
    const waiting = [permits.acquire('a'), permits.acquire('b')];
    permits.close(new Error('closed'));
    for (const one of waiting) await expect(one).rejects.toThrow('closed');
    await expect(permits.acquire('c')).rejects.toThrow('closed');
  });
});

describe('work at rest', () => {
  const wake = () => {
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => (end = resolve));
    return { over, end };
  };

  it('leaves its permit to others, and takes one in turn when the wait is over', async () => {
    const permits = new FairSemaphore({ permits: 1, reserve: 0 });
    const permit = await permits.acquire('a');
    const { over, end } = wake();
    const resting = runForOrg('a', () => withoutPermit(() => over), permit);
    expect(permit.held).toBe(false);
    const other = await permits.acquire('b');
    end();
    await settled();
    expect(permit.held).toBe(false);
    other.release();
    await resting;
    expect(permit.held).toBe(true);
    permit.release();
    expect(permits.available.free).toBe(1);
  });

  it('that is cancelled, or ended meanwhile, leaves no permit taken', async () => {
    const permits = new FairSemaphore({ permits: 1, reserve: 0 });
    const gone = new AbortController();
    const cancelled = await permits.acquire('a');
    const first = wake();
    const resting = cancelled.rest(() => first.over, gone.signal);
    const other = await permits.acquire('b');
    first.end();
    await settled();
    gone.abort(new Error('gone'));
    await expect(resting).rejects.toThrow('gone');
    other.release();
    expect(permits.available.free).toBe(1);
    const ended = await permits.acquire('a');
    const second = wake();
    const late = ended.rest(() => second.over);
    ended.release();
    second.end();
    await late;
    expect(permits.available.free).toBe(1);
  });

  it('keeps its permit where as many of its organisation rest as may', async () => {
    const permits = new FairSemaphore({ permits: 2, maxRestingPerOrg: 1 });
    const [one, two] = [await permits.acquire('a'), await permits.acquire('a')];
    const { over, end } = wake();
    const both = [one.rest(() => over), two.rest(() => over)];
    expect([one.held, two.held]).toEqual([false, true]);
    end();
    await Promise.all(both);
  });
});
