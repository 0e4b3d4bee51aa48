import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { BudgetRule } from '../contract/budgets.js';
import type { Logger } from 'pino';
import type { Database } from '../database/index.js';
import { ApiError } from '../contract/errors.js';
import type { BoundKind, MemberRole, PlanCode, Scope } from '../contract/words.js';
import type {
  Authenticator,
  ClientTokenGrant,
  Plan,
  PlanCatalogue,
  Principal,
  SessionCredential,
} from './access.types.js';
import { BY_HASH, BY_ID, BY_SESSION, TOKEN_BY_HASH, TOKEN_BY_ID } from './authenticator.queries.js';
import { isClientToken } from './client-tokens.js';
import { effectivePlan } from './effective-plan.js';
import { createInvalidations } from './invalidations.js';
import { isKey } from './keys.js';
import { ensureSessionKey, sessionEnded } from './people/session-keys.queries.js';
import { createLastUsedWriter } from './last-used-writer.js';

const CACHE_SIZE = 10_000;
/** Changes are pushed by NOTIFY; this limits how long a lost notification can matter. Admission checks the key again anyway. */
const MAX_AGE_MS = 10_000;

interface Row {
  key_id: string;
  key_name: string;
  org_id: string;
  user_id: string;
  scopes: Scope[];
  expires_at: Date | null;
  revoked: boolean;
  expired: boolean;
  models: string[] | null;
  rate_rpm: number | null;
  rate_burst: number | null;
  end_user: string | null;
  tags: string[];
  is_router: boolean;
  plan_code: PlanCode;
  subscription_ends_at: Date | null;
  version: number;
  /** Null: it has none. */
  budgets: (Omit<BudgetRule, 'cap'> & { cap: string })[] | null;
  /** The database's clock at the read. It decides (decisions 2); this process's clock may differ. */
  read_at: Date;
  /** Null: an API key. */
  session_id: string | null;
  /** The role of a session's person. */
  role: MemberRole | null;
  /** Of a client token alone. */
  token_id?: string;
  token_rpm?: number | null;
  token_burst?: number | null;
  bound_kind?: BoundKind | null;
  bound_id?: string | null;
}

interface Entry {
  row: Row;
  principal: Principal;
  /** The plans that `principal` was made from. After a reload of the plans it is made again. */
  plans: PlanCatalogue['plans'];
  /** By `performance.now()`: a wall clock that is set back would keep the entry too long. */
  loadedAt: number;
  /** The database's clock minus `performance.now()`, in milliseconds. */
  clockOffset: number;
}

const refused = (): ApiError => new ApiError('unauthorized', 'Invalid or missing API key');
const expired = ({ token_id }: Row): ApiError =>
  new ApiError('unauthorized', `${token_id === undefined ? 'API key' : 'Client token'} has expired`);

/** The text of a key or of a client token. */
function keyOf(authorization: string | string[] | undefined): string {
  const header =
    Array.isArray(authorization) && authorization.length === 1 ? authorization[0] : authorization;
  if (typeof header !== 'string' || header.length > 200) throw refused();
  const key = /^bearer +(\S+)$/i.exec(header)?.[1];
  if (key === undefined || !(isKey(key) || isClientToken(key))) throw refused();
  return key;
}

/** In the cache a client token's hash begins with this, which no hash does. */
const TOKEN_MARK = '.';

/** The hash of a key as the cache's key: as text, which needs a fifth of the memory of a Buffer. */
const nameOf = (key: string): string =>
  isClientToken(key) ? TOKEN_MARK + hash('sha256', key, 'base64') : hash('sha256', key, 'base64');

const sessionName = ({ token, orgId }: SessionCredential): string =>
  hash('sha256', `session ${token} ${orgId ?? ''}`, 'base64');

/** The key's own window where it is the smaller one. */
function rateOf({ rate_rpm: rpm, rate_burst: burst }: Row, { rate }: Plan): Plan['rate'] {
  if (rpm === null || burst === null) return rate;
  return { rpm: Math.min(rpm, rate.rpm), burst: Math.min(burst, rate.burst) };
}

function toPrincipal(row: Row, catalogue: PlanCatalogue, now: Date = row.read_at): Principal {
  const state = { planCode: row.plan_code, subscriptionEndsAt: row.subscription_ends_at };
  const plans = effectivePlan(catalogue, state, now);
  return {
    keyId: row.key_id,
    keyName: row.key_name,
    orgId: row.org_id,
    userId: row.user_id,
    scopes: new Set(row.scopes),
    ...plans,
    rate: rateOf(row, plans.plan),
    models: row.models,
    isRouter: row.is_router,
    ...(row.end_user === null && row.tags.length === 0
      ? {}
      : { stamps: { endUser: row.end_user, tags: row.tags } }),
    orgVersion: row.version,
    ...(row.budgets == null
      ? {}
      : { budgets: row.budgets.map((budget) => ({ ...budget, cap: BigInt(budget.cap) })) }),
    expiresAt: row.expires_at?.toISOString() ?? null,
    ...(row.session_id === null || row.role === null
      ? {}
      : { person: { sessionId: row.session_id, role: row.role } }),
    ...(row.token_id === undefined ? {} : { token: grantOf(row, row.token_id) }),
  };
}

function grantOf(
  { token_rpm: rpm, token_burst: burst, bound_kind, bound_id }: Row,
  id: string,
): ClientTokenGrant {
  return {
    id,
    rate: rpm == null || burst == null ? null : { rpm, burst },
    bound: bound_kind == null || bound_id == null ? null : { kind: bound_kind, id: bound_id },
  };
}

/** Whether the key belongs to a session. Such a key expires with its session and ends with the membership. */
const isSession = ({ session_id }: Row): boolean => session_id !== null;

