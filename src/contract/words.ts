/** The contract's words, in one place: names of buckets, scopes, tools, tiers and plans (contract 2.14, 2.16, 2.10, 8.4). */

/** Quota buckets in the order in which amounts are stored (`bigint[]` columns with one element each, 1-based in SQL; `penstock_bucket_names()` has the same). */
export const BUCKETS = [
  'credits',
  'chat_tokens',
  'image_generations',
  'image_edits',
  'video_seconds',
  'stt_seconds',
  'tts_chars',
  'music_tracks',
  'agent_runs',
] as const;
export type Bucket = (typeof BUCKETS)[number];

export const SCOPES = [
  'chat',
  'image',
  'image_edit',
  'video',
  'music',
  'tts',
  'stt',
  'usage',
  'jobs',
  'agents',
  'webhooks',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Roles of people in an organisation, strongest first (decisions 5). */
export const MEMBER_ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

/** Kinds of generation job (contract 2.10). */
export const TOOLS = ['image', 'image_edit', 'video', 'music', 'tts', 'stt'] as const;
export type Tool = (typeof TOOLS)[number];

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

/** Endpoints that have a sliding window of their own (contract 8.1). Embeddings, agents … count only against the key's. */
export const LIMITED_ENDPOINTS = ['chat', 'image', 'image_edit', 'video', 'tts', 'stt', 'music'] as const;
export type LimitedEndpoint = (typeof LIMITED_ENDPOINTS)[number];

export const MODEL_TYPES = [
  'chat',
  'embedding',
  'image',
  'image_edit',
  'video',
  'music',
  'tts',
  'stt',
] as const;
export type ModelType = (typeof MODEL_TYPES)[number];

/** `basic|standard|powerful` for chat, embeddings, image, video, music; `fast|standard|premium` for speech, transcription, edits. */
export const TIERS = ['basic', 'standard', 'powerful', 'fast', 'premium'] as const;
export type Tier = (typeof TIERS)[number];

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

/** Forms of a call for text at /v1 (beyond 11.6 to 11.8). */
export const DIALECTS = ['chat', 'completions', 'responses', 'messages'] as const;
export type Dialect = (typeof DIALECTS)[number];
