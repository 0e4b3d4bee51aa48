import { hash, randomBytes } from 'node:crypto';
import type { Sql, SystemDatabase } from '../database/index.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { SCOPES } from '../contract/words.js';
import type { Scope } from '../contract/words.js';

const KEY_FORM = /^sk_[0-9a-f]{64}$/;
const PREFIX_LENGTH = 11;

/** Whether a text can be a key at all; what cannot is refused without a query. */
export const isKey = (text: string): boolean => KEY_FORM.test(text);

/** What the database knows a key by (contract 2.16). */
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
  /** The address of the person who made it, as it was then; or `command line`. */
  createdBy: string;
}

export interface NewKey {
  orgId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt?: Date | null;
  /** Default: the organisation's service user. A person is noted as its maker. */
  userId?: string;
}

/** Makes, revokes and lists keys; the full key exists only in the answer to `create`. */
export interface KeyService {
  /** @throws ApiError invalid_request for an empty name or no scope, not_found for an unknown organisation */
  create(input: NewKey): Promise<KeyRecord & { key: string }>;
  /** At once on every process, and for ever; again answers the first time. @throws ApiError not_found */
  revoke(keyId: string, orgId?: string): Promise<{ id: string; revokedAt: string }>;
  /** @param createdBy only those of one maker, also of one who has left: an address in any case of its letters, or `command line` */
  list(orgId: string, createdBy?: string | null): Promise<KeyRecord[]>;
}

interface Row {
  id: string;
  name: string;
  prefix: string;
  scopes: Scope[];
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  created_at: Date;
  made_by: string | null;
}

const COLUMNS = 'id, name, prefix, scopes, expires_at, revoked_at, last_used_at, created_at, made_by';

const COMMAND_LINE = 'command line';
const iso = (time: Date | null): string | null => time?.toISOString() ?? null;

function toRecord(row: Row): KeyRecord {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    scopes: row.scopes,
    expiresAt: iso(row.expires_at),
    revokedAt: iso(row.revoked_at),
    lastUsedAt: iso(row.last_used_at),
    createdAt: row.created_at.toISOString(),
    createdBy: row.made_by ?? COMMAND_LINE,
  };
}

function check(input: NewKey): void {
  if (input.name.trim() === '') throw invalid('name is required', 'name');
  if (input.name.length > 200) throw invalid('name must have at most 200 characters', 'name');
  if (input.scopes.length === 0) throw invalid('scopes must name at least one scope', 'scopes');
  const unknown = input.scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown !== undefined) throw invalid(`Unknown scope: ${unknown}`, 'scopes');
}

/** The statement behind `create`, for use inside a transaction. */
export async function insertKey(sql: Sql, input: NewKey): Promise<KeyRecord & { key: string }> {
  check(input);
  const key = `sk_${randomBytes(32).toString('hex')}`;
  const rows = await sql.query<Row>(
    `INSERT INTO api_keys (id, org_id, user_id, name, prefix, hash, scopes, expires_at, made_by)
     SELECT $1, id, COALESCE($3, service_user_id), $4, $5, $6, $7, $8, (SELECT email FROM users WHERE id = $3 AND kind = 'person')
     FROM organizations WHERE id = $2
     RETURNING ${COLUMNS}`,
    [
      newId('key'),
      input.orgId,
      input.userId ?? null,
      input.name,
      key.slice(0, PREFIX_LENGTH),
      hashKey(key),
      SCOPES.filter((scope) => input.scopes.includes(scope)),
      input.expiresAt ?? null,
    ],
  );
  if (rows[0] === undefined) throw new ApiError('not_found', 'Organization not found');
  return { ...toRecord(rows[0]), key };
}

export function createKeyService(options: { database: SystemDatabase }): KeyService {
  const { system } = options.database;
  return {
    create: (input) => insertKey(system, input),
    async revoke(keyId, orgId) {
      const rows = await system.query<{ id: string; revoked_at: Date }>(
        `WITH revoked AS (
           UPDATE api_keys SET revoked_at = COALESCE(revoked_at, clock_timestamp())
           WHERE id = $1 AND ($2::text IS NULL OR org_id = $2) AND session_id IS NULL RETURNING id, revoked_at)
         SELECT id, revoked_at, pg_notify('penstock_key_invalid', id)::text FROM revoked`,
        [keyId, orgId ?? null],
      );
      if (rows[0] === undefined) throw notFound('API key not found');
      return { id: rows[0].id, revokedAt: rows[0].revoked_at.toISOString() };
    },
    async list(orgId, createdBy = null) {
      const rows = await system.query<Row>(
        `SELECT ${COLUMNS} FROM api_keys WHERE org_id = $1 AND session_id IS NULL
           AND ($2::text IS NULL OR lower(COALESCE(made_by, '${COMMAND_LINE}')) = $2) ORDER BY id`,
        [orgId, createdBy === null ? null : createdBy.trim().toLowerCase()],
      );
      return rows.map(toRecord);
    },
  };
}
