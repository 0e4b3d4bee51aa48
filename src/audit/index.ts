export { actAs, currentActor, OPERATOR } from './actor-context.js';
export { auditEntities } from './audit.entity.js';
export { createAuditLog } from './audit-log.js';
export { ACTOR_KINDS, AUDIT_ACTIONS } from './audit.types.js';
export type {
  ActorContext,
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
