-- Binds a created object to an Idempotency-Key, in the transaction that creates the object. After the commit a retry
-- finds the object, even if the process dies. If another request has taken the key over, the transaction fails.
CREATE OR REPLACE FUNCTION penstock_idempotency_bind(p_row text, p_job text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency_keys SET job_ids = CASE WHEN p_job = ANY (job_ids) THEN job_ids ELSE job_ids || p_job END
    WHERE id = p_row AND state = 'in_flight';
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the Idempotency-Key is another request''s by now' USING ERRCODE = 'PSKEY';
  END IF;
END
$$;
