import { UnreadableAudioError } from '../../audio/index.js';
import { ApiError } from '../../contract/errors.js';
import type { Tool } from '../../contract/words.js';
import type { JobContext } from '../../jobs/jobs.types.js';
import type { Model } from '../../models/models.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { OrderLog, Provider, ProviderRegistry } from '../../providers/index.js';
import { engineName, orderLogOf } from './orders.js';
import type { Answered, Upstreams } from './upstreams.js';
import { callUpstream } from './upstreams.js';

export type Engine<Kind extends Tool> = ReturnType<NonNullable<Provider[Kind]>>;

/** A model at a provider; undefined where that provider makes nothing of the kind. */
export function engineAt<Kind extends Tool>(
  provider: Provider | null,
  kind: Kind,
  model: Model,
): Engine<Kind> | undefined {
  const open = provider?.[kind] as ((modelId: string) => Engine<Kind>) | undefined;
  return open?.call(provider, model.upstream?.modelId ?? model.name);
}

/** The engine that a model asks for; undefined where its provider has none. */
export function engineOf<Kind extends Tool>(
  providers: ProviderRegistry,
  kind: Kind,
  model: Model,
): Engine<Kind> | undefined {
  return engineAt(providers.find(model.upstream?.providerId ?? ''), kind, model);
}

interface EngineCall<Kind extends Tool, T> {
  kind: Kind;
  /** The attempt at the job that the work is for. */
  job: Pick<JobContext, 'signal' | 'orders'>;
  /** Whether a fallback can do what was asked for: it throws what a caller who named it would be told. */
  check(target: Model, engine: Engine<Kind>): void;
  ask(engine: Engine<Kind>, orders: OrderLog): PromiseLike<T>;
}

/**
 * Asks the model's engine, then its fallbacks'. A fallback that cannot do what was asked for is passed over.
 * @throws ApiError invalid_request where the upstream rejected the request itself, UpstreamError for any other fault
 */
export async function callEngine<Kind extends Tool, T>(
  upstreams: Upstreams,
  model: Model,
  { kind, job: { signal, orders }, check, ask }: EngineCall<Kind, T>,
): Promise<Answered<T>> {
  return await callUpstream(upstreams, model, {
    signal,
    attempt: async (provider, target) => {
      const engine = engineAt(provider, kind, target);
      if (engine === undefined) throw unable(`The provider has no models for ${kind}`);
      const asked = () => ask(engine, orderLogOf(orders, engineName(provider, target)));
      if (target.id === model.id) return await asked();
      assertSuited(target, () => check(target, engine));
      return await askReader(target, asked);
    },
  });
}

/** What one model reads another may not: a fallback that decodes here is passed over for it, as the file is no fault of the caller's. */
async function askReader<T>(target: Model, ask: () => PromiseLike<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof UnreadableAudioError ? passedOver(target, error) : error;
  }
}

const unable = (message: string): UpstreamError =>
  new UpstreamError(message, { status: null, retryable: false });

const passedOver = (target: Model, { message }: Error): UpstreamError =>
  unable(`The fallback ${target.id} is passed over: ${message}`);

/** @throws UpstreamError where the check refuses */
export function assertSuited(target: Model, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw passedOver(target, error);
  }
}
