/** Tokens by class, as the upstream told them or as they were counted. `cachedInput` and `cacheWrite` are parts of `input`, `reasoning` of `output`. */
export interface TokenClasses {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
}

export const PRICED_TOKENS = ['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning'] as const;
/** What upstreams charge for by the piece. `search` is one search of a reranker. */
export const PRICED_UNITS = ['image', 'edit', 'second', 'track', 'character', 'search'] as const;
export type PricedToken = (typeof PRICED_TOKENS)[number];
export type PricedUnit = (typeof PRICED_UNITS)[number];

/** What one token or unit costs, in atto-dollars (10^-18 USD). */
export type Rates<Class extends string> = Readonly<Partial<Record<Class, bigint>>>;

/** What a model costs at its upstream from a moment on (beyond 13.2). */
export interface PriceVersion {
  /** As its source writes it: a day or an ISO 8601 time. Names the version. */
  from: string;
  /** Unix milliseconds; -Infinity where it holds for everything before the next version. */
  sinceMs: number;
  rates: Rates<PricedToken | PricedUnit>;
  /** Other rates of tokens for calls whose input has more than `above` tokens. */
  longContext: { above: number; rates: Rates<PricedToken> } | null;
}

/** What one attempt used of a model. Units may have up to three decimals (seconds). */
export interface Used {
  tokens?: TokenClasses | null;
  units?: Partial<Record<PricedUnit, number>>;
}

/** A price version as its source has it: USD, of tokens for a million. Each amount is exact as it is written. */
export interface PriceEntry extends Partial<Record<PricedToken | PricedUnit, string | number | undefined>> {
  /** Absent: it holds from the beginning. */
  from?: string | undefined;
  longContext?: ({ above: number } & Partial<Record<PricedToken, string | number | undefined>>) | undefined;
}
