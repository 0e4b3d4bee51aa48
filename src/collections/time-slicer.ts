/** A task may hold the event loop for about this long at a time. */
const SLICE_MS = 1;
/** Lists of up to this many items are mapped at once. */
const SHORT_LIST = 16;

interface Task {
  /** Works until about `until` (a time of performance.now()). @returns true when the task is done */
  step(until: number): boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Runs long tasks of the main thread in slices. Each turn of the event loop runs one slice, and the tasks take turns, however many there are.
 * A process that reads ten large bodies therefore answers its other callers as if it read none; only the bodies take a few milliseconds longer.
 */
export class TimeSlicer {
  readonly #waiting: Task[] = [];

  /** Resolves when `step` has returned true. @param step an error that it throws rejects the promise */
  run(step: Task['step']): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ step, resolve, reject }) === 1) setImmediate(this.#runSlice);
    });
  }

  /** Maps a list that may be long. */
  async map<Item, Result>(
    list: readonly Item[],
    make: (item: Item, at: number) => Result,
  ): Promise<Result[]> {
    const made: Result[] = [];
    // Nearly all lists are short, and those do not wait for a slice.
    if (list.length <= SHORT_LIST) return list.map(make);
    await this.run((until) => {
      do made.push(make(list[made.length] as Item, made.length));
      while (made.length < list.length && performance.now() < until);
      return made.length === list.length;
    });
    return made;
  }

  readonly #runSlice = (): void => {
    const task = this.#waiting.shift();
    if (task === undefined) return;
    const until = performance.now() + SLICE_MS;
    try {
      if (!task.step(until)) this.#waiting.push(task);
      // The caller's code runs when the promise resolves: after a last slice that took its whole time, that happens in the next turn.
      else if (performance.now() > until) setImmediate(task.resolve);
      else task.resolve();
    } catch (error) {
      task.reject(error);
    }
    if (this.#waiting.length > 0) setImmediate(this.#runSlice);
  };
}

/** The time slicer of this process. All long tasks share it, so that only one slice runs in each turn of the event loop. */
export const timeSlicer = new TimeSlicer();

/** Resolves in the caller's next slice. The caller may then work for about a millisecond. */
export const nextSlice = (): Promise<void> => timeSlicer.run(() => true);
