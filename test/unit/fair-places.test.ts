import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { actFor, atRest, FairPlaces } from '../../src/processes/index.js';
import type { Place } from '../../src/processes/index.js';

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
  place: Place | null;
}

/** Asks for places and notes, in order, who got one. */
function desk(places: FairPlaces) {
  const asking: Asking[] = [];
  const entered: Asking[] = [];
  let nth = 0;
  return {
    asking,
    entered,
    ask(org: string): Asking {
      const entry: Asking = { org, nth: nth++, gone: new AbortController(), place: null };
      asking.push(entry);
      void places.acquire(org, entry.gone.signal).then(
        (place) => {
          entry.place = place;
          asking.splice(asking.indexOf(entry), 1);
          entered.push(entry);
        },
        () => asking.splice(asking.indexOf(entry), 1),
      );
      return entry;
    },
    held: (org?: string) =>
      entered.filter((entry) => entry.place?.held && (org === undefined || entry.org === org)),
  };
}

describe('fair places', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'one organisation whose work never ends keeps nobody waiting, whatever it does (sequence %i)',
    async (seed) => {
      const below = numbersFrom(seed);
      const [size, reserve] = [1 + below(4), 1 + below(3)];
      const places = new FairPlaces({ places: size, reserve, restingOfOne: 3 });
      const { entered, ask, held } = desk(places);
      const resting: (() => void)[] = [];
      for (let step = 0; step < 400; step++) {
        const action = below(6);
        const [mine] = held('hostile').slice(-1);
        if (action < 2) ask('hostile');
        else if (action === 2 && mine !== undefined)
          void mine.place?.rest(() => new Promise<void>((wake) => resting.push(wake)));
        else if (action === 3) resting.splice(below(resting.length || 1), 1)[0]?.();
        else if (action === 4)
          held()
            .find(({ org }) => org !== 'hostile')
            ?.place?.release();
        else if (held().filter(({ org }) => org !== 'hostile').length < reserve) {
          const other = ask(`other ${step}`);
          await settled();
          expect(other.place?.held).toBe(true);
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
      const places = new FairPlaces({ places: size, reserve });
      const { asking, entered, ask, held } = desk(places);
      for (let step = 0; step < 600; step++) {
        const action = below(10);
        if (action < 5) ask(`org${below(6)}`);
        else if (action < 8) held()[below(held().length || 1)]?.place?.release();
        else asking[below(asking.length || 1)]?.gone.abort();
        await settled();
        const taken = held().length;
        expect(taken).toBeLessThanOrEqual(size + reserve);
        expect(places.room).toEqual({
          free: Math.max(0, size - taken),
          reserve: size + reserve - Math.max(size, taken),
        });
        // Nobody waits beside a place that is free, nor an organisation that has none beside the reserve.
        if (taken < size) expect(asking).toEqual([]);
        if (taken < size + reserve) expect(asking.filter(({ org }) => held(org).length === 0)).toEqual([]);
      }
      for (const org of new Set(entered.map((entry) => entry.org))) {
        const order = entered.filter((entry) => entry.org === org).map((entry) => entry.nth);
        expect(order).toEqual([...order].sort((a, b) => a - b));
      }
      while (held().length > 0) {
        for (const { place } of held()) place?.release();
        await settled();
      }
      expect(asking).toEqual([]);
      expect(places.room).toEqual({ free: size, reserve });
    },
  );

  it('are all for an organisation that is alone, and one is left for each that comes while they are taken', async () => {
    const places = new FairPlaces({ places: 4, reserve: 2 });
    const { ask, held } = desk(places);
    for (let n = 0; n < 50; n++) ask('crowd');
    await settled();
    expect(held('crowd')).toHaveLength(4);
    for (const org of ['a', 'a', 'b', 'c']) ask(org);
    await settled();
    expect([held('a').length, held('b').length, held('c').length]).toEqual([1, 1, 0]);
  });

  it('go to the organisation that has the fewest, and in turns between equals', async () => {
    const places = new FairPlaces({ places: 1, reserve: 0 });
    const { ask, entered, held } = desk(places);
    for (const org of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) ask(org);
    for (let n = 0; n < 7; n++) {
      await settled();
      held()[0]?.place?.release();
    }
    expect(entered.map(({ org }) => org).join('')).toBe('abcabaa');
  });

  it('come to every organisation although another asks again and again', async () => {
    const places = new FairPlaces({ places: 2 });
    const { ask, held } = desk(places);
    const others = Array.from({ length: 20 }, (_, n) => `org${n}`);
    for (let n = 0; n < 500; n++) ask('crowd');
    await settled();
    const waiting = others.map((org) => ask(org));
    for (let turn = 0; turn < 2 * others.length; turn++) {
      held()[0]?.place?.release();
      ask('crowd');
      await settled();
    }
    expect(waiting.every(({ place }) => place !== null)).toBe(true);
  });

  it('are given to each of a hundred thousand that wait, those apart that left', async () => {
    const places = new FairPlaces({ places: 1, reserve: 0, waitingOfOne: 1_000_000 });
    const first = await places.acquire('first');
    let entered = 0;
    const leavers: AbortController[] = [];
    const signalOf = (n: number): AbortSignal | undefined => {
      if (n % 2 === 1) return undefined;
      const leaver = new AbortController();
      leavers.push(leaver);
      return leaver.signal;
    };
    const all = Array.from({ length: 100_000 }, (_, n) =>
      places.acquire(`org${n % 1000}`, signalOf(n)).then(
        (place) => {
          entered++;
          place.release();
        },
        () => undefined,
      ),
    );
    for (const leaver of leavers) leaver.abort(new Error('gone'));
    first.release();
    await Promise.all(all);
    expect(entered).toBe(50_000);
    expect(places.room.free).toBe(1);
  });

  it('refuse an organisation whose line is full, and nobody else', async () => {
    const places = new FairPlaces({ places: 1, waitingOfOne: 2 });
    const { ask } = desk(places);
    for (let n = 0; n < 3; n++) ask('crowd');
    await settled();
    await expect(places.acquire('crowd')).rejects.toMatchObject({ code: 'unavailable' });
    const other = await places.acquire('other');
    expect(other.held).toBe(true);
  });

  it('know nothing any more of one that gave up, at once and with its own reason', async () => {
    const places = new FairPlaces({ places: 1, reserve: 0 });
    const first = await places.acquire('a');
    const gone = new AbortController();
    const waiting = places.acquire('b', gone.signal);
    const behind = places.acquire('b');
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(getEventListeners(gone.signal, 'abort')).toEqual([]);
    first.release();
    first.release();
    expect((await behind).held).toBe(true);
    await expect(places.acquire('c', gone.signal)).rejects.toThrow('gone');
  });

  it('refuse all that wait when they close', async () => {
    const places = new FairPlaces({ places: 1, reserve: 0 });
    await places.acquire('a');
    const waiting = [places.acquire('a'), places.acquire('b')];
    places.close(new Error('closed'));
    for (const one of waiting) await expect(one).rejects.toThrow('closed');
    await expect(places.acquire('c')).rejects.toThrow('closed');
  });
});

