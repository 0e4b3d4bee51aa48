import type { Page, PageQuery } from '../collections/page.js';

/** What is recorded in the audit log (beyond 13.9): one word for each kind of change. */
export const AUDIT_ACTIONS = [
  'organization_created',
  'plan_changed',
  'subscription_cancelled',
  'quota_topped_up',
  'quota_set',
  'key_created',
  'key_updated',
  'key_rotated',
  'key_revoked',
  'member_added',
  'member_role_changed',
  'member_removed',
  'sign_in_link_created',
  'password_set',
  'password_changed',
  'webhook_created',
  'webhook_updated',
  'webhook_deleted',
  'webhook_secret_rotated',
  'webhook_recovered',
  'webhook_disabled',
  'budget_created',
  'budget_updated',
  'budget_deleted',
  'agent_published',
  'agent_unpublished',
  'documents_published',
  'dead_letters_replayed',
  'database_migrated',
  'topics_created',
  'usage_rebuilt',
  'operator_added',
  'operator_removed',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const ACTOR_KINDS = ['person', 'key', 'operator', 'system'] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

/** Who changes something: a person who is signed in, an API key, an operator (at the command line, or signed in), or Penstock itself. */
export interface Actor {
  kind: ActorKind;
  /** Of the person or the key; null: the command line. */
  id: string | null;
  /** The key's name, or the person's email address; null of a person: it is looked up. */
  name: string | null;
}

/** Who changes something, and from which address: a client's as TRUST_PROXY has it, or `cli`. */
export interface ActorContext {
  actor: Actor;
  address: string | null;
}

/** The fields of something before or after its change. Never a secret. */
export type AuditFields = Readonly<Record<string, unknown>>;

/** One change, as the code that makes it tells it. */
export interface AuditChange {
  /** Null: the installation's own. */
  orgId: string | null;
  action: AuditAction;
  subject: { id: string | null; name?: string | null };
  /** Absent: it was made. */
  before?: AuditFields;
  /** Absent: it is gone. */
  after?: AuditFields;
  /** Hides what is secret of the fields that differ; they are compared as they are. */
  mask?(fields: AuditFields): AuditFields;
  /** Where the work itself finds out who acts. Default: who {@link ActorContext} names. */
  actor?: Actor;
}

/** A row of the log. */
export interface AuditEntry {
  id: string;
  at: Date;
  actor: Actor;
  address: string | null;
  action: AuditAction;
  subject: { id: string | null; name: string | null };
  before: AuditFields | null;
  after: AuditFields | null;
}

/** Null and absent: any. */
export interface AuditFilter {
  since?: Date | null;
  until?: Date | null;
  /** Ids of people and keys, or `operator` and `system`. */
  actors?: readonly string[] | null;
  actions?: readonly AuditAction[] | null;
  /** Ids of what was changed. */
  subjects?: readonly string[] | null;
}

export interface AuditLog {
  /** Newest first. @throws ApiError invalid_request for a cursor that is none, too long a list, or until before since */
  list(orgId: string, page: PageQuery & { filter: AuditFilter }): Promise<Page<AuditEntry>>;
  /** Those of these ids that the organisation has. */
  getMany(orgId: string, ids: readonly string[]): Promise<AuditEntry[]>;
}