function usable(row: Row | undefined): Row {
  if (row !== undefined && isSession(row) && (row.revoked || row.expired || row.role === null))
    throw sessionEnded();
  if (row === undefined || row.revoked) throw refused();
  if (row.expired) throw expired(row);
  return row;
}

function entryOf(row: Row, plans: PlanCatalogue): Entry {
  const loadedAt = performance.now();
  const clockOffset = row.read_at.getTime() - loadedAt;
  return { row, principal: toPrincipal(row, plans), plans: plans.plans, loadedAt, clockOffset };
}

/** An LRU cache of keys, by their hash. */
function createCache(plans: PlanCatalogue) {
  const entries = new LRUCache<string, Entry>({ max: CACHE_SIZE });
  return {
    entries,
    add(hash: string, row: Row): Entry {
      const entry = entryOf(row, plans);
      entries.set(hash, entry);
      return entry;
    },
    removeWhere(condition: (row: Row) => boolean): void {
      for (const [hash, entry] of entries) if (condition(entry.row)) entries.delete(hash);
    },
  };
}

/** The entry's principal as of now. Since the read, its subscription or its key may have ended, or the plans may have been reloaded. */
function current(entry: Entry, plans: PlanCatalogue): Principal {
  const now = performance.now() + entry.clockOffset;
  if (entry.row.expires_at !== null && entry.row.expires_at.getTime() <= now)
    throw isSession(entry.row) ? sessionEnded() : expired(entry.row);
  const ended = entry.row.subscription_ends_at !== null && entry.row.subscription_ends_at.getTime() <= now;
  if (entry.plans !== plans.plans || ended === entry.principal.entitled) {
    entry.principal = toPrincipal(entry.row, plans, new Date(now));
    entry.plans = plans.plans;
  }
  return entry.principal;
}

/** Finds the principal of a key in the cache or the database. A row that was read while a change arrived is used once but not cached. */
function createRecognizer(database: Database, plans: PlanCatalogue) {
  const cache = createCache(plans);
  const loading = new Map<string, Promise<Entry>>();
  /** Increases with each notification: a row that was read before it may be stale and is not cached. */
  let epoch = 0;
  const read = async (name: string, session: SessionCredential | undefined): Promise<Row[]> => {
    if (session === undefined && name.startsWith(TOKEN_MARK))
      return await database.system.query<Row>(TOKEN_BY_HASH, [Buffer.from(name.slice(1), 'base64')]);
    if (session === undefined)
      return await database.system.query<Row>(BY_HASH, [Buffer.from(name, 'base64')]);
    const { sessionId, orgId } = await ensureSessionKey(database.system, session);
    return await database.system.query<Row>(BY_SESSION, [sessionId, orgId]);
  };
  const load = async (name: string, session: SessionCredential | undefined): Promise<Entry> => {
    const seen = epoch;
    const [found] = await read(name, session);
    if (found === undefined && session !== undefined) throw sessionEnded();
    const row = usable(found);
    if (seen === epoch) return cache.add(name, row);
    return entryOf(row, plans);
  };
  const find = (name: string, session: SessionCredential | undefined): Promise<Entry> => {
    const running = loading.get(name);
    if (running !== undefined) return running;
    const attempt = load(name, session).finally(() => {
      if (loading.get(name) === attempt) loading.delete(name);
    });
    loading.set(name, attempt);
    return attempt;
  };
  return {
    recognize(name: string, session?: SessionCredential): Principal | Promise<Principal> {
      const known = cache.entries.get(name);
      const fresh = known !== undefined && performance.now() - known.loadedAt < MAX_AGE_MS;
      return fresh ? current(known, plans) : find(name, session).then((entry) => current(entry, plans));
    },
    forget(condition: (row: Row) => boolean): void {
      epoch += 1;
      loading.clear();
      cache.removeWhere(condition);
    },
  };
}

/** @see Authenticator */
export function createAuthenticator(options: {
  database: Database;
  plans: PlanCatalogue;
  logger: Logger;
}): Authenticator {
  const { database, plans, logger } = options;
  const { recognize: named, forget } = createRecognizer(database, plans);
  const marks = createLastUsedWriter({ sql: database.system, logger });
  const invalidations = createInvalidations({ database, logger });
  const unsubscribe = [
    database.hints.on('key_invalid', (keyId) => forget((row) => row.key_id === keyId)),
    database.hints.on('key_changed', (keyId) => forget((row) => row.key_id === keyId)),
    database.hints.on('org_changed', (orgId) => forget((row) => row.org_id === orgId)),
    database.hints.onReconnect(() => forget(() => true)),
  ];
  const marked = (principal: Principal): Principal => {
    marks.add(principal.keyId);
    return principal;
  };
  const recognize: Authenticator['recognize'] = (authorization, session) => {
    const principal =
      authorization === undefined && session !== undefined
        ? named(sessionName(session), session)
        : named(nameOf(keyOf(authorization)));
    return principal instanceof Promise ? principal.then(marked) : marked(principal);
  };

  return {
    authenticate: async (authorization, session) => await recognize(authorization, session),
    recognize,
    async refresh({ keyId, token, cappedBy }) {
      forget((row) => row.key_id === keyId);
      const rows = await (token === undefined
        ? database.system.query<Row>(BY_ID, [keyId, cappedBy ?? null])
        : database.system.query<Row>(TOKEN_BY_ID, [token.id]));
      const principal = toPrincipal(usable(rows[0]), plans);
      return cappedBy === undefined ? principal : { ...principal, cappedBy };
    },
    onInvalidated: invalidations.on,
    async close() {
      for (const stop of unsubscribe) stop();
      invalidations.close();
      await marks.close();
    },
  };
}
