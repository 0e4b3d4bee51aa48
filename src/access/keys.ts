import { hash, randomBytes } from 'node:crypto';
import { raw } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { sqlOf } from '../database/index.js';
import type { Database } from '../database/index.js';
import { invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { SCOPES } from '../contract/words.js';
import type { Scope } from '../contract/words.js';
import { ApiKey, Organization } from './access.entity.js';
import type { ApiKeyRow } from './access.entity.js';
import { NOTIFY_INVALID } from './key.queries.js';
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
}

export interface NewKey {
  orgId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt?: Date | null;
  /** Default: the organisation's service user. A person is recorded as the key's creator. */
  userId?: string;
}

/** Makes, revokes and lists keys; the full key exists only in the answer to `create`. */
export interface KeyService {
  /** @throws ApiError invalid_request for an empty name or no scope, not_found for an unknown organisation */
  create(input: NewKey): Promise<KeyRecord & { key: string }>;
  /** Revokes the key immediately on every process, permanently. A repeated call returns the first revocation's time. @throws ApiError not_found */
  revoke(keyId: string, orgId?: string): Promise<{ id: string; revokedAt: string }>;
  /** @param createdBy only the keys of one creator, who may have left: an email address (case-insensitive), or `command line` */
  list(orgId: string, createdBy?: string | null): Promise<KeyRecord[]>;
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
  };
}

function check(input: NewKey): void {
  if (input.name.trim() === '') throw invalid('name is required', 'name');
  if (input.name.length > 200) throw invalid('name must have at most 200 characters', 'name');
  if (input.scopes.length === 0) throw invalid('scopes must name at least one scope', 'scopes');
  const unknown = input.scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) throw invalid(`Unknown scope: ${unknown}`, 'scopes');
}

/** What `create` does, for use inside a transaction. */
export async function insertKey(em: EntityManager, input: NewKey): Promise<KeyRecord & { key: string }> {
  check(input);
  const { orgId, name, userId } = input;
  const organization = await em.findOne(Organization, { id: orgId });
  if (organization === null) throw notFound('Organization not found');
  const person = userId === undefined ? null : await em.findOne(User, { id: userId, kind: 'person' });
  const key = `sk_${randomBytes(32).toString('hex')}`;
  const made = em.create(ApiKey, {
    id: newId('key'),
    orgId,
    userId: userId ?? organization.serviceUserId,
    name,
    prefix: key.slice(0, PREFIX_LENGTH),
    hash: hashKey(key),
    scopes: SCOPES.filter((scope) => input.scopes.includes(scope)),
    expiresAt: input.expiresAt ?? null,
    madeBy: person?.email ?? null,
  });
  await em.flush();
  return { ...toRecord(made), key };
}

export function createKeyService({ database }: { database: Database }): KeyService {
  return {
    create: (input) => database.allTenants((em) => insertKey(em, input)),
    revoke: (id, orgId) =>
      database.allTenants(async (em) => {
        const key = { id, sessionId: null, ...(orgId === undefined ? {} : { orgId }) };
        // Of several simultaneous revocations, the first one's time is kept.
        await em.nativeUpdate(
          ApiKey,
          { ...key, revokedAt: null },
          { revokedAt: raw<Date>('clock_timestamp()') },
        );
        const revoked = await em.findOne(ApiKey, key);
        if (revoked?.revokedAt == null) throw notFound('API key not found');
        await sqlOf(em).query(NOTIFY_INVALID, [id]);
        return { id, revokedAt: revoked.revokedAt.toISOString() };
      }),
    list: (orgId, createdBy = null) =>
      database.tenant(orgId, async (em) => {
        const where = { orgId, sessionId: null, ...madeBy(createdBy) };
        return (await em.find(ApiKey, where, { orderBy: { id: 'asc' } })).map(toRecord);
      }),
  };
}

/** @param maker an email address (case-insensitive), or `command line`; null: any */
function madeBy(maker: string | null) {
  if (maker === null) return {};
  const wanted = maker.trim().toLowerCase();
  if (wanted === COMMAND_LINE) return { madeBy: null };
  return { [raw((alias) => `lower(${alias}.made_by)`)]: wanted };
}
