import type { PlanCatalogue, Principal } from '../access/access.types.js';
import { ApiError } from '../contract/errors.js';
import type { LimitedEndpoint } from '../contract/words.js';
import type { RateState } from './metering.types.js';

/** A sliding window: at most `limit` slots in any `lengthUs` microseconds. `rate_windows` describes the form of its log. */
export interface WindowRule {
  limit: number;
  lengthUs: number;
  /** Slots that share one timestamp; 1 (exact) up to 600 slots. */
  grain: number;
  stamps: number;
}

const MAX_EXACT = 600;
const MAX_STAMPS = 200;

/**
 * Finds the number of slots for each timestamp, with at most {@link MAX_EXACT} timestamps. A remainder of the division is never given out, so the
 * number with the smallest remainder is taken.
 */
function grainOf(limit: number): number {
  let best = Math.ceil(limit / MAX_STAMPS);
  for (let finer = best - 1; limit % best > 0 && finer * MAX_EXACT >= limit; finer--)
    if (limit % finer < limit % best) best = finer;
  return best;
}

/** Cached by the plan's object: the search for a large window's grain tries thousands of numbers, and every call needs it. */
const known = new WeakMap<object, WindowRule>();

function ruleOf(configured: object, limit: number, lengthUs: number): WindowRule {
  let rule = known.get(configured);
  if (rule === undefined) {
    const grain = limit <= MAX_EXACT ? 1 : grainOf(limit);
    rule = { limit, lengthUs, grain, stamps: Math.max(1, Math.floor(limit / grain)) };
    known.set(configured, rule);
  }
  return rule;
}

/** The key's own window (decisions 4): at most `burst` requests in any `burst / rpm` minutes. */
export function keyRule({ rate }: Pick<Principal, 'rate'>): WindowRule {
  return ruleOf(rate, rate.burst, Math.round((rate.burst / rate.rpm) * 60_000_000));
}

/** The window of a client token, inside the window of its key; null if it has none. */
export function ownRule({ token }: Pick<Principal, 'token'>): WindowRule | null {
  return token?.rate == null ? null : keyRule({ rate: token.rate });
}

export function endpointRule(plans: PlanCatalogue, endpoint: LimitedEndpoint): WindowRule {
  const window = plans.endpointLimits[endpoint];
  return ruleOf(window, window.limit, window.windowSeconds * 1_000_000);
}

/** Returns the window that the headers report: the one with the smaller share left; of two full ones, the one that gains a slot later. */
export function stricterRate(a: RateState | null, b: RateState | null): RateState | null {
  if (a === null || b === null) return a ?? b;
  const [ofA, ofB] = [a.remaining * b.limit, b.remaining * a.limit];
  if (ofA === ofB) return a.reset >= b.reset ? a : b;
  return ofA < ofB ? a : b;
}

const rates = new WeakMap<ApiError, RateState>();

/** The rate state of an error of `admit`; null if it was thrown before the windows were checked. */
export function rateOf(error: unknown): RateState | null {
  return error instanceof ApiError ? (rates.get(error) ?? null) : null;
}

export function withRate(error: ApiError, rate: RateState | null): ApiError {
  if (rate !== null) rates.set(error, rate);
  return error;
}
