import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderLog } from '../order.types.js';
import { UpstreamError } from '../providers.types.js';
import { abortedError } from '../openai-compatible/upstream-errors.js';

/** The state of an order at the upstream. */
export type OperationState<T> = { done: true; value: T } | { done: false; percent?: number | undefined };

export interface OperationLimits {
  /** The interval between polls. */
  pollMs: number;
  /** The time limit, from placing or taking over the order to its end. */
  generationMs: number;
}

export interface OrderedWork<T> {
  /** Places the order. Without an abort signal: an order whose reference was not read could neither be polled nor cancelled. */
  place(): Promise<string>;
  /** @throws UpstreamError */
  check(reference: string, signal: AbortSignal): Promise<OperationState<T>>;
  /** Cancels the order. */
  withdraw(reference: string, signal: AbortSignal): Promise<unknown>;
  limits: OperationLimits;
  signal: AbortSignal;
  onProgress?: ((percent: number) => void) | undefined;
  log?: OrderLog | undefined;
}

/** Failed polls in a row that end the work. Before that the work goes on, because ordering it again would cost again. */
const MAX_FAULTS = 5;
const WITHDRAW_MS = 5000;
/** Statuses of an unknown or deleted order. */
const UNKNOWN = new Set([404, 410]);

/**
 * Places an order, or takes over an earlier one, and polls until it is done. Cancels the order if the caller disconnects or the time is over, but
 * not if another worker continues the job.
 * @throws UpstreamError never a retryable one once an order was placed, so that it is not ordered again at the same upstream
 */
export async function followOrder<T>(work: OrderedWork<T>): Promise<T> {
  if (work.signal.aborted) throw abortedError();
  const earlier = work.log?.earlier() ?? null;
  if (earlier !== null) {
    try {
      return await follow(earlier, work);
    } catch (error) {
      if (!(error instanceof UpstreamError) || !UNKNOWN.has(error.options.status ?? 0)) throw error;
    }
  }
  if ((await work.log?.held()) === false || work.signal.aborted) throw abortedError();
  const reference = await work.place();
  if ((await work.log?.placed(reference)) === false) {
    await takeBack(reference, work);
    throw abortedError();
  }
  return await follow(reference, work);
}

async function follow<T>(reference: string, work: OrderedWork<T>): Promise<T> {
  const outcome = await ask(reference, work);
  if ('value' in outcome) return outcome.value;
  const { abandoned } = outcome;
  if (abandoned.fault !== 'aborted' || work.log?.isHandedOver() !== true) await takeBack(reference, work);
  throw abandoned;
}

async function takeBack<T>(reference: string, { withdraw, log }: OrderedWork<T>): Promise<void> {
  try {
    await withdraw(reference, AbortSignal.timeout(WITHDRAW_MS));
    await log?.withdrawn(reference);
  } catch {
    // The order of a cancelled job stays stored: a worker's sweep tries to cancel it once more.
  }
}

type Outcome<T> = { value: T } | { abandoned: UpstreamError };

/** @throws UpstreamError the error with which the upstream ended the order */
async function ask<T>(
  reference: string,
  { check, limits, signal, onProgress }: OrderedWork<T>,
): Promise<Outcome<T>> {
  const end = performance.now() + limits.generationMs;
  let faults = 0;
  while (performance.now() < end) {
    let wait = limits.pollMs;
    if (signal.aborted) return { abandoned: abortedError() };
    try {
      const state = await check(reference, signal);
      if (state.done) return { value: state.value };
      if (state.percent !== undefined) onProgress?.(Math.min(Math.max(state.percent, 0), 99));
      faults = 0;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (error.fault === 'aborted') return { abandoned: error };
      if (error.fault !== 'failed' || !error.options.retryable) throw error;
      if (++faults >= MAX_FAULTS) return { abandoned: finalFault(error.message) };
      wait = untilAgain(error, limits.pollMs);
    }
    await sleep(wait, undefined, { signal }).catch(() => undefined);
  }
  return { abandoned: finalFault('Upstream took too long') };
}

/** An error that is not retryable: the upstream had the order, so it is not placed there again. */
export function finalFault(message: string): UpstreamError {
  return new UpstreamError(message, { status: null, retryable: false });
}

/**
 * Sends a request to poll an order or to download its file, and repeats it after temporary errors.
 * @throws UpstreamError never a retryable one, so that nothing is ordered again at the same upstream
 */
export async function withRetries<T>(
  request: () => Promise<T>,
  { pollMs, signal }: { pollMs: number; signal: AbortSignal | undefined },
): Promise<T> {
  for (let faults = 1; ; faults++) {
    let wait: number;
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof UpstreamError) || !error.options.retryable) throw error;
      if (faults >= MAX_FAULTS) throw finalFault(error.message);
      wait = untilAgain(error, pollMs);
    }
    await pause(wait, signal);
  }
}

/** The wait after an error: the upstream's `Retry-After`, but at least the poll interval. */
const untilAgain = ({ options: { retryAfterMs } }: UpstreamError, pollMs: number): number =>
  Math.max(pollMs, retryAfterMs ?? 0);

/** @throws UpstreamError if the caller disconnected */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw abortedError();
  });
}
