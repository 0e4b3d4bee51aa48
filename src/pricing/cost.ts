import { decimalText } from './decimal.js';
import type { PriceVersion, PricedToken, PricedUnit, Rates, TokenClasses, Used } from './pricing.types.js';

/** Atto-dollars in a nano-dollar. */
const ATTO = 1_000_000_000n;
/** Units are counted in thousandths. A rate is a whole multiple of a thousand atto-dollars, so that this stays exact. */
const THOUSANDTHS = 1000n;

/** The version in force at a time; null before the first. @param versions in order of time */
export function versionAt(versions: readonly PriceVersion[], timeMs: number): PriceVersion | null {
  return versions.findLast(({ sinceMs }) => sinceMs <= timeMs) ?? null;
}

/** The rate of a class: its own, else its whole's. */
function rateOf(rates: Rates<PricedToken>, name: PricedToken): bigint | undefined {
  if (name === 'cachedInput' || name === 'cacheWrite') return rates[name] ?? rates.input;
  return name === 'reasoning' ? (rates.reasoning ?? rates.output) : rates[name];
}

/** The rates of a call with so many tokens of input. A class that a long call has no rate of its own for keeps the usual one. */
function ratesFor({ rates, longContext }: PriceVersion, input: number): Rates<PricedToken> {
  return longContext !== null && input > longContext.above ? { ...rates, ...longContext.rates } : rates;
}

/** Each token in one class: what is neither cached nor reasoned is the rest of its whole. Parts that exceed their whole make it larger. */
function parted({ input, cachedInput, cacheWrite, output, reasoning }: TokenClasses): TokenClasses {
  return {
    input: Math.max(0, input - cachedInput - cacheWrite),
    cachedInput,
    cacheWrite,
    output: Math.max(0, output - reasoning),
    reasoning,
  };
}

function tokenCost(version: PriceVersion, tokens: TokenClasses): bigint | null {
  const { input, cachedInput, cacheWrite } = tokens;
  const rates = ratesFor(version, Math.max(input, cachedInput + cacheWrite));
  let sum = 0n;
  for (const [name, count] of Object.entries(parted(tokens)) as [PricedToken, number][]) {
    if (count === 0) continue;
    const rate = rateOf(rates, name);
    if (rate === undefined) return null;
    sum += rate * BigInt(count);
  }
  return sum;
}

function unitCost({ rates }: PriceVersion, units: NonNullable<Used['units']>): bigint | null {
  let sum = 0n;
  for (const [name, count] of Object.entries(units) as [PricedUnit, number][]) {
    if (count === 0) continue;
    const rate = rates[name];
    if (rate === undefined) return null;
    sum += (rate * BigInt(Math.round(count * 1000))) / THOUSANDTHS;
  }
  return sum;
}

/** What was not used costs nothing, and says nothing of the price of what was. */
const isUsed = (counts: object): boolean => Object.values(counts).some((count) => count > 0);

/**
 * What an attempt cost, in atto-dollars, not rounded. Where a version prices tokens or units, but not both, what it prices is the cost: some
 * makers charge images by tokens, others by the piece. Null: unknown.
 */
export function exactCost(version: PriceVersion | null, { tokens, units }: Used): bigint | null {
  if (version === null) return null;
  const costs = [
    ...(tokens != null && isUsed(tokens) ? [tokenCost(version, tokens)] : []),
    ...(units !== undefined && isUsed(units) ? [unitCost(version, units)] : []),
  ];
  const known = costs.filter((cost) => cost !== null);
  if (known.length === 0 && costs.length > 0) return null;
  return known.reduce((sum, cost) => sum + cost, 0n);
}

/** Atto-dollars as nano-dollars, rounded half up. */
export const nanoOf = (atto: bigint): bigint => (atto + ATTO / 2n) / ATTO;

/** What a use of a model cost, in nano-dollars, rounded once, half up; null: unknown. */
export function costOf(version: PriceVersion | null, used: Used): bigint | null {
  const exact = exactCost(version, used);
  return exact === null ? null : nanoOf(exact);
}

/**
 * The most that a call can cost, in nano-dollars: its prompt at the dearest class of input, its cap at the dearest of output, its units; null
 * where a price is unknown.
 */
export function maximumCost(
  version: PriceVersion | null,
  { promptTokens, maxTokens, units = {} }: { promptTokens: number; maxTokens: number } & Pick<Used, 'units'>,
): bigint | null {
  if (version === null) return null;
  const rates = ratesFor(version, promptTokens);
  const input = dearest(rates, ['input', 'cachedInput', 'cacheWrite']);
  const output = dearest(rates, ['output', 'reasoning']);
  const pieces = unitCost(version, units);
  if (pieces === null || (input === null && promptTokens > 0) || (output === null && maxTokens > 0))
    return null;
  return nanoOf((input ?? 0n) * BigInt(promptTokens) + (output ?? 0n) * BigInt(maxTokens) + pieces);
}

/** Null where one of the classes has no rate, not even its whole's. */
function dearest(rates: Rates<PricedToken>, names: readonly PricedToken[]): bigint | null {
  const found = names.map((name) => rateOf(rates, name));
  return found.reduce<bigint | null>(
    (most, rate) => (most === null || rate === undefined ? null : rate > most ? rate : most),
    0n,
  );
}

/** Nano-dollars as USD: `0.000000015`. */
export const usdOf = (nano: bigint): string => decimalText(nano, 9);
