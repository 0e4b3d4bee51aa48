import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../contract/errors.js';

/** Longest that a caller waits for PostgreSQL (decisions 9). */
const UNAVAILABLE_AFTER_MS = 5000;
/** The same for one whose process is about to end: he shall have his answer from it. */
const HURRIED_MS = 1000;
/** How soon a statement that does not come back makes us look at who has waited too long. */
const WATCH_MS = 500;
const MAX_BATCH = 256;
/** How long a statement waits for as many callers as shared the one before it: each statement costs two processes a wake-up. */
const GATHER_MS = 1;
/** So few are not waited for: a caller alone is never kept. */
const FEW = 2;
/** A deadlock's victim did nothing and may try again; nor did what waited for a lock for longer than a statement or transaction may take. */
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
  /** The process is about to end: from now on callers are refused sooner. */
  hurry(): void;
  /** Waits for what was added before. */
  close(): Promise<void>;
}

export interface CoalescerOptions<Item, Answer> {
  /** One statement for all items; answers in their order. Must bear being repeated with the same items. */
  run(items: Item[]): Promise<Answer[]>;
  /** Goes on trying after the callers were refused, until it works: for what must not be lost. */
  persistent?: boolean;
  /** The caller of this item has just been refused: from the next attempt on it may be done otherwise. */
  refused?(item: Item): void;
  /** The caller of this item was refused, and its statement may have worked nevertheless. */
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

/** One timer for all statements of a busy time: making and clearing one for each costs more than looking. */
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
 * Lets concurrent callers share one statement: those of one turn of the event loop, those that come while a statement is in flight, and
 * under load those of a millisecond. One statement at a time; a lost connection costs a repetition, a faulty item only itself.
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
