import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamError } from '../providers.types.js';
import { abortedError } from '../upstream/upstream-errors.js';

/** What an upstream says of work that it was given. */
export type OperationState<T> = { done: true; value: T } | { done: false; percent?: number | undefined };

export interface OperationLimits {
  /** Between two questions about it. */
  pollMs: number;
  /** From the order to the end. */
  generationMs: number;
}

export interface FollowOptions<T> {
  /** @throws UpstreamError */
  check(signal: AbortSignal): Promise<OperationState<T>>;
  /** Tells the upstream that nobody wants it any more. */
  cancel(signal: AbortSignal): Promise<unknown>;
  limits: OperationLimits;
  signal: AbortSignal;
  onProgress?: ((percent: number) => void) | undefined;
}

/** Questions in a row that may fail: the work goes on meanwhile, and ordering it again would cost again. */
const MAX_FAULTS = 5;
const CANCEL_MS = 5000;

/**
 * Asks until the work is done. Work that nobody waits for any more, or that takes too long, is cancelled upstream.
 * @throws UpstreamError never one that asks for another try at the same upstream
 */
export async function followOperation<T>(options: FollowOptions<T>): Promise<T> {
  const outcome = await ask(options);
  if ('value' in outcome) return outcome.value;
  await options.cancel(AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
  throw outcome.abandoned;
}

type Outcome<T> = { value: T } | { abandoned: UpstreamError };

/** @throws UpstreamError what the upstream itself ended with */
async function ask<T>({ check, limits, signal, onProgress }: FollowOptions<T>): Promise<Outcome<T>> {
  const end = performance.now() + limits.generationMs;
  let faults = 0;
  while (performance.now() < end) {
    if (signal.aborted) return { abandoned: abortedError() };
    try {
      const state = await check(signal);
      if (state.done) return { value: state.value };
      if (state.percent !== undefined) onProgress?.(Math.min(Math.max(state.percent, 0), 99));
      faults = 0;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (error.fault === 'aborted') return { abandoned: error };
      if (error.fault !== 'failed' || !error.options.retryable) throw error;
      if (++faults >= MAX_FAULTS) return { abandoned: finalFault(error.message) };
    }
    await sleep(limits.pollMs, undefined, { signal }).catch(() => undefined);
  }
  return { abandoned: finalFault('Upstream took too long') };
}

/** The upstream had the order: it is not placed a second time there. */
export function finalFault(message: string): UpstreamError {
  return new UpstreamError(message, { status: null, retryable: false });
}
