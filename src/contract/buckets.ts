import type { PlanCode } from './words.js';

/** A quota bucket (contract 2.16): everything that is known of it. */
export interface BucketRow {
  name: string;
  /** What it holds, for the GraphQL schema. */
  description: string;
  /** One of its units, and several of them. */
  units: readonly [one: string, many: string];
  /** Its name in plain words, where that is not its name without underscores. */
  label?: string;
  /** What each plan includes a month, in whole units; -1 is unlimited (contract 8.2). Null: it shows the credits as tokens and is never charged. */
  allowance: Readonly<Record<PlanCode, number>> | null;
}

/** An allowance that only the two monthly plans include. */
const monthly = (pro: number, business: number): Record<PlanCode, number> => ({
  free: 0,
  pro_monthly: pro,
  business_monthly: business,
  cli_pro: 0,
  cli_team: 0,
});

/** In the order in which amounts are stored: a new one comes last. `penstock_bucket_names()` has the same names, and a test compares them. */
export const BUCKET_ROWS = [
  {
    name: 'credits',
    description: 'Credits. 1,000 tokens cost one credit, before the multiplier.',
    units: ['credit', 'credits'],
    allowance: { free: 100, pro_monthly: 200, business_monthly: 800, cli_pro: 2000, cli_team: 10_000 },
  },
  {
    name: 'chat_tokens',
    description: 'The credits converted to tokens. Nothing is charged to this bucket itself.',
    units: ['chat token', 'chat tokens'],
    allowance: null,
  },
  {
    name: 'image_generations',
    description: 'Images.',
    units: ['image', 'images'],
    allowance: monthly(150, 600),
  },
  {
    name: 'image_edits',
    description: 'Image edits.',
    units: ['image edit', 'image edits'],
    allowance: monthly(75, 300),
  },
  {
    name: 'video_seconds',
    description: 'Seconds of video.',
    units: ['second of video', 'seconds of video'],
    allowance: monthly(900, 3600),
  },
  {
    name: 'stt_seconds',
    description: 'Seconds of transcribed sound.',
    units: ['second of speech', 'seconds of speech'],
    label: 'transcription seconds',
    allowance: monthly(3600, 18_000),
  },
  {
    name: 'tts_chars',
    description: 'Characters of speech.',
    units: ['character of speech', 'characters of speech'],
    label: 'speech characters',
    allowance: monthly(200_000, 800_000),
  },
  {
    name: 'music_tracks',
    description: 'Pieces of music.',
    units: ['music track', 'music tracks'],
    allowance: monthly(20, 80),
  },
  {
    name: 'agent_runs',
    description: 'Runs of agents.',
    units: ['agent run', 'agent runs'],
    allowance: { ...monthly(100, 500), cli_pro: -1, cli_team: -1 },
  },
] as const satisfies readonly BucketRow[];

export type Bucket = (typeof BUCKET_ROWS)[number]['name'];
/** Buckets that a plan includes and calls are charged to. */
export type ChargedBucket = Exclude<Bucket, 'chat_tokens'>;

/** Their names, in the order in which amounts are stored (`bigint[]` columns with one element each, 1-based in SQL). */
export const BUCKETS: readonly Bucket[] = BUCKET_ROWS.map(({ name }) => name);
export const CHARGED_BUCKETS = BUCKETS.filter((bucket): bucket is ChargedBucket => bucket !== 'chat_tokens');
