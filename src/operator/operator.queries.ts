/** Operators' statements over all organisations, by the system role: nothing else of the API reads so. */

const SEARCHED = `($1::text IS NULL OR o.id = $1 OR o.name ILIKE $2 OR o.id IN (
        SELECT m.org_id FROM members m JOIN users u ON u.id = m.user_id WHERE lower(u.email) = lower($1)))
      AND ($3::text IS NULL OR o.plan_code = $3)`;

/**
 * A page of organisations with what stands beside them, newest first. A balance that no call has opened in this period yet is shown as its first
 * caller will find it; nothing is locked. $1: text, $2: the text as a pattern, $3: plan, $4, $5: the ids between which the page is, $6: rows.
 */
export const organizationsStatement = (backwards: boolean) => ({
  name: `penstock_operated_organizations${backwards ? '_backwards' : ''}`,
  text: `SELECT o.id, o.name, o.plan_code AS "planCode", o.subscription_ends_at AS "endsAt", o.created_at AS "createdAt",
      clock_timestamp() AS "readAt", p.period_end AS "periodEnd",
      (SELECT count(*) FROM members m WHERE m.org_id = o.id)::int AS members,
      (SELECT count(*) FROM api_keys k WHERE k.org_id = o.id AND k.session_id IS NULL AND k.revoked_at IS NULL)::int AS keys,
      (SELECT penstock_balance_show(b) FROM balances b WHERE b.org_id = o.id AND NOT b.superseded)::json AS balance
    FROM organizations o CROSS JOIN LATERAL penstock_period(o.anchor_at, clock_timestamp()) p
    WHERE ${SEARCHED} AND ($4::text IS NULL OR o.id < $4) AND ($5::text IS NULL OR o.id > $5)
    ORDER BY o.id ${backwards ? 'ASC' : 'DESC'} LIMIT $6`,
});

/** How many a search finds. */
export const COUNT_ORGANIZATIONS = {
  name: 'penstock_operated_organizations_count',
  text: `SELECT count(*)::float8 AS organizations FROM organizations o WHERE ${SEARCHED}`,
};

/** Open work of all kinds by its state. Each part uses a partial index or ends at 100,000 rows. */
export const QUEUES = {
  name: 'penstock_queue_depths',
  text: `WITH open (queue, part, status, created_at) AS (
      (SELECT 'jobs', tool, status, created_at FROM jobs WHERE status IN ('pending', 'processing') LIMIT 100000)
      UNION ALL (SELECT 'agent_runs', NULL, CASE WHEN worker_id IS NULL THEN 'pending' ELSE 'processing' END, created_at
        FROM agent_runs WHERE status = 'running' LIMIT 100000)
      UNION ALL (SELECT 'responses', NULL, CASE WHEN worker_id IS NULL THEN 'pending' ELSE 'processing' END, created_at
        FROM responses WHERE status IN ('queued', 'in_progress') AND request IS NOT NULL LIMIT 100000)
      UNION ALL (SELECT 'knowledge_files', NULL, status, created_at FROM knowledge_files WHERE status IN ('pending', 'processing') LIMIT 100000)
      UNION ALL (SELECT 'deliveries', NULL, CASE WHEN next_attempt_at <= clock_timestamp() THEN 'due' ELSE 'waiting' END, created_at
        FROM webhook_deliveries WHERE status = 'pending' LIMIT 100000)
      UNION ALL (SELECT 'outbox', NULL, 'pending', created_at FROM outbox LIMIT 100000)
      UNION ALL (SELECT 'dead_letters', NULL, 'failed', created_at FROM dead_letters LIMIT 100000))
    SELECT queue, part, status, count(*)::int AS count, GREATEST(0, extract(epoch FROM clock_timestamp() - min(created_at)))::float8 AS "oldestSeconds"
    FROM open GROUP BY queue, part, status ORDER BY queue, part, status`,
};
