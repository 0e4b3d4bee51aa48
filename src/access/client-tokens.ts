import { hash, randomBytes } from 'node:crypto';
import { sqlOf } from '../database/index.js';
import type { Database } from '../database/index.js';
import { ApiError, invalid } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { SCOPES } from '../contract/words.js';
import type { Scope } from '../contract/words.js';
import type { ClientTokenGrant, Principal } from './access.types.js';
import { INSERT_TOKEN_BUDGET, FORGET_TOKENS, INSERT_TOKEN } from './client-token.queries.js';
import { checkKeyLimits, MAX_TAGS } from './key-limits.js';

const TOKEN_FORM = /^ct_[0-9a-f]{64}$/;

/** Whether a text has the form of a client token; other texts are refused without a query. */
export const isClientToken = (text: string): boolean => TOKEN_FORM.test(text);

const MAX_TTL_SECONDS = 3600;
const DEFAULT_TTL_SECONDS = 900;
/** What a browser may never do: make more tokens, and send the organisation's events elsewhere. */
const NEVER: ReadonlySet<Scope> = new Set<Scope>(['tokens', 'webhooks']);

/** The scopes that a client token can have, if its maker has them. */
export const CLIENT_TOKEN_SCOPES: readonly Scope[] = SCOPES.filter((scope) => !NEVER.has(scope));

/** At most so many credits (hundredths), or nano-dollars of upstream cost. */
export interface TokenCap {
  unit: 'credits' | 'usd';
  most: bigint;
}

export interface NewClientToken {
  scopes: readonly Scope[];
  /** 1 to 3,600, default 900. */
  ttlSeconds?: number | null;
  endUser?: string | null;
  tags?: readonly string[] | null;
  rate?: ClientTokenGrant['rate'];
  /** What its calls may take in all. */
  cap?: TokenCap | null;
  /** The one object that it reaches, which the caller has looked up. */
  bound?: ClientTokenGrant['bound'];
}

/** A new token. Only its maker's answer shows `token`; the database has its hash. */
export interface MadeClientToken {
  token: string;
  clientToken: { id: string; scopes: Scope[]; expiresAt: Date };
}

/** Makes credentials for browsers: each acts as its maker, for an hour at most, within what it was made for (beyond 14.1). */
export interface ClientTokenService {
  /** @throws ApiError invalid_request, unauthorized where the maker was revoked meanwhile */
  create(maker: Principal, input: NewClientToken): Promise<MadeClientToken>;
}

/** @throws ApiError invalid_request */
function checkScopes({ scopes: own }: Principal, scopes: readonly Scope[]): Scope[] {
  if (scopes.length === 0) throw invalid('scopes must name at least one scope', 'scopes');
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) throw invalid(`Unknown scope: ${unknown}`, 'scopes');
  const never = scopes.find((scope) => NEVER.has(scope));
  if (never !== undefined) throw invalid(`A client token never has the scope ${never}`, 'scopes');
  const lacked = scopes.find((scope) => !own.has(scope));
  if (lacked !== undefined) throw invalid(`scopes must be among your own: ${lacked} is not`, 'scopes');
  return SCOPES.filter((scope) => scopes.includes(scope));
}

/** @throws ApiError invalid_request */
function checkTtl(ttlSeconds: number | null | undefined): number {
  const ttl = ttlSeconds ?? DEFAULT_TTL_SECONDS;
  if (!Number.isInteger(ttl) || ttl < 1 || ttl > MAX_TTL_SECONDS)
    throw invalid(`ttlSeconds must be 1 to ${MAX_TTL_SECONDS}`, 'ttlSeconds');
  return ttl;
}

/** What the token stamps and its window lie within what its maker has. @throws ApiError invalid_request */
function checkLimits({ stamps, rate: own }: Principal, { endUser, tags, rate }: NewClientToken): void {
  checkKeyLimits({ endUser: endUser ?? null, tags: tags ?? [], rate: rate ?? null });
  if (endUser != null && stamps?.endUser != null && stamps.endUser !== endUser)
    throw invalid('endUser must be that of the key', 'endUser');
  if (new Set([...(stamps?.tags ?? []), ...(tags ?? [])]).size > MAX_TAGS)
    throw invalid(`tags must be at most ${MAX_TAGS}, those of the key among them`, 'tags');
  for (const name of ['rpm', 'burst'] as const)
    if (rate != null && rate[name] > own[name])
      throw invalid(`rate.${name} must be at most ${own[name]}`, 'rate');
}

/** @see ClientTokenService */
export function createClientTokenService({ database }: { database: Database }): ClientTokenService {
  return {
    async create(maker, input) {
      const scopes = checkScopes(maker, input.scopes);
      const ttl = checkTtl(input.ttlSeconds);
      checkLimits(maker, input);
      const { endUser = null, rate = null, bound = null } = input;
      const tags = [...new Set(input.tags ?? [])];
      const token = `ct_${randomBytes(32).toString('hex')}`;
      const id = newId('ctk');
      const values = [
        ...[id, maker.keyId, hash('sha256', token, 'buffer'), scopes, ttl, endUser, tags],
        ...[rate?.rpm ?? null, rate?.burst ?? null, bound?.kind ?? null, bound?.id ?? null],
      ];
      const [made] = await database.allTenants(async (em) => {
        const sql = sqlOf(em);
        await sql.query(FORGET_TOKENS, [maker.orgId]);
        const rows = await sql.query<{ expires_ms: number }>(INSERT_TOKEN, values);
        if (input.cap != null && rows.length > 0)
          await sql.query(INSERT_TOKEN_BUDGET, [newId('bud'), input.cap.unit, `${input.cap.most}`, id]);
        return rows;
      });
      if (made === undefined) throw new ApiError('unauthorized', 'Invalid or missing API key');
      return { token, clientToken: { id, scopes, expiresAt: new Date(made.expires_ms) } };
    },
  };
}