describe('work at rest', () => {
  const wake = () => {
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => (end = resolve));
    return { over, end };
  };

  it('leaves its place to others, and takes one in turn when the wait is over', async () => {
    const places = new FairPlaces({ places: 1, reserve: 0 });
    const place = await places.acquire('a');
    const { over, end } = wake();
    const resting = actFor('a', () => atRest(() => over), place);
    expect(place.held).toBe(false);
    const other = await places.acquire('b');
    end();
    await settled();
    expect(place.held).toBe(false);
    other.release();
    await resting;
    expect(place.held).toBe(true);
    place.release();
    expect(places.room.free).toBe(1);
  });

  it('that is cancelled, or ended meanwhile, leaves no place taken', async () => {
    const places = new FairPlaces({ places: 1, reserve: 0 });
    const gone = new AbortController();
    const cancelled = await places.acquire('a');
    const first = wake();
    const resting = cancelled.rest(() => first.over, gone.signal);
    const other = await places.acquire('b');
    first.end();
    await settled();
    gone.abort(new Error('gone'));
    await expect(resting).rejects.toThrow('gone');
    other.release();
    expect(places.room.free).toBe(1);
    const ended = await places.acquire('a');
    const second = wake();
    const late = ended.rest(() => second.over);
    ended.release();
    second.end();
    await late;
    expect(places.room.free).toBe(1);
  });

  it('keeps its place where as many of its organisation rest as may', async () => {
    const places = new FairPlaces({ places: 2, restingOfOne: 1 });
    const [one, two] = [await places.acquire('a'), await places.acquire('a')];
    const { over, end } = wake();
    const both = [one.rest(() => over), two.rest(() => over)];
    expect([one.held, two.held]).toEqual([false, true]);
    end();
    await Promise.all(both);
  });
});
