import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../contract/errors.js';

/** The longest time that a caller waits for PostgreSQL (decisions 9). */
const UNAVAILABLE_AFTER_MS = 5000;
/** The same while the process is stopping: the caller must get its answer before the process ends. */
const HURRIED_MS = 1000;
/** How often waiting callers are checked while a statement has not returned. */
const WATCH_MS = 500;
const MAX_BATCH = 256;
/** A statement waits up to this long until it has as many callers as the one before, because each statement wakes two processes up. */
const GATHER_MS = 1;
/** With fewer expected callers a statement does not wait, so a single caller is never delayed. */
const FEW = 2;
/** Deadlock, serialisation failure, lock, statement and transaction time-outs: the statement changed nothing and may be repeated. */
const RETRYABLE_SQL_STATES = new Set(['40P01', '40001', '55P03', '57014', '25P04']);

interface Waiting<Item, Answer> {
  item: Item;
  since: number;
  refused: boolean;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export interface Coalescer<Item, Answer> {
  add(item: Item): Promise<Answer>;
  /** Shortens the callers' time-out, because the process is stopping. */
  hurry(): void;
  /** Waits for all items that were added before. */
  close(): Promise<void>;
}

export interface CoalescerOptions<Item, Answer> {
  /** Runs one statement for all items; returns answers in their order. Must be safe to repeat with the same items. */
  run(items: Item[]): Promise<Answer[]>;
  /** Repeats until it succeeds, even after the callers were refused: for items that must not be lost. */
  persistent?: boolean;
  /** Called when an item's caller has been refused; it may change the item for the next attempt. */
  refused?(item: Item): void;
  /** Called when an item's caller was refused although its statement may have succeeded. */
  abandoned?(item: Item): void;
}

function mayRepeat(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'unavailable';
  return error instanceof Error && RETRYABLE_SQL_STATES.has((error as { code?: string }).code ?? '');
}

function refuse<Item, Answer>(entry: Waiting<Item, Answer>, error: unknown): void {
  entry.refused = true;
  entry.reject(error);
}

function refuseLate<Item, Answer>(
  entries: Waiting<Item, Answer>[],
  { refused }: CoalescerOptions<Item, Answer>,
  waitMs: number,
): void {
  const now = performance.now();
  for (const entry of entries) {
    if (entry.refused || now - entry.since < waitMs) continue;
    refuse(entry, new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 }));
    refused?.(entry.item);
  }
}

/** Runs one batch to its end: repeats it while PostgreSQL is away, and isolates a faulty item. */
async function settleBatch<Item, Answer>(
  batch: Waiting<Item, Answer>[],
  options: CoalescerOptions<Item, Answer>,
  isClosed: () => boolean,
): Promise<void> {
  let left = batch;
  let isolated: Waiting<Item, Answer>[] = [];
  for (let pauseMs = 10; left.length > 0; pauseMs = Math.min(pauseMs * 2, 1000)) {
    try {
      const answers = await options.run(left.map((entry) => entry.item));
      for (const [i, entry] of left.entries()) entry.resolve(answers[i] as Answer);
      break;
    } catch (error) {
      if (!mayRepeat(error)) {
        if (left.length > 1) isolated = left;
        else left.forEach((entry) => refuse(entry, error));
        break;
      }
      refuseLate(left, options, isClosed() ? 0 : UNAVAILABLE_AFTER_MS);
      if (options.persistent !== true || isClosed()) left = left.filter((entry) => !entry.refused);
      if (left.length > 0) await sleep(pauseMs);
    }
  }
  for (const entry of isolated) await settleBatch([entry], options, isClosed);
  for (const entry of batch) if (entry.refused && !isolated.includes(entry)) options.abandoned?.(entry.item);
}

/** One timer for all statements while busy: making and clearing a timer for each statement costs more. */
function createWatch(look: () => void) {
  let timer: NodeJS.Timeout | null = null;
  return {
    start: () => void (timer ??= setInterval(look, WATCH_MS)),
    stop(): void {
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
  };
}

/**
 * Lets concurrent callers share one statement: those of one turn of the event loop, those that arrive while a statement is in flight, and under
 * load those of one millisecond. One statement runs at a time. After a lost connection the statement is repeated; a faulty item fails alone.
 */
export function createCoalescer<Item, Answer>(
  options: CoalescerOptions<Item, Answer>,
): Coalescer<Item, Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let active = false;
  /** Callers of the last statement. */
  let expected = 0;
  let closed = false;
  let waitMs = UNAVAILABLE_AFTER_MS;
  const idle: (() => void)[] = [];

  let running: Waiting<Item, Answer>[] = [];
  const isClosed = (): boolean => closed;
  const watch = createWatch(() => {
    refuseLate(running, options, waitMs);
    refuseLate(waiting, options, waitMs);
    if (!active) watch.stop();
  });

  const flush = async (): Promise<void> => {
    const batch = waiting;
    waiting = batch.length > MAX_BATCH ? batch.splice(MAX_BATCH) : [];
    running = batch;
    expected = batch.length;
    watch.start();
    await settleBatch(batch, options, isClosed);
    running = [];
    if (options.persistent !== true) waiting = waiting.filter((entry) => !entry.refused);
    if (waiting.length > 0) {
      setImmediate(gather);
      return;
    }
    active = false;
    for (const done of idle.splice(0)) done();
  };
  const start = (): void => void flush();
  const gather = (): void => {
    if (expected <= FEW || waiting.length >= expected) start();
    else setTimeout(start, GATHER_MS);
  };

  return {
    add(item) {
      if (closed)
        return Promise.reject(new ApiError('unavailable', 'Service is stopping', { retryAfter: 1 }));
      return new Promise<Answer>((resolve, reject) => {
        waiting.push({ item, since: performance.now(), refused: false, resolve, reject });
        if (active) return;
        active = true;
        setImmediate(gather);
      });
    },
    hurry: () => void (waitMs = HURRIED_MS),
    async close() {
      closed = true;
      if (active) await new Promise<void>((resolve) => idle.push(resolve));
      watch.stop();
    },
  };
}
