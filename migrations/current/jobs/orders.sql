-- Stores orders of a job at upstreams: `{engine: reference}`. Orders belong to the job, not to an attempt,
-- so the next attempt finds them. Only the attempt that holds the job can add one.
CREATE OR REPLACE FUNCTION penstock_job_order(p_worker text, p_id text, p_fence int, p_engine text, p_reference text)
RETURNS boolean LANGUAGE sql AS $$
  WITH noted AS (
    UPDATE jobs SET orders = COALESCE(orders, '{}') || jsonb_build_object(p_engine, p_reference)
    WHERE id = p_id AND status = 'processing' AND worker_id = p_worker AND fence = p_fence RETURNING 1
  )
  SELECT EXISTS (SELECT 1 FROM noted)
$$;

-- Deletes an order that was withdrawn at the upstream. The reference identifies the order, so no fence is needed; the
-- job may have ended.
CREATE OR REPLACE FUNCTION penstock_job_order_withdrawn(p_id text, p_engine text, p_reference text) RETURNS void LANGUAGE sql AS $$
  UPDATE jobs SET orders = NULLIF(orders - p_engine, '{}') WHERE id = p_id AND orders ->> p_engine = p_reference
$$;

-- Deletes the orders of a job that failed on its worker: the upstream has ended them, so none is left to withdraw.
CREATE OR REPLACE FUNCTION penstock_job_orders_forget(p_id text) RETURNS void LANGUAGE sql AS $$
  UPDATE jobs SET orders = NULL WHERE id = p_id AND status = 'failed' AND orders IS NOT NULL
$$;

-- Returns and deletes the orders of jobs that ended without a worker to withdraw them: the job was pending, or its
-- worker was lost. Only one caller gets each order.
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
