import { hash, randomBytes } from 'node:crypto';
import { raw } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { recordChange } from '../audit/index.js';
import { badCursor, toPage, oldestFirst } from '../collections/page.js';
import type { Page, PageQuery } from '../collections/page.js';
import type { AuditAction, AuditChange } from '../audit/index.js';
import { sqlOf } from '../database/index.js';
import type { Database } from '../database/index.js';
import { invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { SCOPES } from '../contract/words.js';
import type { Scope } from '../contract/words.js';
import { ApiKey, Organization } from './access.entity.js';
import type { ApiKeyRow } from './access.entity.js';
import { END_TOKENS_OF } from './client-token.queries.js';
import { checkKeyLimits } from './key-limits.js';
import type { KeyLimits } from './key-limits.js';
import { NOTIFY_CHANGED, NOTIFY_INVALID } from './key.queries.js';
import { User } from './people/people.entity.js';

const KEY_FORM = /^sk_[0-9a-f]{64}$/;
const PREFIX_LENGTH = 11;

/** Whether a text has the form of a key; other texts are refused without a query. */
export const isKey = (text: string): boolean => KEY_FORM.test(text);

/** The hash by which the database finds a key (contract 2.16). */
export const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer');

/** A key as lists show it; times are ISO 8601. */
export interface KeyRecord {
  id: string;
  name: string;
  /** The first 11 characters of the key. */
  prefix: string;
  scopes: Scope[];
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
  createdAt: string;
  /** The email address, at that time, of the person who made the key; or `command line`. */
  createdBy: string;
  models: string[] | null;
  rate: { rpm: number; burst: number } | null;
  endUser: string | null;
  tags: string[];
  isRouter: boolean;
}

export interface NewKey extends KeyLimits {
  orgId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt?: Date | null;
  /** Whether it may send documents that are not trusted (beyond 14.8). Default false. */
  isRouter?: boolean;
  /** Default: the organisation's service user. A person is recorded as the key's creator. */
  userId?: string;
}

/** What is to be changed; what is absent stays. */
export type KeyChange = Partial<Pick<NewKey, 'name' | 'scopes' | 'expiresAt'>> & KeyLimits;

/** What everybody in its organisation may know of a key. */
export type KeyName = Pick<KeyRecord, 'id' | 'name' | 'prefix' | 'revokedAt'>;

/** Which keys a page has. */
export interface KeyQuery extends PageQuery {
  /** As of {@link KeyService.list}. */
  createdBy?: string | null;
}

/** Makes, changes, revokes and lists keys; the full key exists only in the answers to `create` and `rotate`. */
export interface KeyService {
  /** @throws ApiError invalid_request for an empty name or no scope, not_found for an unknown organisation */
  create(input: NewKey): Promise<KeyRecord & { key: string }>;
  /** Holds for the key's next call on every process. @throws ApiError invalid_request, not_found for a key that is none or was revoked */
  update(keyId: string, orgId: string, change: KeyChange): Promise<KeyRecord>;
  /**
   * Gives the key another text. The text before stays valid for so long (0 to 604,800 seconds), its open connections beyond that; with 0 they are
   * closed at once.
   * @throws ApiError invalid_request, not_found
   */
  rotate(keyId: string, overlapSeconds: number, orgId?: string): Promise<KeyRecord & { key: string }>;
  /** Revokes the key immediately on every process, permanently. A repeated call returns the first revocation's time. @throws ApiError not_found */
  revoke(keyId: string, orgId?: string): Promise<{ id: string; revokedAt: string }>;
  /** @param createdBy only the keys of one creator, who may have left: an email address (case-insensitive), or `command line` */
  list(orgId: string, createdBy?: string | null): Promise<KeyRecord[]>;
  /** A page of the same keys, oldest first. @throws ApiError invalid_request for a cursor that is none */
  page(orgId: string, query: KeyQuery): Promise<Page<KeyRecord>>;
  /** Those of these ids that the organisation has, revoked ones among them. */
  getMany(orgId: string, ids: readonly string[]): Promise<KeyRecord[]>;
  /** The names of keys, revoked ones among them; what is no key of the organisation is left out. */
  namesOf(orgId: string, ids: readonly string[]): Promise<KeyName[]>;
}

const COMMAND_LINE = 'command line';

function toRecord(row: ApiKeyRow): KeyRecord {
  const { id, name, prefix, scopes } = row;
  return {
    id,
    name,
    prefix,
    scopes,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    revokedAt: row.revokedAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    createdBy: row.madeBy ?? COMMAND_LINE,
    models: row.models ?? null,
    rate: row.rateRpm == null || row.rateBurst == null ? null : { rpm: row.rateRpm, burst: row.rateBurst },
    endUser: row.endUser ?? null,
    tags: row.tags,
    isRouter: row.isRouter,
  };
}

/** What the audit log may show of a key: nothing of its text. */
function auditedOf(row: ApiKeyRow) {
  const { name, scopes, expiresAt, models, rate, endUser, tags } = toRecord(row);
  return { name, scopes, expiresAt, models, rate, endUser, tags };
}

const changeOf = (
  row: ApiKeyRow,
  action: AuditAction,
  fields: Pick<AuditChange, 'before' | 'after'>,
): AuditChange => ({ orgId: row.orgId, action, subject: { id: row.id, name: row.name }, ...fields });

function check({ name, scopes, ...limits }: KeyChange): void {
  if (name !== undefined && name.trim() === '') throw invalid('name is required', 'name');
  if (name !== undefined && name.length > 200) throw invalid('name must have at most 200 characters', 'name');
  if (scopes?.length === 0) throw invalid('scopes must name at least one scope', 'scopes');
  const unknown = scopes?.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) throw invalid(`Unknown scope: ${unknown}`, 'scopes');
  checkKeyLimits(limits);
}

