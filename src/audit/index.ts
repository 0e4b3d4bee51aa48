export { actAs, currentlyActing, OPERATOR } from './acting.js';
export { auditEntities } from './audit.entity.js';
export { createAuditLog } from './audit-log.js';
export { ACTOR_KINDS, AUDIT_ACTIONS } from './audit.types.js';
export type {
  Acting,
  Actor,
  ActorKind,
  AuditAction,
  AuditChange,
  AuditEntry,
  AuditFields,
  AuditFilter,
  AuditLog,
} from './audit.types.js';
export { recordChange } from './record.js';
