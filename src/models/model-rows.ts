import { z } from 'zod';
import { KIND, MODEL_TYPES, TIER_RANGES, TIERS, tiersOf } from '../contract/words.js';
import type { KindDescriptor, ModelType, Tier } from '../contract/words.js';
import { PRICED_TOKENS, PRICED_UNITS } from '../pricing/index.js';
import type { PriceEntry } from '../pricing/pricing.types.js';
import { SANDBOX_ID } from '../providers/index.js';
import media from './media.json' with { type: 'json' };
import upstream from './upstream.json' with { type: 'json' };

/** One row of the committed lists, or of the sandbox: what a {@link Model} is made from. */
export interface ModelRow {
  id: string;
  type: ModelType;
  tier: Tier;
  /** As written: 1.5. */
  multiplier: number;
  name?: string | undefined;
  /** Default: what the id begins with. */
  ownedBy?: string | undefined;
  contextWindow?: number | undefined;
  maxOutputTokens?: number | undefined;
  modalities?: KindDescriptor['modalities'] | undefined;
  maxDurationSeconds?: number | undefined;
  /** What it costs at its upstream. */
  cost?: readonly PriceEntry[] | undefined;
}

const amount = z.number().min(0);
const rates = {
  input: amount,
  output: amount,
  cachedInput: amount.optional(),
  cacheWrite: amount.optional(),
};

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
  usdPerMillion: z
    .strictObject({
      ...rates,
      longContext: z.strictObject({ above: z.number().int().positive(), ...rates }).optional(),
    })
    .optional(),
});

/** What a tier's models cost where no entry says otherwise. */
export function standardMultiplier(type: ModelType, tier: Tier): number {
  return TIER_RANGES[KIND[type].tiers][tier]?.[0] ?? 1;
}

function inRange({ type, tier, multiplier }: ModelRow): boolean {
  const range = TIER_RANGES[KIND[type].tiers][tier];
  return range !== undefined && multiplier >= range[0] && multiplier <= range[1];
}

/**
 * The models of well-known providers, with the day that their prices are of: as Unix seconds, and as it is written.
 * @throws Error where a committed list is broken: a build that must not start
 */
export function knownRows(): { rows: ModelRow[]; created: number; priced: string } {
  const rows = z
    .array(row)
    .parse([...upstream.models, ...media.models])
    .map(({ usdPerMillion, ...item }) => ({ ...item, cost: usdPerMillion && [usdPerMillion] }));
  const wrong = rows.find((item) => !inRange(item));
  if (wrong) throw new Error(`The catalogue's ${wrong.id} has a multiplier outside its tier's range`);
  if (new Set(rows.map((item) => item.id)).size !== rows.length)
    throw new Error('A model occurs twice in the catalogue');
  return { rows, created: Date.parse(upstream.updated) / 1000, priced: upstream.updated };
}

export const sandboxId = (type: ModelType, tier: Tier): string =>
  `${SANDBOX_ID}/${type.replace('_', '-')}-${tier}`;

/** The sandbox has no upstream that costs anything. */
const FREE: PriceEntry = Object.fromEntries([...PRICED_TOKENS, ...PRICED_UNITS].map((name) => [name, 0]));

/** The sandbox: a model of every type in every tier, at the standard prices. */
export function sandboxRows(): ModelRow[] {
  return MODEL_TYPES.flatMap((type) => {
    const { contextWindow, maxOutputTokens, maxDurationSeconds, modalities }: KindDescriptor['sandbox'] =
      KIND[type].sandbox;
    return tiersOf(type).map((tier) => ({
      id: sandboxId(type, tier),
      ownedBy: 'penstock',
      type,
      tier,
      multiplier: standardMultiplier(type, tier),
      name: `Sandbox ${type.replace('_', ' ')} (${tier})`,
      contextWindow,
      maxOutputTokens,
      maxDurationSeconds,
      modalities,
      cost: [FREE],
    }));
  });
}
