-- The life of a response in the background: queued → in_progress → completed, incomplete, failed or cancelled. Every
-- write of a worker checks the worker's name and fence. The response is locked first, then ledger rows, then the
-- balance.

-- Adds events to a response, with the notification for its readers and, where there is Kafka, their message: nobody else
-- takes it. The caller has locked the row.
CREATE OR REPLACE FUNCTION penstock_response_append(r responses, p_events text[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  last int := r.sequence + cardinality(p_events);
BEGIN
  IF cardinality(p_events) = 0 THEN
    RETURN last;
  END IF;
  INSERT INTO response_events (response_id, org_id, first, last, events)
    VALUES (r.id, r.org_id, r.sequence + 1, last, p_events);
  UPDATE responses q SET sequence = last WHERE q.id = r.id;
  IF (SELECT i.kafka FROM installation i) THEN
    PERFORM penstock_emit('responses', r.id, penstock_event('response.events', r.org_id,
        jsonb_build_object('responseId', r.id, 'first', r.sequence + 1, 'events', to_jsonb(p_events)))
      || jsonb_build_object('sequence', last));
  END IF;
  PERFORM pg_notify('penstock_response_event', r.id || ':' || last);
  RETURN last;
END $$;

-- Creates a response in status queued. The response takes over the reservation. Returns the id of the stored response:
-- if the key was used before, this is the earlier response, and nothing is created.
CREATE OR REPLACE FUNCTION penstock_response_create(p jsonb, p_response text, p_input text, p_request text, p_item_ids text[], p_events text[])
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  r responses;
BEGIN
  INSERT INTO responses (id, org_id, key_id, user_id, status, model, previous_id, response, input, item_ids, request, request_id, client,
      prompt_tokens, max_tokens, idempotency_key, fingerprint, kind)
    VALUES (p ->> 'id', p ->> 'orgId', p ->> 'keyId', p ->> 'userId', 'queued', p ->> 'model', p ->> 'previousId', p_response, p_input,
      p_item_ids, p_request, p ->> 'requestId', p -> 'client', (p ->> 'promptTokens')::int, (p ->> 'maxTokens')::int, p ->> 'key',
      p ->> 'fingerprint', p ->> 'kind')
    ON CONFLICT (org_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING * INTO r;
  IF r.id IS NULL THEN
    RETURN (SELECT q.id FROM responses q WHERE q.org_id = p ->> 'orgId' AND q.idempotency_key = p ->> 'key');
  END IF;
  PERFORM penstock_attach(p ->> 'operationId', NULL);
  IF p ->> 'boundTo' IS NOT NULL THEN
    PERFORM penstock_idempotency_bind(p ->> 'boundTo', r.id);
  END IF;
  PERFORM penstock_response_append(r, p_events);
  PERFORM pg_notify('penstock_response_pending', '');
  RETURN r.id;
END $$;

-- Stores an answer during its delivery to a waiting caller, with its first events. Its process holds it like a worker,
-- and no other process can continue it (`request` is empty). The response takes over the reservation. Returns false
-- if the operation has ended before (and `isOver` does not say so). May be called again.
CREATE OR REPLACE FUNCTION penstock_response_keep(p jsonb, p_response text, p_input text, p_item_ids text[], p_events text[], p_lease_ms int)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r responses;
BEGIN
  INSERT INTO responses (id, org_id, key_id, user_id, status, model, previous_id, response, input, item_ids, request, request_id, client,
      prompt_tokens, max_tokens, fence, worker_id, lease_until)
    VALUES (p ->> 'id', p ->> 'orgId', p ->> 'keyId', p ->> 'userId', 'in_progress', p ->> 'model', p ->> 'previousId', p_response,
      p_input, p_item_ids, '', p ->> 'requestId', p -> 'client', (p ->> 'promptTokens')::int, (p ->> 'maxTokens')::int, 1,
      p ->> 'workerId', clock_timestamp() + p_lease_ms * interval '1 ms')
    ON CONFLICT (id) DO NOTHING
    RETURNING * INTO r;
  IF r.id IS NULL THEN
    RETURN EXISTS (SELECT FROM responses q WHERE q.id = p ->> 'id' AND q.worker_id = p ->> 'workerId');
  ELSIF NOT (p ->> 'isOver')::boolean AND NOT penstock_attach(p ->> 'operationId', NULL) THEN
    DELETE FROM responses q WHERE q.id = r.id;
    RETURN false;
  END IF;
  PERFORM penstock_response_append(r, p_events);
  RETURN true;
END $$;

-- Assigns waiting responses to a worker, in fair shares (see penstock_runs_claim): `p_slots` are places for every
-- organisation, `p_newcomers` additional places for organisations without a response in progress.
CREATE OR REPLACE FUNCTION penstock_responses_claim(p_worker text, p_slots int, p_newcomers int, p_lease_ms int)
RETURNS SETOF responses LANGUAGE plpgsql AS $$
DECLARE
  places int;
BEGIN
  FOR pass IN 1 .. 2 LOOP
    places := CASE pass WHEN 1 THEN p_slots ELSE p_newcomers END;
    CONTINUE WHEN places <= 0;
    RETURN QUERY
      WITH RECURSIVE waiting AS (
        (SELECT w.org_id FROM responses w WHERE w.status IN ('queued', 'in_progress') AND w.worker_id IS NULL ORDER BY w.org_id LIMIT 1)
        UNION ALL
        SELECT (SELECT w.org_id FROM responses w
            WHERE w.status IN ('queued', 'in_progress') AND w.worker_id IS NULL AND w.org_id > o.org_id ORDER BY w.org_id LIMIT 1)
          FROM waiting o WHERE o.org_id IS NOT NULL
      ), worked AS MATERIALIZED (
        SELECT w.org_id, count(*) AS n FROM responses w
        WHERE w.status IN ('queued', 'in_progress') AND w.worker_id IS NOT NULL AND w.request <> '' GROUP BY w.org_id
      ), candidates AS (
        SELECT c.id, COALESCE(w.n, 0) + c.nth AS nth
        FROM waiting o LEFT JOIN worked w ON w.org_id = o.org_id
        CROSS JOIN LATERAL (
          SELECT q.id, row_number() OVER (ORDER BY q.id) AS nth FROM responses q
          WHERE q.status IN ('queued', 'in_progress') AND q.worker_id IS NULL AND q.org_id = o.org_id
          ORDER BY q.id LIMIT CASE pass WHEN 1 THEN 2 * places + 8 ELSE 1 END) c
        WHERE o.org_id IS NOT NULL AND (pass = 1 OR w.n IS NULL)
      ), picked AS MATERIALIZED (
        SELECT q.id FROM candidates c JOIN responses q ON q.id = c.id AND q.status IN ('queued', 'in_progress') AND q.worker_id IS NULL
        ORDER BY c.nth, c.id LIMIT places FOR UPDATE OF q SKIP LOCKED
      )
      UPDATE responses r SET status = 'in_progress', fence = r.fence + 1, worker_id = p_worker,
          lease_until = clock_timestamp() + p_lease_ms * interval '1 ms'
        FROM picked WHERE r.id = picked.id RETURNING r.*;
  END LOOP;
END $$;

-- Takes responses away from workers whose lease has expired. Returns whether any response waits for a worker.
CREATE OR REPLACE FUNCTION penstock_responses_sweep() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  WITH lost AS (
    SELECT r.id FROM responses r
    WHERE r.status IN ('queued', 'in_progress') AND r.worker_id IS NOT NULL AND r.lease_until < clock_timestamp()
    ORDER BY r.id LIMIT 200 FOR UPDATE OF r SKIP LOCKED
  )
  UPDATE responses r SET worker_id = NULL, lease_until = NULL, fence = r.fence + 1 FROM lost WHERE r.id = lost.id;
  RETURN EXISTS (SELECT FROM responses r WHERE r.status IN ('queued', 'in_progress') AND r.worker_id IS NULL);
END $$;

-- Stores events of many responses in one transaction. Response i has the events `p_events[p_from[i]:p_to[i]]`, which
-- follow event number `p_after[i]`. Returns the responses whose events are stored, now or by an earlier call whose
-- answer was lost, and whether their callers have cancelled them.
CREATE OR REPLACE FUNCTION penstock_responses_append(
  p_worker text, p_ids text[], p_fences int[], p_after int[], p_from int[], p_to int[], p_events text[]
) RETURNS TABLE (id text, cancelling boolean) LANGUAGE plpgsql AS $$
DECLARE
  mine record;
  r responses;
BEGIN
  FOR mine IN
    SELECT * FROM unnest(p_ids, p_fences, p_after, p_from, p_to) AS m (id, fence, after, low, high) ORDER BY m.id COLLATE "C"
  LOOP
    SELECT * INTO r FROM responses q WHERE q.id = mine.id AND q.worker_id = p_worker AND q.fence = mine.fence FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    IF r.sequence = mine.after THEN
      PERFORM penstock_response_append(r, p_events[mine.low:mine.high]);
    END IF;
    id := r.id;
    cancelling := r.cancelling;
    RETURN NEXT;
  END LOOP;
END $$;

-- Stores the id of an answer that its upstream continues by itself. Returns false if another worker has the response.
CREATE OR REPLACE FUNCTION penstock_response_goes_on(p_worker text, p_id text, p_fence int, p_model text, p_upstream_id text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE responses q SET upstream_model = p_model, upstream_id = p_upstream_id
    WHERE q.id = p_id AND q.worker_id = p_worker AND q.fence = p_fence;
  RETURN FOUND;
END $$;

-- Ends a response: writes its last events, its charge (`p_amounts` null: its reservation is released), the outcome for
-- its record, and its webhook event. The caller has locked the row.
CREATE OR REPLACE FUNCTION penstock_response_finish(
  r responses, p_status text, p_response text, p_item_ids text[], p_events text[], p_amounts bigint[], p_event jsonb, p_trace text,
  p_outcome jsonb
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  bytes bigint;
BEGIN
  PERFORM penstock_response_append(r, p_events);
  SELECT COALESCE(sum(pg_column_size(b.events)), 0) INTO bytes FROM response_events b WHERE b.response_id = r.id;
  UPDATE responses q SET status = p_status, response = p_response, item_ids = q.item_ids || p_item_ids, request = NULL, worker_id = NULL,
      lease_until = NULL, event_bytes = bytes
    WHERE q.id = r.id;
  UPDATE stored_bytes s SET bytes = s.bytes + bytes_of.n
    FROM (SELECT bytes + octet_length(p_response) - octet_length(r.response) AS n) bytes_of
    WHERE s.org_id = r.org_id AND s.part = 9 + (hashtext(r.id) & 7);
  IF p_amounts IS NULL THEN
    PERFORM penstock_release('op_' || substr(r.id, 6), p_outcome);
  ELSE
    PERFORM penstock_settle('op_' || substr(r.id, 6), p_amounts, p_outcome);
    IF p_event IS NOT NULL THEN
      PERFORM penstock_emit('events', r.org_id, penstock_event(p_event ->> 'type', r.org_id, p_event -> 'data'), p_trace);
    END IF;
  END IF;
END $$;

-- Ends a response by the worker that holds it. Returns false if another worker has it.
CREATE OR REPLACE FUNCTION penstock_response_end(
  p_worker text, p_id text, p_fence int, p_status text, p_response text, p_item_ids text[], p_events text[], p_amounts bigint[], p_event jsonb,
  p_trace text, p_outcome jsonb
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r responses;
BEGIN
  SELECT * INTO r FROM responses q WHERE q.id = p_id AND q.worker_id = p_worker AND q.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM penstock_response_finish(r, p_status, p_response, p_item_ids, p_events, p_amounts, p_event, p_trace, p_outcome);
  RETURN true;
END $$;

-- Cancels a response. If no worker has begun it, it ends now, with the object and the event that the caller passes.
-- Otherwise its worker, or the next one, ends it. Returns null if the response is unknown, else whether it had not
-- ended yet.
CREATE OR REPLACE FUNCTION penstock_response_cancel(p_org text, p_id text, p_response text, p_sequence int, p_event text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  r responses;
BEGIN
  SELECT * INTO r FROM responses q WHERE q.id = p_id AND q.org_id = p_org FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  ELSIF r.status NOT IN ('queued', 'in_progress') THEN
    RETURN false;
  ELSIF r.status = 'queued' AND r.sequence = p_sequence THEN
    PERFORM penstock_response_finish(r, 'cancelled', p_response, '{}', ARRAY[p_event], NULL, NULL, NULL, NULL);
  ELSE
    UPDATE responses q SET cancelling = true WHERE q.id = p_id;
    PERFORM pg_notify('penstock_response_cancel', p_id);
    PERFORM pg_notify('penstock_response_pending', '');
  END IF;
  RETURN true;
END $$;
