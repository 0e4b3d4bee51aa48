import { UnreadableAudioError } from '../../audio/index.js';
import { ApiError } from '../../contract/errors.js';
import type { Tool } from '../../contract/words.js';
import type { JobContext } from '../../jobs/jobs.types.js';
import type { Model } from '../../models/models.types.js';
import type { Used } from '../../pricing/pricing.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { OrderLog, Provider, ProviderRegistry } from '../../providers/index.js';
import { engineName, orderLogOf } from './orders.js';
import type { Answered, Upstreams } from './upstreams.js';
import { callUpstream } from './upstreams.js';

export type Engine<Kind extends Tool> = ReturnType<NonNullable<Provider[Kind]>>;

/** A provider's model; undefined if the provider has none of the kind. */
export function engineAt<Kind extends Tool>(
  provider: Provider | null,
  kind: Kind,
  model: Model,
): Engine<Kind> | undefined {
  const open = provider?.[kind] as ((modelId: string) => Engine<Kind>) | undefined;
  return open?.call(provider, model.upstream?.modelId ?? model.name);
}

/** The engine of a model; undefined if its provider has none. */
export function engineOf<Kind extends Tool>(
  providers: ProviderRegistry,
  kind: Kind,
  model: Model,
): Engine<Kind> | undefined {
  return engineAt(providers.find(model.upstream?.providerId ?? ''), kind, model);
}

interface EngineCall<Kind extends Tool, T> {
  kind: Kind;
  /** The job's attempt. */
  job: Pick<JobContext, 'signal' | 'orders' | 'tally' | 'parts'>;
  /** Checks whether a fallback supports the request: throws the error that a direct request to that model would get. */
  check(target: Model, engine: Engine<Kind>): void;
  /** @param target the model of the engine: the requested one, or a fallback */
  ask(engine: Engine<Kind>, orders: OrderLog, target: Model): PromiseLike<T>;
  /** The usage that the upstream charges for. */
  used(value: T): Used;
}

/**
 * Calls the model's engine, then its fallbacks'. A fallback that does not support the request is skipped.
 * @throws ApiError invalid_request if the upstream rejected the request, UpstreamError for any other error
 */
export async function callEngine<Kind extends Tool, T>(
  upstreams: Upstreams,
  model: Model,
  { kind, job: { signal, orders, tally, parts }, check, ask, used }: EngineCall<Kind, T>,
): Promise<Answered<T>> {
  let order: string | null = null;
  const answered = await callUpstream(upstreams, model, {
    signal,
    tally,
    attempt: async (provider, target) => {
      const engine = engineAt(provider, kind, target);
      if (engine === undefined) throw unable(`The provider has no models for ${kind}`);
      const log = orderLogOf(orders, engineName(provider, target));
      const requested = async () => {
        const made = await ask(engine, log, target).then(null, (error: unknown) => {
          throw parts?.begun === true && !signal.aborted ? brokenOff(error) : error;
        });
        order = log.earlier();
        return made;
      };
      if (target.id === model.id) return await requested();
      requireSupported(target, () => check(target, engine));
      return await askReader(target, requested);
    },
  });
  tally.answers({ model: answered.model, upstreamId: order, ...used(answered.value) });
  return answered;
}

/** A part that was already shown cannot be replaced, so there is no other attempt and no fallback. */
const brokenOff = (cause: unknown): Error => new Error('An upstream broke off', { cause });

/** A fallback that needs decoded input is skipped if the file cannot be decoded here, since the requested model accepts the file. */
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

/** @throws UpstreamError if the check refuses */
export function requireSupported(target: Model, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw passedOver(target, error);
  }
}
