/**
 * The life of a run: each move is one function that changes the row, writes steps and events with their outbox rows, and settles, in one
 * transaction. The run is locked first, then ledger rows, then the balance. What a worker writes carries its name and its fence.
 */

const EVENT = `
CREATE OR REPLACE FUNCTION penstock_run_event(r agent_runs, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  kind text := CASE p_type WHEN 'start' THEN 'run.started' WHEN 'step' THEN 'run.step' ELSE 'run.' || r.status END;
BEGIN
  INSERT INTO agent_run_events (run_id, org_id, sequence, type, data, status, total_steps, tokens_used, credits_used)
    VALUES (r.id, r.org_id, r.sequence, p_type, p_data, r.status, r.total_steps, r.tokens_used, r.credits_used);
  PERFORM penstock_emit('agents', r.id, penstock_event(kind, r.org_id,
      p_data || jsonb_build_object('agent_id', r.agent_id, 'run_id', r.id, 'status', r.status))
    || jsonb_build_object('sequence', r.sequence));
  PERFORM pg_notify('penstock_run_event', r.id || ':' || r.sequence);
END $$`;

const WEBHOOK = `
CREATE OR REPLACE FUNCTION penstock_run_webhook(r agent_runs, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM penstock_emit('events', r.org_id, penstock_event(p_type, r.org_id, jsonb_build_object('runId', r.id, 'agentId', r.agent_id,
    'agentName', r.agent ->> 'name', 'input', r.input) || p_data));
END $$`;

/** (none) → running, waiting for a worker. The reservation of its base price is the run's from now on. */
const CREATE = `
CREATE OR REPLACE FUNCTION penstock_run_create(p jsonb) RETURNS agent_runs LANGUAGE plpgsql AS $$
DECLARE
  r agent_runs;
BEGIN
  INSERT INTO agent_runs (id, org_id, user_id, key_id, agent_id, agent_org_id, agent, session_id, end_user, input, attachments, history,
      operation_id, request_id, client, plan_code, sequence)
    VALUES (p ->> 'id', p ->> 'orgId', p ->> 'userId', p ->> 'keyId', p ->> 'agentId', p ->> 'agentOrgId', p -> 'agent',
      p ->> 'sessionId', p ->> 'endUser', p ->> 'input', p -> 'attachments', p -> 'history', p ->> 'operationId', p ->> 'requestId',
      p -> 'client', p ->> 'planCode', 1)
    RETURNING * INTO r;
  PERFORM penstock_attach(r.operation_id, NULL, r.id);
  IF p ->> 'idempotencyKey' IS NOT NULL THEN
    PERFORM penstock_idempotency_bind(p ->> 'idempotencyKey', r.id);
  END IF;
  INSERT INTO agent_sessions (org_id, agent_id, session_id) VALUES (r.org_id, r.agent_id, r.session_id) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM penstock_emit('events', r.org_id, penstock_event('chat.conversation.created', r.org_id, jsonb_build_object(
      'conversationId', r.session_id, 'agentId', r.agent_id, 'agentName', r.agent ->> 'name')));
  END IF;
  UPDATE agents a SET run_count = run_count + 1 WHERE a.id = r.agent_id;
  PERFORM penstock_run_event(r, 'start', jsonb_build_object('run_id', r.id, 'session_id', r.session_id));
  PERFORM pg_notify('penstock_run_pending', '');
  RETURN r;
END $$`;

/** Waiting → in a worker's hands. Each organisation's oldest first, then their second ones. */
const CLAIM = `
CREATE OR REPLACE FUNCTION penstock_runs_claim(p_worker text, p_slots int, p_lease_ms int, p_limit_ms bigint)
RETURNS SETOF agent_runs LANGUAGE plpgsql AS $$
DECLARE
  picked record;
  r agent_runs;
BEGIN
  FOR picked IN
    SELECT q.id, q.started_at IS NULL AS fresh
    FROM (SELECT w.id, row_number() OVER (PARTITION BY w.org_id ORDER BY w.id) AS nth
      FROM agent_runs w WHERE w.status = 'running' AND w.worker_id IS NULL) c
    JOIN agent_runs q ON q.id = c.id AND q.status = 'running' AND q.worker_id IS NULL
    ORDER BY c.nth, c.id LIMIT p_slots FOR UPDATE OF q SKIP LOCKED
  LOOP
    UPDATE agent_runs SET fence = fence + 1, worker_id = p_worker, lease_until = clock_timestamp() + p_lease_ms * interval '1 ms',
        started_at = COALESCE(started_at, clock_timestamp()),
        deadline = COALESCE(deadline, clock_timestamp() + p_limit_ms * interval '1 ms')
      WHERE id = picked.id RETURNING * INTO r;
    IF picked.fresh THEN
      PERFORM penstock_run_webhook(r, 'agent.run.started', '{}');
    END IF;
    RETURN NEXT r;
  END LOOP;
END $$`;

const RENEW = `
CREATE OR REPLACE FUNCTION penstock_runs_renew(p_worker text, p_ids text[], p_fences int[], p_lease_ms int)
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
    WITH held AS (
      SELECT r.id FROM agent_runs r JOIN unnest(p_ids, p_fences) AS mine (id, fence) ON mine.id = r.id AND mine.fence = r.fence
      WHERE r.status = 'running' AND r.worker_id = p_worker ORDER BY r.id FOR UPDATE OF r
    )
    UPDATE agent_runs r SET lease_until = clock_timestamp() + p_lease_ms * interval '1 ms'
    FROM held WHERE r.id = held.id RETURNING r.id;
END $$`;

