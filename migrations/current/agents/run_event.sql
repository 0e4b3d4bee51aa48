-- The life of a run. Each transition is one function that changes the row, writes steps and events with their outbox
-- rows, and settles, in one transaction. It locks the run first, then ledger rows, then the balance. Every write of a
-- worker checks the worker's name and fence.

-- Writes an event of a run's stream, its Kafka message and its notification.
CREATE OR REPLACE FUNCTION penstock_run_event(r agent_runs, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  kind text := CASE p_type WHEN 'start' THEN 'run.started' WHEN 'step' THEN 'run.step' ELSE 'run.' || r.status END;
BEGIN
  INSERT INTO agent_run_events (run_id, org_id, sequence, type, data, status, total_steps, tokens_used, credits_used)
    VALUES (r.id, r.org_id, r.sequence, p_type, p_data, r.status, r.total_steps, r.tokens_used, r.credits_used);
  PERFORM penstock_emit('agents', r.id, penstock_event(kind, r.org_id,
      p_data || jsonb_build_object('agent_id', r.agent_id, 'run_id', r.id, 'status', r.status))
    || jsonb_build_object('sequence', r.sequence));
  PERFORM pg_notify('penstock_run_event', concat_ws(':', r.id, r.sequence, r.org_id));
END $$;

-- Writes the webhook event of a transition.
CREATE OR REPLACE FUNCTION penstock_run_webhook(r agent_runs, p_type text, p_data jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM penstock_emit('events', r.org_id, penstock_event(p_type, r.org_id, jsonb_build_object('runId', r.id, 'agentId', r.agent_id,
    'agentName', r.agent ->> 'name', 'input', r.input) || p_data));
END $$;