/** The columns of what is given. */
const columnsOf = ({ name, scopes, expiresAt, models, rate, endUser, tags }: KeyChange) => ({
  ...(name === undefined ? {} : { name }),
  ...(scopes === undefined ? {} : { scopes: SCOPES.filter((scope) => scopes.includes(scope)) }),
  ...(expiresAt === undefined ? {} : { expiresAt }),
  ...(models === undefined ? {} : { models: models === null ? null : [...new Set(models)] }),
  ...(rate === undefined ? {} : { rateRpm: rate?.rpm ?? null, rateBurst: rate?.burst ?? null }),
  ...(endUser === undefined ? {} : { endUser }),
  ...(tags === undefined ? {} : { tags: [...new Set(tags)] }),
});

const newKeyText = (): string => `sk_${randomBytes(32).toString('hex')}`;

const noKey = () => notFound('API key not found');

const MAX_OVERLAP_SECONDS = 604_800;

/** @throws ApiError invalid_request */
function checkOverlap(seconds: number): void {
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > MAX_OVERLAP_SECONDS)
    throw invalid(`overlapSeconds must be 0 to ${MAX_OVERLAP_SECONDS}`, 'overlapSeconds');
}

/** What `create` does, for use inside a transaction. */
export async function insertKey(em: EntityManager, input: NewKey): Promise<KeyRecord & { key: string }> {
  check(input);
  const { orgId, name, userId, scopes } = input;
  const organization = await em.findOne(Organization, { id: orgId });
  if (organization === null) throw notFound('Organization not found');
  const person = userId === undefined ? null : await em.findOne(User, { id: userId, kind: 'person' });
  const key = newKeyText();
  const made = em.create(ApiKey, {
    id: newId('key'),
    orgId,
    userId: userId ?? organization.serviceUserId,
    prefix: key.slice(0, PREFIX_LENGTH),
    hash: hashKey(key),
    ...columnsOf(input),
    isRouter: input.isRouter ?? false,
    name,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    madeBy: person?.email ?? null,
  });
  await em.flush();
  await recordChange(em, changeOf(made, 'key_created', { after: auditedOf(made) }));
  return { ...toRecord(made), key };
}

type KeyReader = Pick<KeyService, 'list' | 'page' | 'getMany' | 'namesOf'>;

