import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { UnreadableAudioError } from '../../audio/index.js';
import { ApiError } from '../../contract/errors.js';
import { UnreadableImageError } from '../../imaging/index.js';
import type { OperationTally } from '../../metering/index.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { versionAt } from '../../pricing/index.js';
import { abortedError, UpstreamError } from '../../providers/index.js';
import type { Provider, ProviderRegistry } from '../../providers/index.js';

/** One attempt at one provider; `target` is the requested model, or a fallback. @throws UpstreamError */
export type Attempt<T> = (provider: Provider, target: Model) => Promise<T>;

/** The answer, and the model that gave it. */
export interface Answered<T> {
  value: T;
  model: Model;
}

export interface Upstreams {
  /**
   * Tries the model's provider, with repetitions, then its fallbacks (decisions 6, "Upstreams"). Fallbacks that refuse the request are skipped.
   * @throws UpstreamError the last failure
   */
  ask<T>(model: Model, asking: UpstreamCallOptions, attempt: Attempt<T>): Promise<Answered<T>>;
  /** Tries these models, each with its provider's repetitions. Models that do not support the request are skipped. @throws UpstreamError the last failure */
  tryModels<T>(
    models: readonly Model[],
    asking: UpstreamCallOptions,
    attempt: Attempt<T>,
  ): Promise<Answered<T>>;
}

export interface UpstreamCallOptions {
  signal: LightAbortSignal;
  /** Collects the cost of failed attempts. */
  tally: OperationTally;
}

interface UpstreamsOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  logger: Logger;
}

/** Waits before another attempt. @throws UpstreamError aborted */
export async function backOff(ms: number, signal: LightAbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: abortSignalOf(signal) });
  } catch {
    throw abortedError();
  }
}

/** Whether another attempt or upstream may succeed: not for the caller's own fault, and not when nobody waits any more. */
function isRetryable(error: unknown): error is UpstreamError {
  return error instanceof UpstreamError && error.fault === 'failed';
}

/** A fallback refused the request. The caller asked for another model, and gets that model's error. */
function isRefusedElsewhere(error: unknown, { isFallback }: { isFallback: boolean }): boolean {
  return isFallback && error instanceof UpstreamError && error.fault === 'rejected';
}

const isPriced = ({ cost }: Model): boolean => versionAt(cost, Date.now()) !== null;

/** Whether the caller may use a fallback, and a budget can count it. */
const mayStandIn = async (target: Model, tally: OperationTally): Promise<boolean> =>
  (await tally.mayUseFallback(target)) && (isPriced(target) || !(await tally.pricedOnly()));

/** A failed attempt. `tries` counts the attempts before it at the same provider. */
interface Tried {
  target: Model;
  provider: Provider;
  tries: number;
  signal: LightAbortSignal;
}

const unknownProvider = (): UpstreamError =>
  new UpstreamError('No provider for this model', { status: null, retryable: false });

export function createUpstreams({ models, providers, logger }: UpstreamsOptions): Upstreams {
  /** Waits before another attempt. @throws the error if there is no other attempt */
  async function again(error: unknown, { target, provider, tries, signal }: Tried): Promise<void> {
    if (!isRetryable(error)) throw error;
    const isWorthIt = error.options.retryable && tries < provider.retry.retries;
    logger.warn(
      {
        model: target.id,
        provider: provider.id,
        attempt: tries + 1,
        again: isWorthIt,
        reason: error.message,
      },
      'an upstream failed',
    );
    if (!isWorthIt) throw error;
    const delay = provider.retry.backoffMs * 2 ** tries * (0.5 + Math.random());
    await backOff(error.options.retryAfterMs ?? delay, signal);
  }

  async function tryModels<T>(
    targets: readonly Model[],
    { signal, tally, requested }: UpstreamCallOptions & { requested?: Model },
    attempt: Attempt<T>,
  ): Promise<Answered<T>> {
    let last: UpstreamError | null = null;
    for (const target of targets) {
      if (target !== requested && !(await mayStandIn(target, tally))) continue;
      try {
        for (let tries = 0; ; tries++) {
          // Looked up each time, because a reload may have replaced the provider.
          const provider = providers.find(target.upstream?.providerId ?? '');
          if (!provider) throw unknownProvider();
          try {
            return { value: await attempt(provider, target), model: target };
          } catch (error) {
            tally.failed(target, error);
            await again(error, { target, provider, tries, signal });
          }
        }
      } catch (error) {
        if (isRefusedElsewhere(error, { isFallback: target !== requested })) {
          logger.warn({ model: target.id, reason: (error as Error).message }, 'a fallback model was skipped');
          continue;
        }
        if (!isRetryable(error)) throw error;
        last = error;
      }
    }
    throw last ?? unknownProvider();
  }

  return {
    ask: (model, asking, attempt) =>
      tryModels([model, ...models.fallbacks(model.id)], { ...asking, requested: model }, attempt),
    tryModels,
  };
}

/**
 * Tries the model's provider, with repetitions, then its fallbacks.
 * @throws ApiError invalid_request if the upstream rejected the request, UpstreamError for any other error
 */
export async function callUpstream<T>(
  upstreams: Upstreams,
  model: Model,
  { attempt, ...asking }: UpstreamCallOptions & { attempt: Attempt<T> },
): Promise<Answered<T>> {
  try {
    return await upstreams.ask(model, asking, attempt);
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.fault !== 'rejected') throw error;
    throw new ApiError('invalid_request', error.message, { cause: error });
  }
}

/** Decodes an upstream's result; an error is not the caller's fault. @throws UpstreamError if it cannot be decoded; then the fallbacks are tried */
export async function decodeUpstreamMedia<T>(what: 'image' | 'audio', read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UnreadableImageError || error instanceof UnreadableAudioError)) throw error;
    throw new UpstreamError(`Upstream made no readable ${what}`, {
      status: null,
      retryable: false,
      cause: error,
    });
  }
}
