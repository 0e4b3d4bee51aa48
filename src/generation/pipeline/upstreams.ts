import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { UnreadableAudioError } from '../../audio/index.js';
import { ApiError } from '../../contract/errors.js';
import { UnreadableImageError } from '../../imaging/index.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { abortedError, UpstreamError } from '../../providers/index.js';
import type { Provider, ProviderRegistry } from '../../providers/index.js';

/** One try at one provider; `target` is the model asked for, or a fallback. @throws UpstreamError */
export type Attempt<T> = (provider: Provider, target: Model) => Promise<T>;

/** What answered, and the model that it was. */
export interface Answered<T> {
  value: T;
  model: Model;
}

export interface Upstreams {
  /**
   * Tries the model's provider, again where that makes sense, then its fallbacks (decisions 6, "Upstreams"). Those that refuse the request are
   * passed over.
   * @throws UpstreamError the last failure
   */
  ask<T>(model: Model, signal: LightAbortSignal, attempt: Attempt<T>): Promise<Answered<T>>;
}

interface UpstreamsOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  logger: Logger;
}

async function backOff(ms: number, signal: LightAbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: abortSignalOf(signal) });
  } catch {
    throw abortedError();
  }
}

/** Whether another attempt or upstream may do better: never for the caller's own fault, nor when nobody waits any more. */
function mayGoOn(error: unknown): error is UpstreamError {
  return error instanceof UpstreamError && error.fault === 'failed';
}

/** A fallback that does not take the request: its caller asked another model, and is told of what that one did. */
function isRefusedElsewhere(error: unknown, { isFallback }: { isFallback: boolean }): boolean {
  return isFallback && error instanceof UpstreamError && error.fault === 'rejected';
}

const unknownProvider = (): UpstreamError =>
  new UpstreamError('No provider for this model', { status: null, retryable: false });

export function createUpstreams({ models, providers, logger }: UpstreamsOptions): Upstreams {
  /** Waits before another attempt. @throws the error, where there is none */
  async function again(
    error: unknown,
    {
      target,
      provider,
      tries,
      signal,
    }: { target: Model; provider: Provider; tries: number; signal: LightAbortSignal },
  ): Promise<void> {
    if (!mayGoOn(error)) throw error;
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

  return {
    async ask(model, signal, attempt) {
      let last: UpstreamError | null = null;
      for (const target of [model, ...models.fallbacks(model.id)]) {
        try {
          for (let tries = 0; ; tries++) {
            // Looked up each time: a reload may have put another provider in its place.
            const provider = providers.find(target.upstream?.providerId ?? '');
            if (!provider) throw unknownProvider();
            try {
              return { value: await attempt(provider, target), model: target };
            } catch (error) {
              await again(error, { target, provider, tries, signal });
            }
          }
        } catch (error) {
          if (isRefusedElsewhere(error, { isFallback: target !== model })) {
            logger.warn(
              { model: target.id, reason: (error as Error).message },
              'a fallback model was skipped',
            );
            continue;
          }
          if (!mayGoOn(error)) throw error;
          last = error;
        }
      }
      throw last ?? unknownProvider();
    },
  };
}

/**
 * Asks the model's provider, again where that may help, then its fallbacks.
 * @throws ApiError invalid_request where the upstream rejected the request itself, UpstreamError for any other fault
 */
export async function callUpstream<T>(
  upstreams: Upstreams,
  model: Model,
  { signal, attempt }: { signal: AbortSignal; attempt: Attempt<T> },
): Promise<Answered<T>> {
  try {
    return await upstreams.ask(model, signal, attempt);
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.fault !== 'rejected') throw error;
    throw new ApiError('invalid_request', error.message, { cause: error });
  }
}

/** Reads what an upstream made, which is no fault of the caller's. @throws UpstreamError where it cannot be read: then the fallbacks are asked */
export async function asUpstreamMade<T>(what: 'image' | 'audio', read: () => Promise<T>): Promise<T> {
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
