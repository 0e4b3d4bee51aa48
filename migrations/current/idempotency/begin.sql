-- Decides what a request with an Idempotency-Key may do. A row in flight belongs to a process while the lease of that
-- process is valid. After that, the next request with the same fingerprint takes the row over, with its jobs and the
-- stored part of its answer. The row gets a new id then, so late writes of the previous owner find no row. A process
-- never takes a key over from itself, because it knows its own requests. With the outcome `run`, `owner` is set only if
-- the key is new.
CREATE OR REPLACE FUNCTION penstock_idempotency_begin(
  p_id text, p_org text, p_key text, p_fingerprint bytea, p_process text
) RETURNS TABLE (outcome text, row_id text, owner text, jobs text[], granted text[], answer_status integer, answer_headers jsonb, answer_body bytea)
LANGUAGE plpgsql AS $$
DECLARE
  r idempotency_keys%ROWTYPE;
BEGIN
  LOOP
    INSERT INTO idempotency_keys (id, org_id, key, fingerprint, process_id)
      VALUES (p_id, p_org, p_key, p_fingerprint, p_process)
      ON CONFLICT (org_id, key) DO NOTHING;
    IF FOUND THEN
      RETURN QUERY SELECT 'run', p_id, p_process, '{}'::text[], '{}'::text[], NULL::integer, NULL::jsonb, NULL::bytea;
      RETURN;
    END IF;
    SELECT * INTO r FROM idempotency_keys k WHERE k.org_id = p_org AND k.key = p_key FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    IF r.created_at < now() - interval '24 hours' THEN
      DELETE FROM idempotency_keys k WHERE k.id = r.id;
      CONTINUE;
    END IF;
    EXIT;
  END LOOP;
  IF r.fingerprint <> p_fingerprint THEN
    RETURN QUERY SELECT 'mismatch', r.id, r.process_id, r.job_ids, r.scopes, NULL::integer, NULL::jsonb, NULL::bytea;
  ELSIF r.state = 'done' THEN
    RETURN QUERY SELECT 'done', r.id, r.process_id, r.job_ids, r.scopes, r.status, r.headers, r.body;
  ELSIF r.process_id = p_process
    OR EXISTS (SELECT 1 FROM processes p WHERE p.id = r.process_id AND p.lease_until > clock_timestamp()) THEN
    RETURN QUERY SELECT 'in_flight', r.id, r.process_id, r.job_ids, r.scopes, NULL::integer, NULL::jsonb, NULL::bytea;
  ELSE
    UPDATE idempotency_keys k SET id = p_id, process_id = p_process WHERE k.id = r.id;
    RETURN QUERY SELECT 'run', p_id, NULL::text, r.job_ids, r.scopes, r.status, r.headers, r.body;
  END IF;
END
$$;
