import { Migration } from '@mikro-orm/migrations';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME = Array.from(
  { length: 10 },
  (_, i) => `substr(alphabet, ((ms >> ${45 - 5 * i}) & 31)::int + 1, 1)`,
);
const RANDOM = Array.from({ length: 16 }, (_, i) => `substr(alphabet, (get_byte(random, ${i}) & 31) + 1, 1)`);

/**
 * `evt_` + ULID: 10 characters of time, 16 of a CSPRNG (gen_random_uuid draws from pg_strong_random). One expression, because a loop
 * in PL/pgSQL costs four times as much, and every event has an id.
 */
const EVENT_ID = `
CREATE OR REPLACE FUNCTION penstock_event_id() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  alphabet CONSTANT text := '${ALPHABET}';
  ms bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  random bytea := uuid_send(gen_random_uuid());
BEGIN
  RETURN 'evt_' || ${[...TIME, ...RANDOM].join('\n    || ')};
END $$`;

/** Timestamps of events: ISO 8601 in UTC with milliseconds, as JavaScript writes them. */
const ISO = `
CREATE OR REPLACE FUNCTION penstock_iso(p_time timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(p_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$`;

/** The webhook envelope of contract 6.1: what stands on topic `events`. */
const EVENT = `
CREATE OR REPLACE FUNCTION penstock_event(p_type text, p_org_id text, p_data jsonb) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
  SELECT jsonb_build_object('id', penstock_event_id(), 'type', p_type, 'orgId', p_org_id,
    'timestamp', penstock_iso(clock_timestamp()), 'data', p_data)
$$`;

/** Writes an event in the caller's transaction and wakes the relays when it commits. */
const EMIT = `
CREATE OR REPLACE FUNCTION penstock_emit(p_topic text, p_key text, p_event jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO outbox (topic, key, event) VALUES (p_topic, p_key, p_event);
  PERFORM pg_notify('penstock_outbox', '');
END $$`;

/**
 * One relay at a time claims (a try-lock: the loser has nothing to do), so that no row is claimed while an earlier one of its key is
 * claimed by somebody else: that is what keeps the order within a key. Rows are chosen by state, never by `id > last`, because a row may
 * commit later than one with a higher id. The rows that the caller has published go in the same round trip; losing that by a power cut
 * only publishes them twice, so the commit does not wait for the disk.
 */
const CLAIM = `
CREATE OR REPLACE FUNCTION penstock_outbox_claim(p_relay text, p_limit int, p_claim_ms int, p_published bigint[])
RETURNS SETOF outbox LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  IF cardinality(p_published) > 0 THEN
    DELETE FROM outbox WHERE id = ANY (p_published);
  END IF;
  IF p_limit <= 0 OR NOT pg_try_advisory_xact_lock(7302, 1) THEN
    RETURN;
  END IF;
  RETURN QUERY
    WITH free AS (
      SELECT o.id FROM outbox o
      WHERE (o.claimed_until IS NULL OR o.claimed_until < clock_timestamp())
        AND NOT EXISTS (
          SELECT 1 FROM outbox e
          WHERE e.topic = o.topic AND e.key = o.key AND e.id < o.id AND e.claimed_until >= clock_timestamp())
      ORDER BY o.id LIMIT p_limit FOR UPDATE OF o SKIP LOCKED
    ), claimed AS (
      UPDATE outbox o SET claimed_until = clock_timestamp() + p_claim_ms * interval '1 ms', claimed_by = p_relay
      FROM free WHERE o.id = free.id RETURNING o.*
    )
    SELECT * FROM claimed ORDER BY id;
END $$`;

/** Events: the transactional outbox, its claim, and the dead letters of installations without Kafka (ADR 8). */
export class Migration0003 extends Migration {
  override up(): void {
    this.addSql(`
      CREATE TABLE outbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        topic text NOT NULL CHECK (topic IN ('jobs', 'agents', 'events')),
        key text NOT NULL,
        event jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        claimed_until timestamptz,
        claimed_by text
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, fillfactor = 70)`);
    this.addSql(`CREATE INDEX outbox_by_key ON outbox (topic, key, id)`);
    this.addSql(`
      CREATE TABLE dead_letters (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        topic text NOT NULL,
        key text NOT NULL,
        consumer_group text NOT NULL,
        event jsonb NOT NULL,
        error text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
      )`);
    for (const table of ['outbox', 'dead_letters']) {
      this.addSql(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
      this.addSql(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`);
      this.addSql(
        `CREATE POLICY ${table}_system ON ${table} TO penstock_system USING (true) WITH CHECK (true)`,
      );
      this.addSql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO penstock_system`);
    }
    for (const sql of [EVENT_ID, ISO, EVENT, EMIT, CLAIM]) this.addSql(sql);
  }
}
