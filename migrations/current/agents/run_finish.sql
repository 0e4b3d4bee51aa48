-- running → completed, failed or cancelled (`p_code`: the code of the error in the record). The caller has locked the
-- row. The base price is charged if the run has a step, otherwise it is released. A failure after the first step is
-- stored as a step of type `error`.
CREATE OR REPLACE FUNCTION penstock_run_finish(r agent_runs, p_status text, p_text text, p_code text DEFAULT 'server_error')
RETURNS agent_runs LANGUAGE plpgsql AS $$
DECLARE
  done agent_runs := r;
BEGIN
  done := penstock_run_work(r, jsonb_build_array(jsonb_build_object('id', r.operation_id,
    'amounts', CASE WHEN r.total_steps > 0 THEN
      (SELECT to_jsonb(l.reserved) FROM usage_ledger l WHERE l.operation_id = r.operation_id) END,
    'outcome', jsonb_build_object('status', CASE p_status WHEN 'completed' THEN 'succeeded' ELSE p_status END,
      'errorCode', CASE p_status WHEN 'failed' THEN p_code END, 'costNano', '0'))),
    CASE WHEN p_status = 'failed' AND r.total_steps > 0
      THEN jsonb_build_array(jsonb_build_object('type', 'error', 'content', p_text)) ELSE '[]' END, 0);
  UPDATE agent_runs q SET status = p_status, sequence = q.sequence + 1, completed_at = clock_timestamp(), worker_id = NULL,
      lease_until = NULL, deadline = NULL, state = NULL,
      output = CASE WHEN p_status = 'completed' THEN p_text END, error_message = CASE WHEN p_status <> 'completed' THEN p_text END
    WHERE q.id = r.id RETURNING * INTO done;
  IF p_status = 'completed' THEN
    PERFORM penstock_run_event(done, 'done', jsonb_build_object('run_id', done.id, 'output', p_text,
      'credits_used', done.credits_used / 100, 'tokens_used', done.tokens_used));
    PERFORM penstock_run_webhook(done, 'agent.run.completed', jsonb_build_object('output', p_text, 'totalSteps', done.total_steps,
      'durationMs', floor(extract(epoch FROM done.completed_at - done.created_at) * 1000)::bigint,
      'unitsUsed', 1, 'unitType', 'agent_runs'));
  ELSE
    PERFORM penstock_run_event(done, 'error', jsonb_build_object('error', p_text));
    PERFORM penstock_run_webhook(done, 'agent.run.failed', jsonb_build_object('errorMessage', p_text));
  END IF;
  RETURN done;
END $$;

-- Ends a run by its worker: stores its last operations and steps, then the final status.
CREATE OR REPLACE FUNCTION penstock_run_end(p_worker text, p_id text, p_fence int, p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r agent_runs;
BEGIN
  SELECT * INTO r FROM agent_runs q
    WHERE q.id = p_id AND q.status = 'running' AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  r := penstock_run_work(r, p -> 'operations', p -> 'steps', (p ->> 'tokens')::bigint);
  PERFORM penstock_run_finish(r, p ->> 'status', p ->> 'text', p ->> 'code');
  RETURN true;
END $$;

-- Ends many runs in one transaction, so that they share one wait for the disk.
CREATE OR REPLACE FUNCTION penstock_runs_end(p_worker text, p jsonb) RETURNS SETOF boolean LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
BEGIN
  PERFORM 1 FROM agent_runs q WHERE q.id IN (SELECT i.value ->> 'id' FROM jsonb_array_elements(p) i)
    ORDER BY q.id FOR UPDATE;
  FOR item IN SELECT i.value FROM jsonb_array_elements(p) WITH ORDINALITY i (value, nth) ORDER BY nth LOOP
    RETURN NEXT penstock_run_end(p_worker, item ->> 'id', (item ->> 'fence')::int, item -> 'work');
  END LOOP;
END $$;

-- running → cancelled. Returns no row for an unknown run; `moved` is false if the run had already finished.
CREATE OR REPLACE FUNCTION penstock_run_cancel(p_org text, p_id text) RETURNS TABLE (moved boolean, run agent_runs) LANGUAGE plpgsql AS $$
DECLARE
  r agent_runs;
BEGIN
  SELECT * INTO r FROM agent_runs q WHERE q.id = p_id AND q.org_id = p_org FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF r.status <> 'running' THEN
    RETURN QUERY SELECT false, r;
    RETURN;
  END IF;
  PERFORM pg_notify('penstock_run_cancel', r.id);
  r := penstock_run_finish(r, 'cancelled', 'Cancelled');
  RETURN QUERY SELECT true, r;
END $$;

-- Fails the runs whose worker was killed or whose time limit has passed. Their steps stay and are charged.
CREATE OR REPLACE FUNCTION penstock_runs_sweep() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  r agent_runs;
  moved int := 0;
BEGIN
  FOR r IN
    SELECT q.* FROM agent_runs q
    WHERE q.status = 'running' AND (q.lease_until < clock_timestamp() OR q.deadline < clock_timestamp() - interval '5 s')
    ORDER BY q.org_id, q.id LIMIT 200 FOR UPDATE SKIP LOCKED
  LOOP
    PERFORM penstock_run_finish(r, 'failed', CASE WHEN r.lease_until < clock_timestamp() THEN 'Agent run was interrupted'
      ELSE 'Agent run timed out' END);
    moved := moved + 1;
  END LOOP;
  RETURN moved;
END $$;
