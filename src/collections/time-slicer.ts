import { workOwner } from './work-owner.js';

/** A task may hold the event loop for about this long at a time. */
const SLICE_MS = 1;
/** Lists of up to this many items are mapped at once. */
const SHORT_LIST = 16;

/** While other organisations call, an organisation's sliced work pauses this many times as long as it took: it has a third of the event loop. */
const PAUSES = 2;
/** No pause is longer. */
const MAX_PAUSE_MS = 100;
/** Another organisation's call tells for this long that others are there. */
const COMPANY_MS = 1000;

interface Task {
  /** Works until about `until` (a time of performance.now()). @returns true when the task is done */
  step(until: number): boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** The tasks of one organisation. */
interface Line {
  orgId: string;
  tasks: Task[];
  /** When its next slice may begin, a time of performance.now(). */
  readyAt: number;
}

const isDone = () => true;

/**
 * Runs long tasks of the main thread in slices. Each turn of the event loop runs one slice. The organisations take turns, and each one's tasks, however
 * many there are. While several organisations call, each one's slices pause in between, so that long work of one leaves most of the loop, and
 * of the processor, to the calls of the others. A process that reads ten large bodies therefore answers its other callers as if it read none; only the
 * bodies take longer. What a task's caller does at once when a slice has resolved its promise counts as a part of that slice.
 */
export class TimeSlicer {
  readonly #lines = new Map<string, Line>();
  /** A slice is being run, or about to be. */
  #isRunning = false;
  #pause: NodeJS.Timeout | undefined;
  #lastCaller = '';
  #companyUntil = 0;

  /** Begins work of an organisation's call: the slices of all that the caller does from here on are that organisation's. */
  begin(orgId: string): void {
    workOwner.enterWith({ orgId, permit: null });
    if (orgId === this.#lastCaller) return;
    if (this.#lastCaller !== '') this.#companyUntil = performance.now() + COMPANY_MS;
    this.#lastCaller = orgId;
  }

  /** Resolves when `step` has returned true. @param step an error that it throws rejects the promise */
  run(step: Task['step']): Promise<void> {
    return new Promise((resolve, reject) => {
      const orgId = workOwner.getStore()?.orgId ?? '';
      let line = this.#lines.get(orgId);
      if (line === undefined) this.#lines.set(orgId, (line = { orgId, tasks: [], readyAt: 0 }));
      if (line.tasks.push({ step, resolve, reject }) === 1 && !this.#isRunning) this.#schedule();
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
    const from = performance.now();
    const line = this.#readyLine(from);
    const task = line?.tasks.shift();
    if (line === undefined || task === undefined) return this.#schedule();
    const until = from + SLICE_MS;
    try {
      if (!task.step(until)) line.tasks.push(task);
      // The caller's code runs when the promise resolves: after a last slice that took its whole time, that happens in a slice of its own.
      else if (performance.now() > until) line.tasks.unshift({ ...task, step: isDone });
      else task.resolve();
    } catch (error) {
      task.reject(error);
    }
    // Behind all that the caller does at once.
    queueMicrotask(() => process.nextTick(this.#endSlice, line, from));
  };

  readonly #endSlice = (line: Line, from: number): void => {
    const now = performance.now();
    const isShared = line.orgId !== '' && now < this.#companyUntil;
    line.readyAt = isShared ? now + Math.min(MAX_PAUSE_MS, PAUSES * (now - from)) : 0;
    this.#schedule();
  };

  /** The line whose turn it is. Those that have nothing to do, and need not pause, are forgotten. */
  #readyLine(now: number): Line | undefined {
    for (const line of this.#lines.values()) {
      if (line.readyAt > now) continue;
      this.#lines.delete(line.orgId);
      if (line.tasks.length === 0) continue;
      this.#lines.set(line.orgId, line);
      return line;
    }
    return undefined;
  }

  /** Runs the next slice in the next turn, or when the first line's pause is over. */
  #schedule(): void {
    clearTimeout(this.#pause);
    let readyAt = Infinity;
    for (const line of this.#lines.values())
      if (line.tasks.length > 0) readyAt = Math.min(readyAt, line.readyAt);
    const waitMs = readyAt - performance.now();
    this.#isRunning = waitMs <= 0;
    if (this.#isRunning) setImmediate(this.#runSlice);
    else if (readyAt < Infinity) this.#pause = setTimeout(this.#begin, Math.ceil(waitMs));
  }

  readonly #begin = (): void => {
    this.#isRunning = true;
    this.#runSlice();
  };
}

/** The time slicer of this process. All long tasks share it, so that only one slice runs in each turn of the event loop. */
export const timeSlicer = new TimeSlicer();

/** Resolves in the caller's next slice. The caller may then work for about a millisecond. */
export const nextSlice = (): Promise<void> => timeSlicer.run(() => true);
