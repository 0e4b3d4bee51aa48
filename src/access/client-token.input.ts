import { invalid } from '../contract/errors.js';
import { BOUND_KINDS } from '../contract/words.js';
import type { Scope } from '../contract/words.js';
import { scaledDecimal } from '../pricing/index.js';
import type { NewClientToken } from './client-tokens.js';

const FIELDS = [
  'scopes',
  'ttl_seconds',
  'end_user',
  'tags',
  'rate',
  'credits',
  'budget_usd',
  ...BOUND_KINDS.map((kind) => `${kind}_id`),
];
const MAX_ID = 255;

/**
 * A body's fields in the contract's spelling. What they mean is checked where the token is made.
 * @throws ApiError invalid_request
 */
export function readClientToken(body: Record<string, unknown>): NewClientToken {
  const unknown = Object.keys(body).find((name) => !FIELDS.includes(name) && body[name] !== null);
  if (unknown !== undefined) throw invalid(`Unknown parameter: ${unknown}`, unknown);
  return {
    scopes: textsIn(body['scopes'], 'scopes') as Scope[],
    ttlSeconds: numberIn(body['ttl_seconds'], 'ttl_seconds'),
    endUser: textIn(body['end_user'], 'end_user'),
    tags: textsIn(body['tags'], 'tags'),
    rate: rateIn(body['rate']),
    cap: capIn(body),
    bound: boundIn(body),
  };
}

function textsIn(value: unknown, field: string): string[] {
  if (value == null) return [];
  if (!Array.isArray(value) || value.length > 100 || !value.every((item) => typeof item === 'string'))
    throw invalid(`${field} must be a list of texts`, field);
  return value as string[];
}

function textIn(value: unknown, field: string): string | null {
  if (value == null) return null;
  if (typeof value !== 'string') throw invalid(`${field} must be a string`, field);
  return value;
}

function numberIn(value: unknown, field: string): number | null {
  if (value == null) return null;
  if (typeof value !== 'number') throw invalid(`${field} must be a number`, field);
  return value;
}

function rateIn(value: unknown): NewClientToken['rate'] {
  if (value == null) return null;
  const { rpm, burst, ...others } = Object(value) as Record<string, unknown>;
  if (typeof value !== 'object' || typeof rpm !== 'number' || typeof burst !== 'number')
    throw invalid('rate must have rpm and burst', 'rate');
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalid(`Unknown parameter: rate.${unknown.slice(0, MAX_ID)}`, 'rate');
  return { rpm, burst };
}

/** The largest cap, in either unit. */
const MOST = 1_000_000_000;

/** Credits, or USD: not both. */
function capIn({ credits, budget_usd: usd }: Record<string, unknown>): NewClientToken['cap'] {
  if (credits != null && usd != null)
    throw invalid('A client token has a cap in credits or in USD', 'budget_usd');
  if (credits != null) {
    const isWhole = Number.isSafeInteger(credits) && (credits as number) >= 1 && (credits as number) <= MOST;
    if (!isWhole) throw invalid(`credits must be a whole number, 1 to ${MOST}`, 'credits');
    return { unit: 'credits', most: BigInt(credits as number) * 100n };
  }
  if (usd == null) return null;
  const nano = typeof usd === 'string' || typeof usd === 'number' ? scaledDecimal(usd, 9) : null;
  if (nano === null || nano === 0n || nano > BigInt(MOST) * 1_000_000_000n)
    throw invalid('budget_usd must be USD: a decimal above 0 with at most 9 decimals', 'budget_usd');
  return { unit: 'usd', most: nano };
}

/** At most one object. */
function boundIn(body: Record<string, unknown>): NewClientToken['bound'] {
  const named = BOUND_KINDS.filter((kind) => body[`${kind}_id`] != null);
  const [kind, second] = named;
  if (kind === undefined) return null;
  if (second !== undefined) throw invalid('A client token is bound to one object', `${second}_id`);
  return { kind, id: textIn(body[`${kind}_id`], `${kind}_id`) ?? '' };
}