function createKeyReader(database: Database): KeyReader {
  const getMany = (orgId: string, ids: readonly string[]): Promise<KeyRecord[]> =>
    database.tenant(orgId, async (em) =>
      (await em.find(ApiKey, { orgId, sessionId: null, id: { $in: [...ids] } })).map(toRecord),
    );
  return {
    list: (orgId, createdBy = null) =>
      database.tenant(orgId, async (em) => {
        const where = { orgId, sessionId: null, ...madeBy(createdBy) };
        return (await em.find(ApiKey, where, { orderBy: { id: 'asc' } })).map(toRecord);
      }),
    page: (orgId, query) => pageOf(database, orgId, query),
    getMany,
    namesOf: async (orgId, ids) =>
      (await getMany(orgId, ids)).map(({ id, name, prefix, revokedAt }) => ({ id, name, prefix, revokedAt })),
  };
}

export function createKeyService({ database }: { database: Database }): KeyService {
  return {
    create: (input) => database.allTenants((em) => insertKey(em, input)),
    update: (id, orgId, change) =>
      database.allTenants(async (em) => {
        check(change);
        const key = await em.findOne(ApiKey, { id, orgId, sessionId: null, revokedAt: null });
        if (key === null) throw noKey();
        const before = auditedOf(key);
        em.assign(key, columnsOf(change));
        await em.flush();
        await recordChange(em, changeOf(key, 'key_updated', { before, after: auditedOf(key) }));
        await sqlOf(em).query(NOTIFY_CHANGED, [id]);
        return toRecord(key);
      }),
    rotate: (id, overlapSeconds, orgId) =>
      database.allTenants(async (em) => {
        checkOverlap(overlapSeconds);
        const key = newKeyText();
        const where = { id, sessionId: null, revokedAt: null, ...(orgId === undefined ? {} : { orgId }) };
        const rotated = await em.nativeUpdate(ApiKey, where, {
          hash: hashKey(key),
          prefix: key.slice(0, PREFIX_LENGTH),
          previousHash: raw<Buffer>('hash'),
          previousUntil: raw<Date>(`clock_timestamp() + ${overlapSeconds} * interval '1 second'`),
        });
        const row = rotated === 0 ? null : await em.findOne(ApiKey, where);
        if (row === null) throw noKey();
        // Who has to change a key at once may have lost it, and whoever found it may have made tokens.
        if (overlapSeconds === 0) await sqlOf(em).query(END_TOKENS_OF, [id]);
        await recordChange(em, changeOf(row, 'key_rotated', { after: { overlapSeconds } }));
        await sqlOf(em).query(overlapSeconds === 0 ? NOTIFY_INVALID : NOTIFY_CHANGED, [id]);
        return { ...toRecord(row), key };
      }),
    revoke: (id, orgId) =>
      database.allTenants(async (em) => {
        const key = { id, sessionId: null, ...(orgId === undefined ? {} : { orgId }) };
        // Of several simultaneous revocations, the first one's time is kept.
        const now = await em.nativeUpdate(
          ApiKey,
          { ...key, revokedAt: null },
          { revokedAt: raw<Date>('clock_timestamp()') },
        );
        const revoked = await em.findOne(ApiKey, key);
        if (revoked?.revokedAt == null) throw noKey();
        const revokedAt = revoked.revokedAt.toISOString();
        if (now > 0) await recordChange(em, changeOf(revoked, 'key_revoked', { after: { revokedAt } }));
        await sqlOf(em).query(NOTIFY_INVALID, [id]);
        return { id, revokedAt };
      }),
    ...createKeyReader(database),
  };
}

async function pageOf(
  database: Database,
  orgId: string,
  { createdBy = null, ...page }: KeyQuery,
): Promise<Page<KeyRecord>> {
  const bad = badCursor(page, (cursor) => /^key_[0-9a-z]{26}$/.test(cursor));
  if (bad !== undefined) throw invalid('Invalid cursor', bad);
  const listed = () => ({ orgId, sessionId: null, ...madeBy(createdBy) });
  const { parts, options } = oldestFirst(page);
  const rows = await database.tenant(orgId, (em) => em.find(ApiKey, { $and: [listed(), ...parts] }, options));
  return {
    ...toPage(rows.map(toRecord), page, ({ id }) => id),
    count: () => database.tenant(orgId, (em) => em.count(ApiKey, listed())),
  };
}

/** @param maker an email address (case-insensitive), or `command line`; null: any */
function madeBy(maker: string | null) {
  if (maker === null) return {};
  const wanted = maker.trim().toLowerCase();
  if (wanted === COMMAND_LINE) return { madeBy: null };
  return { [raw((alias) => `lower(${alias}.made_by)`)]: wanted };
}
