import { z } from 'zod';
import { MODEL_TYPES, TIERS } from '../contract/words.js';
import type { Bucket, ModelType, Tier } from '../contract/words.js';
import media from './media.json' with { type: 'json' };
import type { Model } from './models.types.js';
import upstream from './upstream.json' with { type: 'json' };

/** One row of the committed lists, or of the sandbox: what a {@link Model} is made from. */
export interface ModelRow {
  id: string;
  type: ModelType;
  tier: Tier;
  /** As written: 1.5. */
  multiplier: number;
  name?: string | undefined;
  contextWindow?: number | undefined;
  maxOutputTokens?: number | undefined;
  modalities?: { input: string[]; output: string[] } | undefined;
  maxDurationSeconds?: number | undefined;
}

const row = z.object({
  id: z.string().regex(/^[^/\s]+\/\S+$/),
  type: z.enum(MODEL_TYPES),
  tier: z.enum(TIERS),
  multiplier: z.number().min(1).max(3),
  name: z.string().optional(),
  contextWindow: z.number().int().positive().optional(),
  maxOutputTokens: z.number().int().positive().optional(),
  modalities: z.object({ input: z.array(z.string()), output: z.array(z.string()) }).optional(),
  maxDurationSeconds: z.number().positive().optional(),
});

/** Multipliers that a tier may have (contract 8.4), as written. */
const RANGES: Record<string, Partial<Record<Tier, [number, number]>>> = {
  general: { basic: [1, 1], standard: [1.5, 2], powerful: [2, 3] },
  media: { fast: [1, 1], standard: [1.25, 1.25], premium: [1.5, 1.5] },
};
const MEDIA: readonly ModelType[] = ['tts', 'stt', 'image_edit'];

/** What a tier's models cost where no entry says otherwise. */
export function standardMultiplier(type: ModelType, tier: Tier): number {
  return RANGES[MEDIA.includes(type) ? 'media' : 'general']?.[tier]?.[0] ?? 1;
}

function inRange({ type, tier, multiplier }: ModelRow): boolean {
  const range = RANGES[MEDIA.includes(type) ? 'media' : 'general']?.[tier];
  return range !== undefined && multiplier >= range[0] && multiplier <= range[1];
}

/**
 * The models of well-known providers, with the day that their prices are of (Unix seconds).
 * @throws Error where a committed list is broken: a build that must not start
 */
export function knownRows(): { rows: ModelRow[]; created: number } {
  const rows = z.array(row).parse([...upstream.models, ...media.models]);
  const wrong = rows.find((item) => !inRange(item));
  if (wrong) throw new Error(`The catalogue's ${wrong.id} has a multiplier outside its tier's range`);
  if (new Set(rows.map((item) => item.id)).size !== rows.length)
    throw new Error('A model stands twice in the catalogue');
  return { rows, created: Date.parse(upstream.updated) / 1000 };
}

const VISION = { input: ['text', 'image'], output: ['text'] };

/** The sandbox: a model of every type in every tier, at the standard prices. */
export function sandboxRows(): ModelRow[] {
  const general: Tier[] = ['basic', 'standard', 'powerful'];
  const other: Tier[] = ['fast', 'standard', 'premium'];
  return MODEL_TYPES.flatMap((type) =>
    (MEDIA.includes(type) ? other : general).map((tier) => ({
      id: `sandbox/${type.replace('_', '-')}-${tier}`,
      type,
      tier,
      multiplier: standardMultiplier(type, tier),
      name: `Sandbox ${type.replace('_', ' ')} (${tier})`,
      ...(type === 'chat' ? { contextWindow: 128_000, maxOutputTokens: 100_000, modalities: VISION } : {}),
      ...(type === 'embedding' ? { contextWindow: 8192 } : {}),
      ...(type === 'video' || type === 'music' ? { maxDurationSeconds: 60 } : {}),
    })),
  );
}

/** The type's standard price before the multiplier (contract 4, decisions 2): units and the bucket that they come from. */
export const STANDARD_PRICING: Record<ModelType, Model['pricing']> = {
  chat: pricing('1k_tokens', 'credits', { amount: 1, credits: 1 }),
  embedding: pricing('1k_tokens', 'credits', { amount: 1, credits: 1 }),
  image: pricing('image', 'image_generations', { amount: 1, credits: 0.5 }),
  image_edit: pricing('edit', 'image_edits', { amount: 1, credits: 0 }),
  video: pricing('second', 'video_seconds', { amount: 1, credits: 0.1 }),
  music: pricing('track', 'music_tracks', { amount: 1, credits: 0 }),
  tts: pricing('character', 'tts_chars', { amount: 1, credits: 0 }),
  stt: pricing('second', 'stt_seconds', { amount: 1, credits: 0 }),
};

function pricing(
  unit: Model['pricing']['unit'],
  bucket: Bucket,
  price: { amount: number; credits: number },
): Model['pricing'] {
  return { unit, bucket, ...price };
}

/** What goes in and comes out where an entry does not say. */
export const STANDARD_MODALITIES: Record<ModelType, Model['modalities']> = {
  chat: { input: ['text'], output: ['text'] },
  embedding: { input: ['text'], output: ['embedding'] },
  image: { input: ['text'], output: ['image'] },
  image_edit: { input: ['image', 'text'], output: ['image'] },
  video: { input: ['text', 'image', 'video'], output: ['video'] },
  music: { input: ['text', 'audio'], output: ['audio'] },
  tts: { input: ['text', 'audio'], output: ['audio'] },
  stt: { input: ['audio'], output: ['text'] },
};
