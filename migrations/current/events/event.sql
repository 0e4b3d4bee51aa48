-- The first part of an event id: `evt_` and the ten time characters of a ULID. The ten lines are written out because a
-- loop in PL/pgSQL takes four times as long, and every event needs an id.
CREATE OR REPLACE FUNCTION penstock_event_head() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  alphabet CONSTANT text := '0123456789abcdefghjkmnpqrstvwxyz';
  ms CONSTANT bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
BEGIN
  RETURN 'evt_' ||
    substr(alphabet, ((ms >> 45) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 40) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 35) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 30) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 25) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 20) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 15) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 10) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 5) & 31)::int + 1, 1) ||
    substr(alphabet, ((ms >> 0) & 31)::int + 1, 1);
END $$;

-- The last part of an event id: 16 hexadecimal digits with 62 random bits, taken from the end of a random UUID. To
-- encode 16 random bytes in the alphabet above would cost more than the insert of the event.
CREATE OR REPLACE FUNCTION penstock_event_tail() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT translate(substr(gen_random_uuid()::text, 20), '-', '')
$$;

-- An event id: `evt_` and a ULID.
CREATE OR REPLACE FUNCTION penstock_event_id() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT penstock_event_head() || penstock_event_tail()
$$;

-- The timestamp of an event: ISO 8601 in UTC with milliseconds, as JavaScript writes it.
CREATE OR REPLACE FUNCTION penstock_iso(p_time timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- The webhook envelope of contract 6.1. Topic `events` carries it.
CREATE OR REPLACE FUNCTION penstock_event(p_type text, p_org_id text, p_data jsonb) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
  SELECT jsonb_build_object('id', penstock_event_id(), 'type', p_type, 'orgId', p_org_id,
    'timestamp', penstock_iso(clock_timestamp()), 'data', p_data)
$$;

-- The same as penstock_event, for many rows at once. All messages have the same time, which the caller formats once:
-- `p_head` is from penstock_event_head, `p_time` from penstock_iso.
CREATE OR REPLACE FUNCTION penstock_message(p_head text, p_time text, p_type text, p_org_id text, p_data jsonb) RETURNS jsonb LANGUAGE sql
VOLATILE AS $$
  SELECT jsonb_build_object('id', p_head || penstock_event_tail(), 'type', p_type, 'orgId', p_org_id,
    'timestamp', p_time, 'data', p_data)
$$;

-- Writes an event in the caller's transaction. The commit wakes the relays. `p_traceparent`: the event's place in a
-- trace.
CREATE OR REPLACE FUNCTION penstock_emit(p_topic text, p_key text, p_event jsonb, p_traceparent text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_traceparent IS NOT NULL THEN
    INSERT INTO event_traces (event_id, traceparent) VALUES (p_event ->> 'id', p_traceparent);
  END IF;
  INSERT INTO outbox (topic, key, event) VALUES (p_topic, p_key, p_event);
  PERFORM pg_notify('penstock_outbox', '');
END $$;
