/** Statements of organisations that lock, call SQL functions or notify; all else goes through the entity (access.entity.ts). */

/**
 * Serialises changes of one organisation (its plan, its members). `NO KEY` because a transaction that begins a period locks the balance, for
 * which a change of plan waits, and then refers to the organisation: `FOR UPDATE` would deadlock.
 */
export const LOCK = 'SELECT 1 FROM organizations WHERE id = $1 FOR NO KEY UPDATE';

/** If several processes start for the first time at once, one of them makes the demo organisation. */
export const LOCK_DEMO = 'SELECT pg_advisory_xact_lock(7265003)';

/** Opens a balance with the new allowance, in the transaction that has written the plan. */
export const PLAN_CHANGED = 'SELECT penstock_plan_changed($1, $2::bigint[])';

export const EMIT = `SELECT penstock_emit('events', $1, $2::jsonb)`;

/** Emits an event with a type and data; the database gives it an id and a time. */
export const EMIT_NEW = `SELECT penstock_emit('events', $2, penstock_event($1, $2, $3::jsonb))`;

/** At the commit, every process drops the organisation and its members from its cache. */
export const NOTIFY_CHANGED = `SELECT pg_notify('penstock_org_changed', $1)`;
