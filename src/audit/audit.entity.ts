import { defineEntity, p } from '@mikro-orm/postgresql';
import type { InferEntity } from '@mikro-orm/postgresql';
import { tenantFilter } from '../database/index.js';
import type { ActorKind, AuditAction, AuditEntry, AuditFields } from './audit.types.js';

/** A row of the audit log; only `recordChange` writes it. */
export const AuditEntity = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_log',
  properties: {
    id: p.text().primary(),
    /** Null: what an operator changed of the installation. */
    orgId: p.text().nullable(),
    at: p.datetime().defaultRaw('clock_timestamp()'),
    actorKind: p.text().$type<ActorKind>(),
    actorId: p.text().nullable(),
    actorName: p.text().nullable(),
    address: p.text().nullable(),
    action: p.text().$type<AuditAction>(),
    subjectId: p.text().nullable(),
    subjectName: p.text().nullable(),
    before: p.json<AuditFields>().nullable(),
    after: p.json<AuditFields>().nullable(),
  },
  filters: tenantFilter(),
});

export const auditEntities = [AuditEntity];

export function toAuditEntry(row: InferEntity<typeof AuditEntity>): AuditEntry {
  return {
    id: row.id,
    at: row.at,
    actor: { kind: row.actorKind, id: row.actorId ?? null, name: row.actorName ?? null },
    address: row.address ?? null,
    action: row.action,
    subject: { id: row.subjectId ?? null, name: row.subjectName ?? null },
    before: row.before ?? null,
    after: row.after ?? null,
  };
}
