import type { Bucket } from '../contract/buckets.js';
import type { Tier, TierFamily } from '../contract/words.js';

/**
 * The descriptor of a kind of generation, as data: `<kind>/kind.ts` holds one, `kinds.ts` lists them, and every other list of kinds (scopes, job
 * tools, model types, windows, prices, estimates …) is derived from that.
 */
export interface KindDescriptor {
  /** The kind's one name: its models' type, its jobs' tool, its window, its ledger operations, what providers call their models of it. */
  name: string;
  /** Its name in plain words, if that is not the name without underscores. */
  label?: string;
  /** A description for the GraphQL schema, of its models and, if it has its own window, of its scope. */
  descriptions: { model: string; scope?: string };
  /** The scope that a key needs (contract 2.14). */
  scope: string;
  /** The default of its endpoint's rate window, in addition to the key's window (contract 8.1); PLANS_FILE may change it. A kind with one has a scope of its name. */
  window: { limit: number; windowSeconds: number } | null;
  /** Its models' tiers: `general` are basic, standard, powerful; `media` are fast, standard, premium (contract 8.4). */
  tiers: TierFamily;
  /** The default price of a unit before the multiplier: an amount of the bucket, and additional credits. A model's entry may change it. */
  pricing: { unit: string; bucket: Bucket; amount: number; credits: number };
  /** Default input and output types of its models. */
  modalities: { input: readonly string[]; output: readonly string[] };
  /** The sandbox's models of this kind. */
  sandbox: {
    /** The tier of the default model. */
    defaultTier: Tier;
    /** Values of `operation` that the fast model does by default. */
    fastOperations?: readonly string[];
    contextWindow?: number;
    maxOutputTokens?: number;
    maxDurationSeconds?: number;
    /** Set if they differ from the kind's. */
    modalities?: { input: readonly string[]; output: readonly string[] };
  };
  /** The field of `EstimateInput` that asks for its price. */
  estimate: string;
  /** The method of a provider's model, and the result's name in telemetry. Null if the work is not one call (chat). */
  capability: {
    method: string;
    operation: 'generate_content' | 'embeddings' | 'rerank';
    output: string | null;
  } | null;
  /** Null if it answers at once and is not a job. */
  job: KindJob | null;
}

export interface KindJob {
  /** The result of its jobs, for the GraphQL schema. */
  description: string;
  timeLimitMs: number;
  /** Default of `JOBS_CONCURRENCY`: jobs of this kind that one worker runs at the same time. */
  concurrency: number;
  /** Its own 402 message (contract 7.4), or null for `Quota exceeded for <bucket>`. */
  exhaustedMessage: string | null;
  /** Its own 500 message, or `Generation failed`. */
  failureMessage: string;
}
