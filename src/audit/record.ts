import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '../contract/ids.js';
import { sqlOf } from '../database/index.js';
import type { Sql } from '../database/index.js';
import { currentActor } from './actor-context.js';
import { INSERT_AUDIT } from './audit.queries.js';
import type { AuditChange, AuditFields } from './audit.types.js';

/** The fields of `fields` that `others` has not, or has otherwise. */
function differing(fields: AuditFields, others: AuditFields): AuditFields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !isDeepStrictEqual(value, others[name])),
  );
}

/**
 * Records a change in the audit log (beyond 13.9), in the transaction that makes the change. Of a thing that was there before and after, the
 * fields that differ are kept; where none differs, nothing changed and nothing is recorded. Neither `before` nor `after` may have a secret.
 */
export async function recordChange(transaction: EntityManager | Sql, change: AuditChange): Promise<void> {
  const { orgId, action, subject, before, after, mask = (fields) => fields } = change;
  const acting = currentActor();
  const { kind, id, name } = change.actor ?? acting.actor;
  const [was, is] =
    before === undefined || after === undefined
      ? [before, after]
      : [differing(before, after), differing(after, before)];
  if (before !== undefined && after !== undefined && Object.keys({ ...was, ...is }).length === 0) return;
  const text = (fields: AuditFields | undefined) =>
    fields === undefined ? null : JSON.stringify(mask(fields));
  const sql = 'query' in transaction ? transaction : sqlOf(transaction);
  await sql.query(INSERT_AUDIT, [
    ...[newId('aud'), orgId, kind, id, name, acting.address, action],
    ...[subject.id, subject.name ?? null, text(was), text(is)],
  ]);
}