/** What a stopping worker gives back: another goes on from the stored state. */
const GIVE_BACK = `
CREATE OR REPLACE FUNCTION penstock_runs_give_back(p_worker text, p_ids text[], p_fences int[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
    WITH held AS (
      SELECT r.id FROM agent_runs r JOIN unnest(p_ids, p_fences) AS mine (id, fence) ON mine.id = r.id AND mine.fence = r.fence
      WHERE r.status = 'running' AND r.worker_id = p_worker ORDER BY r.id FOR UPDATE OF r
    )
    UPDATE agent_runs r SET worker_id = NULL, lease_until = NULL, fence = r.fence + 1
    FROM held WHERE r.id = held.id RETURNING r.id;
  PERFORM pg_notify('penstock_run_pending', '');
END $$`;

/**
 * Settles a run's finished operations ([{id, amounts (null: release), fallback}]) and writes its steps ([{type, content, tool, input,
 * output}]), each with its event. Takes the locked row, answers it as it then is.
 */
const WORK = `
CREATE OR REPLACE FUNCTION penstock_run_work(r agent_runs, p_operations jsonb, p_steps jsonb, p_tokens bigint)
RETURNS agent_runs LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
  settled jsonb;
  charged bigint := 0;
  now_r agent_runs := r;
BEGIN
  FOR item IN SELECT o.value FROM jsonb_array_elements(p_operations) WITH ORDINALITY o (value, nth) ORDER BY nth LOOP
    IF jsonb_typeof(item -> 'amounts') = 'array' THEN
      settled := penstock_settle(item ->> 'id', ARRAY(
        SELECT a.value::bigint FROM jsonb_array_elements_text(item -> 'amounts') WITH ORDINALITY a (value, nth) ORDER BY nth),
        item -> 'fallback');
      charged := charged + (settled -> 'charged' ->> 0)::bigint;
    ELSE
      PERFORM penstock_release(item ->> 'id');
    END IF;
  END LOOP;
  IF charged > 0 OR p_tokens > 0 THEN
    UPDATE agent_runs q SET credits_used = q.credits_used + charged, tokens_used = q.tokens_used + p_tokens WHERE q.id = r.id
      RETURNING * INTO now_r;
  END IF;
  FOR item IN SELECT s.value FROM jsonb_array_elements(p_steps) WITH ORDINALITY s (value, nth) ORDER BY nth LOOP
    UPDATE agent_runs q SET total_steps = q.total_steps + 1, sequence = q.sequence + 1 WHERE q.id = r.id RETURNING * INTO now_r;
    INSERT INTO agent_run_steps (run_id, org_id, step_number, step_type, content, tool_name, tool_input, tool_output)
      VALUES (r.id, r.org_id, now_r.total_steps, item ->> 'type', item ->> 'content', item ->> 'tool', item -> 'input', item -> 'output');
    PERFORM penstock_run_event(now_r, 'step', jsonb_build_object('run_id', r.id, 'step', jsonb_strip_nulls(jsonb_build_object(
      'step_number', now_r.total_steps, 'type', item ->> 'type', 'content', item ->> 'content', 'tool', item ->> 'tool'))
      || CASE WHEN item ? 'input' THEN jsonb_build_object('tool_input', item -> 'input') ELSE '{}' END
      || CASE WHEN item ? 'output' THEN jsonb_build_object('tool_output', item -> 'output') ELSE '{}' END));
  END LOOP;
  RETURN now_r;
END $$`;

/** A worker's write at a boundary of a step; false where the run is not its own any more, and nothing was changed. */
const ADVANCE = `
CREATE OR REPLACE FUNCTION penstock_run_advance(p_worker text, p_id text, p_fence int, p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r agent_runs;
BEGIN
  -- No balance is locked while a disk is waited for: the run's end waits, and with it all that was written before it is on the disk.
  -- What a power cut takes before that, it takes whole: the step, its event and its charge.
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO r FROM agent_runs q
    WHERE q.id = p_id AND q.status = 'running' AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- Tried again after its answer was lost: done already.
  IF (r.state ->> 'writes')::int >= (p -> 'state' ->> 'writes')::int THEN
    RETURN true;
  END IF;
  PERFORM penstock_run_work(r, p -> 'operations', p -> 'steps', (p ->> 'tokens')::bigint);
  UPDATE agent_runs q SET state = p -> 'state' WHERE q.id = p_id;
  RETURN true;
END $$`;

/**
 * running → completed, failed or cancelled; takes the locked row. The base price is charged where there was a step, else given back.
 * A failure after a step is a step of its own.
 */
const FINISH = `
CREATE OR REPLACE FUNCTION penstock_run_finish(r agent_runs, p_status text, p_text text) RETURNS agent_runs LANGUAGE plpgsql AS $$
DECLARE
  done agent_runs := r;
  base CONSTANT jsonb := '[200,0,0,0,0,0,0,0,100]';
BEGIN
  done := penstock_run_work(r, jsonb_build_array(jsonb_build_object('id', r.operation_id,
    'amounts', CASE WHEN r.total_steps > 0 THEN base END)),
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
END $$`;

/** The worker's end of a run: its last operations and steps, then the final state. */
const END = `
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
  PERFORM penstock_run_finish(r, p ->> 'status', p ->> 'text');
  RETURN true;
END $$`;

/** running → cancelled. No row: unknown; `moved` is false where it had finished already. */
const CANCEL = `
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
END $$`;

/** Runs whose worker was killed, and those whose time is over: failed, with what they did kept and charged. */
const SWEEP = `
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
END $$`;

export const RUN_MOVES = [
  EVENT,
  WEBHOOK,
  CREATE,
  CLAIM,
  RENEW,
  GIVE_BACK,
  WORK,
  ADVANCE,
  FINISH,
  END,
  CANCEL,
  SWEEP,
];
