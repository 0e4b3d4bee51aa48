-- Settles a run's finished operations ([{id, amounts (null: release), outcome, fallback}]) and writes its steps ([{type,
-- content, tool, input, output}]), each with an event. The caller has locked the row; the function returns the changed
-- row.
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
        item -> 'outcome', item -> 'fallback');
      charged := charged + (settled -> 'charged' ->> 0)::bigint;
    ELSE
      PERFORM penstock_release(item ->> 'id', item -> 'outcome');
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
END $$;

-- Stores the result of one step. Returns false, and changes nothing, if another worker has the run. The caller waits
-- until the commit is on the disk, because what a subscriber saw and what was charged must survive a power failure
-- (decisions 2). penstock_runs_advance writes many runs with one such wait.
CREATE OR REPLACE FUNCTION penstock_run_advance(p_worker text, p_id text, p_fence int, p jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r agent_runs;
BEGIN
  SELECT * INTO r FROM agent_runs q
    WHERE q.id = p_id AND q.status = 'running' AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  -- A repeated call: the first one was committed, but its answer was lost.
  IF (r.state ->> 'writes')::int >= (p -> 'state' ->> 'writes')::int THEN
    RETURN true;
  END IF;
  PERFORM penstock_run_work(r, p -> 'operations', p -> 'steps', (p ->> 'tokens')::bigint);
  UPDATE agent_runs q SET state = p -> 'state' WHERE q.id = p_id;
  RETURN true;
END $$;

-- Stores steps of many runs in one transaction: [{id, fence, work}], sorted by organisation, so that two transactions
-- cannot deadlock on balances.
CREATE OR REPLACE FUNCTION penstock_runs_advance(p_worker text, p jsonb) RETURNS SETOF boolean LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
BEGIN
  PERFORM 1 FROM agent_runs q WHERE q.id IN (SELECT i.value ->> 'id' FROM jsonb_array_elements(p) i)
    ORDER BY q.id FOR UPDATE;
  FOR item IN SELECT i.value FROM jsonb_array_elements(p) WITH ORDINALITY i (value, nth) ORDER BY nth LOOP
    RETURN NEXT penstock_run_advance(p_worker, item ->> 'id', (item ->> 'fence')::int, item -> 'work');
  END LOOP;
END $$;
