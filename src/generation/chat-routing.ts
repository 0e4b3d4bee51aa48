import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Model, ModelCatalogue } from '../models/models.types.js';
import { abortedError, UpstreamError } from '../providers/index.js';
import type { ChatBody, ChatCall, ChatProvider, ProviderRegistry } from '../providers/index.js';

/** One call on its way to an upstream. */
export interface RoutedCall {
  model: Model;
  body: ChatBody;
  promptTokens: number;
  /** What was reserved for the answer: the cap that goes upstream. */
  maxTokens: number;
  signal: AbortSignal;
}

/** What answered, and the model that it was: the one asked for, or a fallback. */
export interface Routed<T> {
  value: T;
  model: Model;
}

export interface Router {
  /**
   * Tries the model's provider, again where that makes sense, then its fallbacks (decisions.md 6, "Upstreams").
   * @throws UpstreamError the last one
   */
  route<T>(
    call: RoutedCall,
    attempt: (provider: ChatProvider, call: ChatCall) => Promise<T>,
  ): Promise<Routed<T>>;
}

interface RouterOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  logger: Logger;
}

function callFor(call: RoutedCall, target: Model): ChatCall {
  return {
    modelId: target.upstream?.modelId ?? target.name,
    body: call.body,
    maxTokens:
      target === call.model
        ? call.maxTokens
        : Math.min(call.maxTokens, target.maxOutputTokens ?? Number.POSITIVE_INFINITY),
    outputCap: target.upstream?.outputCap ?? 'max_tokens',
    promptTokens: call.promptTokens,
    signal: call.signal,
  };
}

async function backOff(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    throw abortedError();
  }
}

/** Whether another attempt or upstream may do better: never for the caller's own fault, nor when nobody waits any more. */
function mayGoOn(error: unknown): error is UpstreamError {
  return error instanceof UpstreamError && error.fault === 'failed';
}

export function createRouter({ models, providers, logger }: RouterOptions): Router {
  /** All attempts at one model. */
  async function tryModel<T>(
    call: RoutedCall,
    target: Model,
    attempt: (provider: ChatProvider, call: ChatCall) => Promise<T>,
  ): Promise<T> {
    const upstreamCall = callFor(call, target);
    for (let tries = 0; ; tries++) {
      // Looked up each time: a reload may have put another provider in its place.
      const provider = providers.find(target.upstream?.providerId ?? '');
      if (!provider?.chat)
        throw new UpstreamError('No provider for this model', { status: null, retryable: false });
      try {
        return await attempt(provider.chat, upstreamCall);
      } catch (error) {
        if (!mayGoOn(error)) throw error;
        const again = error.options.retryable && tries < provider.retry.retries;
        logger.warn(
          { model: target.id, provider: provider.id, attempt: tries + 1, again, err: error.message },
          'upstream failed',
        );
        if (!again) throw error;
        const delay = provider.retry.backoffMs * 2 ** tries * (0.5 + Math.random());
        await backOff(error.options.retryAfterMs ?? delay, call.signal);
      }
    }
  }

  return {
    async route(call, attempt) {
      try {
        return { value: await tryModel(call, call.model, attempt), model: call.model };
      } catch (error) {
        const fallbacks = models.fallbacks(call.model.id);
        if (!mayGoOn(error) || fallbacks.length === 0) throw error;
        return await tryFallbacks(fallbacks, error);
      }

      async function tryFallbacks(
        fallbacks: Model[],
        first: UpstreamError,
      ): Promise<Routed<Awaited<ReturnType<typeof attempt>>>> {
        let last = first;
        for (const model of fallbacks) {
          try {
            return { value: await tryModel(call, model, attempt), model };
          } catch (error) {
            if (!mayGoOn(error)) throw error;
            last = error;
          }
        }
        throw last;
      }
    },
  };
}
