/**
 * The contract's words, in one place: names of scopes, tools, tiers and plans (contract 2.10, 2.14, 8.4). What is known of kinds of generation
 * stands in their descriptors, what is known of buckets in `buckets.ts`.
 */
import type { KindDescriptor } from '../generation/kind.types.js';
import { KINDS } from '../generation/kinds.js';
import type { Bucket } from './buckets.js';

export { BUCKETS, CHARGED_BUCKETS } from './buckets.js';
export type { Bucket, ChargedBucket } from './buckets.js';

export { KINDS };
export type { KindDescriptor };
type Kind = (typeof KINDS)[number];

/** Types of models: the names of all kinds of generation. */
export type ModelType = Kind['name'];
export const MODEL_TYPES: readonly ModelType[] = KINDS.map(({ name }) => name);

/** A kind's descriptor by its name. */
export const KIND = Object.fromEntries(KINDS.map((kind) => [kind.name, kind])) as {
  readonly [Name in ModelType]: Extract<Kind, { name: Name }>;
};

/** Kinds whose work is a job (contract 2.10). */
export type JobKind = Exclude<Kind, { job: null }>;
export type Tool = JobKind['name'];
export const JOB_KINDS: readonly JobKind[] = KINDS.filter((kind): kind is JobKind => kind.job !== null);
export const TOOLS: readonly Tool[] = JOB_KINDS.map(({ name }) => name);

/** Endpoints that have a sliding window of their own (contract 8.1). Embeddings, agents … count only against the key's. */
export type LimitedKind = Exclude<Kind, { window: null }>;
export type LimitedEndpoint = LimitedKind['name'];
export const LIMITED_KINDS: readonly LimitedKind[] = KINDS.filter(
  (kind): kind is LimitedKind => kind.window !== null,
);
export const LIMITED_ENDPOINTS: readonly LimitedEndpoint[] = LIMITED_KINDS.map(({ name }) => name);

/** The window that calls of a kind count against besides the key's. */
export const endpointOf = (type: ModelType): LimitedEndpoint | undefined =>
  LIMITED_ENDPOINTS.find((name) => name === type);

/** Scopes of keys (contract 2.14): one for each kind with a window, those of all else, and `tokens` (beyond 14.1). */
export const SCOPES = [...LIMITED_ENDPOINTS, 'usage', 'jobs', 'agents', 'webhooks', 'tokens'] as const;
export type Scope = (typeof SCOPES)[number];

/** What a client token can be bound to (beyond 14.1). */
export const BOUND_KINDS = ['job', 'run', 'response', 'agent'] as const;
export type BoundKind = (typeof BOUND_KINDS)[number];

/** Roles of people in an organisation, strongest first (decisions 5). */
export const MEMBER_ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

export const JOB_STATUSES = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** States of a kept generation of text (beyond 12.1). */
export const RESPONSE_STATUSES = [
  'queued',
  'in_progress',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
] as const;

/** `basic|standard|powerful` for chat, embeddings, image, video, music; `fast|standard|premium` for speech, transcription, edits. */
export const TIERS = ['basic', 'standard', 'powerful', 'fast', 'premium'] as const;
export type Tier = (typeof TIERS)[number];

export type TierFamily = 'general' | 'media';
/** The tiers of each family, the cheapest first, and the multipliers that their models may have (contract 8.4), as written. */
export const TIER_RANGES: Readonly<Record<TierFamily, Partial<Record<Tier, readonly [number, number]>>>> = {
  general: { basic: [1, 1], standard: [1.5, 2], powerful: [2, 3] },
  media: { fast: [1, 1], standard: [1.25, 1.25], premium: [1.5, 1.5] },
};

/** The tiers of a type of model, the cheapest first. */
export const tiersOf = (type: ModelType): Tier[] => Object.keys(TIER_RANGES[KIND[type].tiers]) as Tier[];

export const PLAN_CODES = ['free', 'pro_monthly', 'business_monthly', 'cli_pro', 'cli_team'] as const;
export type PlanCode = (typeof PLAN_CODES)[number];

/**
 * Amounts by bucket, in whole hundredths of the bucket's unit: 150 is 1.5 units. Metering knows no binary fractions
 * (decisions 2); faces divide by 100 when they show an amount.
 */
export type Amounts = Partial<Record<Bucket, number>>;

/** What identifies the caller's program, for usage records only; each cut to 200 characters (decisions 7). */
export interface ClientInfo {
  serviceClient: string | null;
  clientName: string | null;
  userAgent: string | null;
  /** Only while traces are exported: the span that the call belongs to (W3C Trace Context). */
  traceparent?: string;
}

/** Forms of a call at /v1: for text (beyond 11.6 to 11.8), and for pictures and sound (beyond 11.10, 11.11). */
export const DIALECTS = ['chat', 'completions', 'responses', 'messages', 'media'] as const;
export type Dialect = (typeof DIALECTS)[number];
