/** One piece of work takes the event loop for about so long at a time. */
const SLICE_MS = 1;
/** Items that are dealt with at once. */
const SHORT_LIST = 16;

interface Work {
  /** Works until about `until` (of performance.now()). True: done. */
  step(until: number): boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Long work of the main thread, in slices: one slice in each turn of the event loop, whatever waits, and the works take turns. So a process
 * that reads ten large bodies answers everybody else as if it read none, a few milliseconds later.
 */
export class Turns {
  readonly #waiting: Work[] = [];

  /** @param step throws what the work is refused for */
  run(step: Work['step']): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ step, resolve, reject }) === 1) setImmediate(this.#turn);
    });
  }

  /** What is made of each item of a list that may be long. */
  async map<Item, Made>(list: readonly Item[], make: (item: Item, at: number) => Made): Promise<Made[]> {
    const made: Made[] = [];
    // Nearly all are short: nobody waits for a turn.
    if (list.length <= SHORT_LIST) return list.map(make);
    await this.run((until) => {
      do made.push(make(list[made.length] as Item, made.length));
      while (made.length < list.length && performance.now() < until);
      return made.length === list.length;
    });
    return made;
  }

  readonly #turn = (): void => {
    const work = this.#waiting.shift();
    if (work === undefined) return;
    const until = performance.now() + SLICE_MS;
    try {
      if (!work.step(until)) this.#waiting.push(work);
      // What follows is work of its own: behind a last slice that took its time it has another turn.
      else if (performance.now() > until) setImmediate(work.resolve);
      else work.resolve();
    } catch (error) {
      work.reject(error);
    }
    if (this.#waiting.length > 0) setImmediate(this.#turn);
  };
}

/** Those of this process: whatever long work goes on, one slice of it is done between two looks at what else waits. */
export const turns = new Turns();

/** Resolves in the caller's next turn, which is about a millisecond long. */
export const nextTurn = (): Promise<void> => turns.run(() => true);
