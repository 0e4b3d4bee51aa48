import type { Bucket } from '../contract/buckets.js';
import type { Tier, TierFamily } from '../contract/words.js';

/**
 * The descriptor of a kind of generation, as data: `<kind>/kind.ts` holds one, `kinds.ts` lists them, and every other list of kinds (scopes, job
 * tools, model types, windows, prices, estimates …) is derived from that.
 */
export interface KindDescriptor {
  /** The kind's one name: its models' type, its jobs' tool, its window, its ledger operations, what providers call their models of it. */
  name: string;
  /** Its name in plain words, where that is not its name without underscores. */
  label?: string;
  /** What it does, for the GraphQL schema: its models, and its scope where it has a window of its own. */
  descriptions: { model: string; scope?: string };
  /** The scope that a key needs (contract 2.14). */
  scope: string;
  /** The window that its endpoint has besides the key's (contract 8.1), where no PLANS_FILE says otherwise. A kind with one has a scope of its name. */
  window: { limit: number; windowSeconds: number } | null;
  /** Its models' tiers: `general` are basic, standard, powerful; `media` are fast, standard, premium (contract 8.4). */
  tiers: TierFamily;
  /** What a unit costs before the multiplier, where no entry says otherwise: so much of the bucket, and credits on top. */
  pricing: { unit: string; bucket: Bucket; amount: number; credits: number };
  /** What goes into its models and comes out where an entry does not say. */
  modalities: { input: readonly string[]; output: readonly string[] };
  /** The sandbox's models of it. */
  sandbox: {
    /** The tier of the default model. */
    defaultTier: Tier;
    /** Values of `operation` that the fast model does by default. */
    fastOperations?: readonly string[];
    contextWindow?: number;
    maxOutputTokens?: number;
    maxDurationSeconds?: number;
    /** Where they differ from the kind's. */
    modalities?: { input: readonly string[]; output: readonly string[] };
  };
  /** The field of `EstimateInput` that asks for its price. */
  estimate: string;
  /** How a provider's model does the work: the method, and what telemetry calls the result. Null: it is none of one call (chat). */
  capability: {
    method: string;
    operation: 'generate_content' | 'embeddings' | 'rerank';
    output: string | null;
  } | null;
  /** Null: it answers at once and is not a job. */
  job: KindJob | null;
}

export interface KindJob {
  /** What a job of it makes, for the GraphQL schema. */
  description: string;
  timeLimitMs: number;
  /** Jobs of it that one worker does at once, where `JOBS_CONCURRENCY` does not say. */
  concurrency: number;
  /** 402 message of its own (contract 7.4), or null for `Quota exceeded for <bucket>`. */
  exhaustedMessage: string | null;
  /** 500 message of its own, or `Generation failed`. */
  failureMessage: string;
}
