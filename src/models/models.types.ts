import type { PriceVersion } from '../pricing/pricing.types.js';
import type { Bucket, ModelType, Tier } from '../contract/words.js';

/** One model of the catalogue (decisions 6, "Models"). */
export interface Model {
  /** `<provider>/<name>`; the name may hold further slashes. */
  id: string;
  provider: string;
  name: string;
  ownedBy: string;
  /** Unix seconds. */
  created: number;
  type: ModelType;
  tier: Tier;
  /** Hundredths: 150 is 1.5. */
  multiplier: number;
  /** Before the multiplier. Amounts in units with up to two decimals. */
  pricing: {
    /** `second`, `track` …: that of the kind. */
    unit: string;
    bucket: Bucket;
    amount: number;
    credits: number;
  };
  contextWindow: number | null;
  maxOutputTokens: number | null;
  modalities: { input: readonly string[]; output: readonly string[] };
  /** Tokens that one image part counts as (chat). */
  imageTokens: number;
  /** The default of its type. */
  default: boolean;
  /** Its provider is configured here. */
  available: boolean;
  /** Id of the configured provider and the name that it knows the model by; null where not available. */
  upstream: ModelUpstream | null;
  /** Seconds; video and music. */
  maxDurationSeconds: number | null;
  /** What it costs at its upstream, in order of time (beyond 13.2). Empty: unknown. */
  cost: readonly PriceVersion[];
}

/** How a model is called at its provider. */
export interface ModelUpstream {
  providerId: string;
  modelId: string;
  outputCap: 'max_tokens' | 'max_completion_tokens';
  /** Fields of a chat request that the operator lets through to it, besides those of the contract. */
  allowedParameters: readonly string[];
  /** Whether it goes on with an answer whose beginning is the last message (beyond 12.5). */
  prefill: boolean;
  /** Whether its upstream goes on by itself with answers whose connection breaks, and keeps them meanwhile (beyond 12.5). */
  background: boolean;
}

export interface ModelCatalogue {
  list(filter?: { type?: ModelType; provider?: string; tier?: Tier; available?: boolean }): Model[];
  /** By its id, or by an alias that the operator gave it. */
  find(id: string): Model | null;
  /**
   * The id that a name without a slash stands for at /v1: that of the one available model whose id ends in it. Else the name itself, also where
   * it is an alias.
   */
  fullId(name: string): string;
  /** The operator's aliases that stand for themselves (those without `*`). */
  aliases(): { alias: string; model: Model }[];
  /**
   * The model a call asks for, configured here or not, or the type's default (image edits: that of the operation).
   * @throws ApiError invalid_request `Unknown model: <id>`, `model is required` (param `model`)
   */
  named(type: ModelType | ModelType[], id: string | null | undefined, operation?: string): Model;
  /**
   * As `named`, and configured here.
   * @throws ApiError invalid_request as `named`, and `Model not available: <id>`
   */
  resolve(type: ModelType | ModelType[], id: string | null | undefined, operation?: string): Model;
  fallbacks(id: string): Model[];
  /** The fallbacks that may continue a stream of the model that broke in the middle; none unless `continueStreams` is set (beyond 12.6). */
  continuations(id: string): Model[];
}
