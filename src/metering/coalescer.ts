import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, toApiError } from '../errors.js';

/** Longest that a caller waits for PostgreSQL (decisions.md 9). */
const PATIENCE_MS = 5000;
const MAX_BATCH = 256;
/** A deadlock's victim did nothing and may try again. */
const RETRYABLE_SQL_STATES = new Set(['40P01', '40001']);

interface Waiting<Item, Answer> {
  item: Item;
  since: number;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export interface Coalescer<Item, Answer> {
  add(item: Item): Promise<Answer>;
  /** Waits for what was added before. */
  close(): Promise<void>;
}

export interface CoalescerOptions<Item, Answer> {
  /** One statement for all items; answers in their order. Must bear being repeated with the same items. */
  run(items: Item[]): Promise<Answer[]>;
  /** Go on trying after the callers were refused, until it works: for what must not be lost. */
  persistent?: boolean;
}

function mayRepeat(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 'unavailable';
  return error instanceof Error && RETRYABLE_SQL_STATES.has((error as { code?: string }).code ?? '');
}

/**
 * Lets concurrent callers share one statement: those of one turn of the event loop, and those that come while a statement is in flight.
 * One statement at a time; a lost connection costs a repetition, a faulty item only itself.
 */
export function createCoalescer<Item, Answer>(
  options: CoalescerOptions<Item, Answer>,
): Coalescer<Item, Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let active = false;
  let closed = false;
  let idle: (() => void)[] = [];

  const refuseLate = (batch: Waiting<Item, Answer>[], error: unknown): Waiting<Item, Answer>[] =>
    batch.filter((entry) => {
      const late = closed || Date.now() - entry.since >= PATIENCE_MS;
      if (late) entry.reject(toApiError(error));
      return !late || (options.persistent === true && !closed);
    });

  const attempt = async (batch: Waiting<Item, Answer>[]): Promise<void> => {
    let left = batch;
    for (let pauseMs = 10; left.length > 0; pauseMs = Math.min(pauseMs * 2, 1000)) {
      try {
        const answers = await options.run(left.map((entry) => entry.item));
        for (let i = 0; i < left.length; i++) left[i]?.resolve(answers[i] as Answer);
        return;
      } catch (error) {
        if (!mayRepeat(error)) {
          if (left.length > 1) for (const entry of left) await attempt([entry]);
          else left[0]?.reject(error);
          return;
        }
        left = refuseLate(left, error);
        if (left.length > 0) await sleep(pauseMs);
      }
    }
  };

  const flush = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    if (batch.length > MAX_BATCH) waiting = batch.splice(MAX_BATCH);
    await attempt(batch);
    if (waiting.length > 0) {
      setImmediate(start);
      return;
    }
    active = false;
    for (const done of idle.splice(0)) done();
  };
  const start = (): void => void flush();

  return {
    add(item) {
      if (closed)
        return Promise.reject(new ApiError('unavailable', 'Service is stopping', { retryAfter: 1 }));
      return new Promise<Answer>((resolve, reject) => {
        waiting.push({ item, since: Date.now(), resolve, reject });
        if (active) return;
        active = true;
        setImmediate(start);
      });
    },
    async close() {
      if (active) await new Promise<void>((resolve) => idle.push(resolve));
      closed = true;
    },
  };
}
