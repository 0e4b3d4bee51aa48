/** Where an event that no job and no run tells of stands in its caller's trace. Written only while traces are exported. */
export const TRACES_TABLE = `
CREATE TABLE event_traces (
  event_id text PRIMARY KEY,
  traceparent text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX event_traces_age ON event_traces (created_at);
ALTER TABLE event_traces ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_traces FORCE ROW LEVEL SECURITY;
CREATE POLICY event_traces_system ON event_traces TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON event_traces TO penstock_system;`;

/** As the one without a trace, which is what events without one are written with. */
export const EMIT_TRACED = `
CREATE FUNCTION penstock_emit(p_topic text, p_key text, p_event jsonb, p_traceparent text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_traceparent IS NOT NULL THEN
    INSERT INTO event_traces (event_id, traceparent) VALUES (p_event ->> 'id', p_traceparent);
  END IF;
  INSERT INTO outbox (topic, key, event) VALUES (p_topic, p_key, p_event);
  PERFORM pg_notify('penstock_outbox', '');
END $$`;

/** As before; an event may say where it stands in a trace. */
export const SETTLE_EVENTS_TRACED = `
CREATE OR REPLACE FUNCTION penstock_settle_events(p_events jsonb, p_answer text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data), e.trace)
    FROM jsonb_to_recordset(p_events) AS e (at int, org text, type text, data jsonb, unheard boolean, trace text)
    WHERE (e.unheard IS NOT TRUE OR EXISTS (SELECT 1 FROM webhooks w WHERE w.org_id = e.org)
        OR (SELECT i.kafka FROM installation i))
      AND p_answer::jsonb #> ARRAY['items', (e.at - 1)::text, '0'] = '1';
END $$`;

/** As before; a session that a run begins is told of in the run's trace. */
export const RUN_CREATE_TRACED = `
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
      'conversationId', r.session_id, 'agentId', r.agent_id, 'agentName', r.agent ->> 'name')), r.client ->> 'traceparent');
  END IF;
  UPDATE agents a SET run_count = run_count + 1 WHERE a.id = r.agent_id;
  PERFORM penstock_run_event(r, 'start', jsonb_build_object('run_id', r.id, 'session_id', r.session_id));
  PERFORM pg_notify('penstock_run_pending', '');
  RETURN r;
END $$`;
