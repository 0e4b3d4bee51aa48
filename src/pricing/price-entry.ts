import { decimalText, scaledDecimal } from './decimal.js';
import { PRICED_TOKENS, PRICED_UNITS } from './pricing.types.js';
import type { PriceEntry, PriceVersion, PricedToken, PricedUnit, Rates } from './pricing.types.js';

/** USD have at most twelve decimals; rates are atto-dollars: of tokens, a millionth of what a million costs. */
const DECIMALS = 12;
const ATTO = 18;
const FROM = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/;

/** Whether a value is an amount of USD: not negative, at most a million, with at most twelve decimals. */
export function isUsd(value: string | number): boolean {
  const scaled = scaledDecimal(value, DECIMALS);
  return scaled !== null && scaled <= 10n ** BigInt(DECIMALS + 6);
}

/** Whether a text is a day or a time, UTC: `2026-11-01`, `2026-11-01T12:00Z`. */
export function isPriceTime(value: string): boolean {
  if (!FROM.test(value)) return false;
  const time = new Date(value);
  // A 30 February is no day, though Date.parse takes it for one of March.
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(value.slice(0, 10));
}

function ratesOf<Class extends string>(
  entry: Partial<Record<Class, string | number | undefined>>,
  { names, places }: { names: readonly Class[]; places: number },
): Rates<Class> {
  const rates: Partial<Record<Class, bigint>> = {};
  for (const name of names) {
    const usd = entry[name];
    if (usd === undefined) continue;
    const rate = scaledDecimal(usd, places);
    if (rate === null) throw new Error(`Not an amount of USD: ${usd}`);
    rates[name] = rate;
  }
  return rates;
}

const TOKENS = { names: PRICED_TOKENS, places: ATTO - 6 };
const UNITS = { names: PRICED_UNITS, places: ATTO };

/** The versions of checked entries, in order of time. @param undated names a version without `from` */
export function priceVersions(entries: readonly PriceEntry[], undated: string): PriceVersion[] {
  return entries
    .map((entry) => {
      const { from, longContext } = entry;
      return {
        from: from ?? undated,
        sinceMs: from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(from),
        rates: { ...ratesOf<PricedToken>(entry, TOKENS), ...ratesOf<PricedUnit>(entry, UNITS) },
        longContext:
          longContext === undefined
            ? null
            : { above: longContext.above, rates: ratesOf<PricedToken>(longContext, TOKENS) },
      };
    })
    .toSorted((a, b) => a.sinceMs - b.sinceMs);
}

/** A rate as an entry would write it: USD, of tokens for a million. */
export function shownUsd(rates: Rates<string>, name: PricedToken | PricedUnit): string | null {
  const rate = rates[name];
  if (rate === undefined) return null;
  return decimalText(
    rate,
    (PRICED_TOKENS as readonly string[]).includes(name) ? TOKENS.places : UNITS.places,
  );
}
