/** Statements of organisations that are mechanisms; all else goes through their entity (access.entity.ts). */

/**
 * Changes of one organisation, its plan and its members, wait for each other. No key is changed: who begins a period holds its balance, for which a
 * change of the plan waits, and refers to the organisation.
 */
export const LOCK = 'SELECT 1 FROM organizations WHERE id = $1 FOR NO KEY UPDATE';

/** Of several first starts one makes the demo organisation. */
export const LOCK_DEMO = 'SELECT pg_advisory_xact_lock(7265003)';

/** Opens the balance of the new allowance, in the transaction that has written the plan. */
export const PLAN_CHANGED = 'SELECT penstock_plan_changed($1, $2::bigint[])';

export const EMIT = `SELECT penstock_emit('events', $1, $2::jsonb)`;

/** An event of a type and its data; the database names it and gives it its time. */
export const EMIT_NEW = `SELECT penstock_emit('events', $2, penstock_event($1, $2, $3::jsonb))`;

/** Whoever cached the organisation or its members hears of it at the commit. */
export const NOTIFY_CHANGED = `SELECT pg_notify('penstock_org_changed', $1)`;
