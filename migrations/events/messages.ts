const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME = Array.from(
  { length: 10 },
  (_, i) => `substr('${ALPHABET}', ((ms >> ${45 - 5 * i}) & 31)::int + 1, 1)`,
);
/** 16 characters with 62 bits of a CSPRNG: what follows the version in a UUID. */
const RANDOM = `translate(substr(gen_random_uuid()::text, 20), '-', '')`;

/**
 * Messages of many rows at once: the time stands in all of them and is spelled once. `penstock_event_head()` is what the ids begin with,
 * `evt_` and a ULID's ten characters of time; the rest is each message's own.
 */
export const MESSAGES = [
  `CREATE FUNCTION penstock_event_head() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    ms bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  BEGIN
    RETURN 'evt_' || ${TIME.join(' || ')};
  END $$`,
  `CREATE FUNCTION penstock_message(p_head text, p_time text, p_type text, p_org_id text, p_data jsonb) RETURNS jsonb LANGUAGE sql
  VOLATILE AS $$
    SELECT jsonb_build_object('id', p_head || ${RANDOM}, 'type', p_type, 'orgId', p_org_id,
      'timestamp', p_time, 'data', p_data)
  $$`,
  // Call it with the row as the move has left it: j.sequence is this event's number.
  `CREATE FUNCTION penstock_job_message(p_head text, p_time text, p_type text, j jobs) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
    SELECT jsonb_build_object('id', p_head || ${RANDOM}, 'type', p_type, 'orgId', j.org_id,
      'timestamp', p_time, 'sequence', j.sequence, 'data', penstock_job_view(j))
  $$`,
];
