-- Creates a run in status running, waiting for a worker. The run takes over the reservation of its base price. If the
-- run begins a session, the event `chat.conversation.created` belongs to the trace of the run.
CREATE OR REPLACE FUNCTION penstock_run_create(p jsonb) RETURNS agent_runs LANGUAGE plpgsql AS $$
DECLARE
  r agent_runs;
BEGIN
  INSERT INTO agent_runs (id, org_id, user_id, key_id, token_id, agent_id, agent_org_id, agent, session_id, end_user, attribution, input, attachments, history,
      operation_id, request_id, client, plan_code, sequence)
    VALUES (p ->> 'id', p ->> 'orgId', p ->> 'userId', p ->> 'keyId', p ->> 'tokenId', p ->> 'agentId', p ->> 'agentOrgId', p -> 'agent',
      p ->> 'sessionId', p ->> 'endUser', p -> 'attribution', p ->> 'input', p -> 'attachments', p -> 'history', p ->> 'operationId', p ->> 'requestId',
      p -> 'client', p ->> 'planCode', 1)
    RETURNING * INTO r;
  PERFORM penstock_attach(r.operation_id, NULL, r.id);
  IF p ->> 'idempotencyKey' IS NOT NULL THEN
    PERFORM penstock_idempotency_bind(p ->> 'idempotencyKey', r.id);
  END IF;
  INSERT INTO agent_sessions (org_id, agent_id, session_id) VALUES (r.org_id, r.agent_id, r.session_id) ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM penstock_emit('events', r.org_id, penstock_event('chat.conversation.created', r.org_id, jsonb_build_object(
      'conversationId', r.session_id, 'agentId', r.agent_id, 'agentName', r.agent ->> 'name')), r.client ->> 'traceparent');
  END IF;
  UPDATE agents a SET run_count = run_count + 1 WHERE a.id = r.agent_id;
  PERFORM penstock_run_event(r, 'start', jsonb_build_object('run_id', r.id, 'session_id', r.session_id));
  PERFORM pg_notify('penstock_run_pending', '');
  RETURN r;
END $$;
