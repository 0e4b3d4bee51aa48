import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderLog } from '../order.types.js';
import { UpstreamError } from '../providers.types.js';
import { abortedError } from '../openai-compatible/upstream-errors.js';

/** What an upstream says of work that it was given. */
export type OperationState<T> = { done: true; value: T } | { done: false; percent?: number | undefined };

export interface OperationLimits {
  /** Between two questions about it. */
  pollMs: number;
  /** From the order, or from taking it over, to the end. */
  generationMs: number;
}

export interface OrderedWork<T> {
  /** Gives the upstream the order. Not cut off: an order whose name nobody read could neither be followed nor taken back. */
  place(): Promise<string>;
  /** @throws UpstreamError */
  check(reference: string, signal: AbortSignal): Promise<OperationState<T>>;
  /** Tells the upstream that nobody wants it any more. */
  withdraw(reference: string, signal: AbortSignal): Promise<unknown>;
  limits: OperationLimits;
  signal: AbortSignal;
  onProgress?: ((percent: number) => void) | undefined;
  log?: OrderLog | undefined;
}

/** Requests in a row that may fail: the work goes on meanwhile, and ordering it again would cost again. */
const MAX_FAULTS = 5;
const WITHDRAW_MS = 5000;
/** An upstream that does not know an order (any more). */
const UNKNOWN = new Set([404, 410]);

/**
 * Orders work, or takes over the order that was placed before, and asks until it is done. Work that nobody waits for any more, or that
 * takes too long, is taken back; what another worker will go on with is left alone.
 * @throws UpstreamError never one that asks for another order at the same upstream, once there was one
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
  if (abandoned.fault !== 'aborted' || work.log?.goesOn() !== true) await takeBack(reference, work);
  throw abandoned;
}

async function takeBack<T>(reference: string, { withdraw, log }: OrderedWork<T>): Promise<void> {
  try {
    await withdraw(reference, AbortSignal.timeout(WITHDRAW_MS));
    await log?.withdrawn(reference);
  } catch {
    // Of a cancelled job it stays noted: a worker's sweep tries once more.
  }
}

type Outcome<T> = { value: T } | { abandoned: UpstreamError };

/** @throws UpstreamError what the upstream itself ended with */
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

/** The upstream had the order: it is not placed a second time there. */
export function finalFault(message: string): UpstreamError {
  return new UpstreamError(message, { status: null, retryable: false });
}

/**
 * A request about work that is ordered, or for the file that came of it: sent again where it failed for the moment.
 * @throws UpstreamError never one that asks for another order at the same upstream
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

/** How long an upstream wants to be left alone after a fault, but as long as between any two questions. */
const untilAgain = ({ options: { retryAfterMs } }: UpstreamError, pollMs: number): number =>
  Math.max(pollMs, retryAfterMs ?? 0);

/** @throws UpstreamError where nobody waits any more */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw abortedError();
  });
}
