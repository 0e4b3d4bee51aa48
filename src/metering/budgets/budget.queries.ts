/** Statements of budgets that lock, count or read counters; all others use the entity. */

/**
 * Gives the organisation a new version, so that no process admits a call with the old budgets, and locks its row, so that changes of
 * one organisation run one after the other. Calls never wait for that lock.
 */
export const NEW_VERSION = 'UPDATE organizations SET version = version + 1 WHERE id = $1 RETURNING 1';

/** At the commit, every process reads the organisation's keys and budgets again. */
export const NOTIFY = `SELECT pg_notify('penstock_org_changed', $1)`;

/** Unix milliseconds, as text. */
const milliseconds = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::bigint::text`;

/** For each budget, the sum of the current period's counters; `$2` null: all budgets of the organisation. */
export const FIGURES = `
SELECT b.id, ${milliseconds('greatest(b.created_at, p.start)')} AS counts_from,
  ${milliseconds('penstock_budget_end(b.period, p.now)')} AS resets_at,
  COALESCE(sum(c.spent), 0)::text AS spent, COALESCE(sum(c.reserved), 0)::text AS reserved
FROM budgets b
CROSS JOIN LATERAL (SELECT clock_timestamp() AS now, penstock_budget_start(b.period, clock_timestamp()) AS start) p
LEFT JOIN budget_counters c ON c.budget_id = b.id AND c.period_start = p.start
WHERE b.org_id = $1 AND b.token_id IS NULL AND b.id = ANY ($2::text[])
GROUP BY b.id, p.start, p.now`;

/** The amounts of counters, by their budgets' ids and subjects. */
export const CALLERS_FIGURES = `
SELECT b.id, v.subject, ${milliseconds('greatest(b.created_at, p.start)')} AS counts_from,
  ${milliseconds('penstock_budget_end(b.period, p.now)')} AS resets_at,
  COALESCE(c.spent, 0)::text AS spent, COALESCE(c.reserved, 0)::text AS reserved
FROM unnest($2::text[], $3::text[]) WITH ORDINALITY v (budget, subject, nth) JOIN budgets b ON b.id = v.budget AND b.org_id = $1
CROSS JOIN LATERAL (SELECT clock_timestamp() AS now, penstock_budget_start(b.period, clock_timestamp()) AS start) p
LEFT JOIN budget_counters c ON c.budget_id = b.id AND c.period_start = p.start AND c.subject = v.subject
ORDER BY v.nth`;

/** The current period's counters of a budget, by subject, after one. */
const COUNTED = `budgets b JOIN budget_counters c
  ON c.budget_id = b.id AND c.period_start = penstock_budget_start(b.period, clock_timestamp())
WHERE b.org_id = $1 AND b.id = $2`;

export const subjectsStatement = (backwards: boolean): string => `
SELECT c.subject, c.spent::text AS spent, c.reserved::text AS reserved
FROM ${COUNTED} AND ($3::text IS NULL OR c.subject > $3 COLLATE "C") AND ($4::text IS NULL OR c.subject < $4 COLLATE "C")
ORDER BY c.subject ${backwards ? 'DESC' : 'ASC'} LIMIT $5`;

export const COUNT_SUBJECTS = `SELECT count(*)::float8 AS subjects FROM ${COUNTED}`;

/** Counters of a budget, locked in the order in which calls lock them. */
const LOCKED = 'SELECT c.id FROM budget_counters c WHERE c.budget_id = $1 ORDER BY c.id FOR UPDATE';

/** Updates the counters after a change of the limit or the thresholds. */
export const MARK_COUNTERS = `
WITH locked AS MATERIALIZED (${LOCKED})
UPDATE budget_counters c SET fires_at = penstock_budget_fires_at(b.cap, b.thresholds, c.fired)
FROM locked l, budgets b WHERE c.id = l.id AND b.id = $1`;

export const DELETE_COUNTERS = `
WITH locked AS MATERIALIZED (${LOCKED})
DELETE FROM budget_counters c USING locked l WHERE c.id = l.id`;

export const FORGET_COUNTERS = {
  name: 'penstock_budget_forget',
  text: 'SELECT penstock_budget_forget($1) AS forgotten',
};
