/**
 * As before, and the row gets the name that its new owner brings: who had the key before writes to a row that is no more. A process takes
 * no key over from itself, however long it was away: it knows what it works on. An owner is told of with `run` only where the key is new.
 */
const beginFenced = (taken: string): string => `
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
    UPDATE idempotency_keys k SET id = ${taken}, process_id = p_process WHERE k.id = r.id;
    RETURN QUERY SELECT 'run', ${taken}, NULL::text, r.job_ids, r.scopes, r.status, r.headers, r.body;
  END IF;
END
$$`;

export const IDEMPOTENCY_BEGIN_FENCED = beginFenced('p_id');

/**
 * As before, and the name that a taken row gets is none that its new owner brought: processes of before Migration0031 tell by that that they
 * took a key over, and with it an answer that was charged.
 */
export const IDEMPOTENCY_BEGIN_TOLD = beginFenced("p_id || '_t'");

/** Called in the transaction that makes something. Whoever lost the key meanwhile makes nothing. */
export const IDEMPOTENCY_BIND_FENCED = `
CREATE OR REPLACE FUNCTION penstock_idempotency_bind(p_row text, p_job text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency_keys SET job_ids = CASE WHEN p_job = ANY (job_ids) THEN job_ids ELSE job_ids || p_job END
    WHERE id = p_row AND state = 'in_flight';
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the Idempotency-Key is another request''s by now' USING ERRCODE = 'PSKEY';
  END IF;
END
$$`;
