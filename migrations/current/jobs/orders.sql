-- What upstreams were ordered to make for a job: `{engine: reference}`. It belongs to the job, not to an attempt, so
-- that the next attempt finds it; only the attempt that holds the job adds to it.
CREATE OR REPLACE FUNCTION penstock_job_order(p_worker text, p_id text, p_fence int, p_engine text, p_reference text)
RETURNS boolean LANGUAGE sql AS $$
  WITH noted AS (
    UPDATE jobs SET orders = COALESCE(orders, '{}') || jsonb_build_object(p_engine, p_reference)
    WHERE id = p_id AND status = 'processing' AND worker_id = p_worker AND fence = p_fence RETURNING 1
  )
  SELECT EXISTS (SELECT 1 FROM noted)
$$;

-- The reference says which order is meant: no fence is needed, and the job may have ended meanwhile.
CREATE OR REPLACE FUNCTION penstock_job_order_withdrawn(p_id text, p_engine text, p_reference text) RETURNS void LANGUAGE sql AS $$
  UPDATE jobs SET orders = NULLIF(orders - p_engine, '{}') WHERE id = p_id AND orders ->> p_engine = p_reference
$$;

-- A job that failed in its worker's hands has no order left to take back.
CREATE OR REPLACE FUNCTION penstock_job_orders_forget(p_id text) RETURNS void LANGUAGE sql AS $$
  UPDATE jobs SET orders = NULL WHERE id = p_id AND status = 'failed' AND orders IS NOT NULL
$$;

-- Orders that nobody took back when their job ended: it was pending, or its worker was lost. Whoever gets them is the
-- only one.
CREATE OR REPLACE FUNCTION penstock_job_orders_left(p_older_than_ms int) RETURNS TABLE (id text, tool text, orders jsonb) LANGUAGE sql AS $$
  WITH abandoned AS (
    SELECT j.id, j.tool, j.orders FROM jobs j
    WHERE j.orders IS NOT NULL AND j.status IN ('cancelled', 'failed')
      AND j.completed_at < clock_timestamp() - p_older_than_ms * interval '1 ms'
    ORDER BY j.id LIMIT 20 FOR UPDATE SKIP LOCKED
  ), taken AS (
    UPDATE jobs j SET orders = NULL FROM abandoned a WHERE j.id = a.id
  )
  SELECT a.id, a.tool, a.orders FROM abandoned a
$$;
