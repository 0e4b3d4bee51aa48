/** Gauges and traces: counts over all organisations. */

/** Every part uses a partial index or a limit, so a scrape takes the database about a millisecond, whatever its size. */
export const READ_GAUGES = {
  name: 'metrics_gauges',
  text: `SELECT
    (SELECT COALESCE(jsonb_object_agg(p.tool, p.n), '{}') FROM (
      SELECT j.tool, count(*) AS n FROM (SELECT tool FROM jobs WHERE status = 'pending' LIMIT 100000) j GROUP BY j.tool) p) AS pending,
    (SELECT count(*) FROM jobs WHERE status = 'processing')::int AS processing,
    (SELECT count(*) FROM (SELECT 1 FROM outbox LIMIT 100000) o)::int AS outbox,
    (SELECT COALESCE(extract(epoch FROM clock_timestamp() - created_at), 0) FROM outbox ORDER BY id LIMIT 1)::float8 AS outbox_age,
    (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries WHERE status = 'pending' LIMIT 100000) d)::int AS deliveries,
    (SELECT count(*) FROM (SELECT 1 FROM dead_letters LIMIT 100000) l)::int AS dead_letters,
    (SELECT jsonb_build_object('files', COALESCE(sum(bytes) FILTER (WHERE part = 0), 0),
      'answers', COALESCE(sum(bytes) FILTER (WHERE part > 0), 0)) FROM stored_bytes) AS stored`,
};

export const TRACES_OF_WORK = `SELECT id, client ->> 'traceparent' AS traceparent FROM jobs WHERE id = ANY ($1::text[])
           UNION ALL SELECT id, client ->> 'traceparent' FROM agent_runs WHERE id = ANY ($1::text[])
           UNION ALL SELECT event_id, traceparent FROM event_traces WHERE event_id = ANY ($1::text[])`;
