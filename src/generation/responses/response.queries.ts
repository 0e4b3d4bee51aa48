/** Statements of stored responses. Responses have no entity, because every call writes one at its end, with whole JSON texts. */
import type { Sql } from '../../database/database.types.js';
import { createBatcher, wasRolledBack } from '../../jobs/index.js';
import type { Batcher } from '../../jobs/index.js';

/** JSON contains this character only as an escape, so many JSON texts can be sent to PostgreSQL as one. In an array, each quote would be escaped. */
const SEPARATOR = '\u001e';

/** An upstream's invalid event may contain the character itself. It must not divide the texts, because they belong to several organisations. */
const escaped = (text: string): string =>
  text.includes(SEPARATOR) ? text.replaceAll(SEPARATOR, '\\u001e') : text;

/** Joins JSON texts into one value, which {@link jsonTexts} divides again. */
export const joinedJson = (texts: readonly string[]): string => texts.map(escaped).join(SEPARATOR);

/** The SQL that divides a {@link joinedJson}. @param value its parameter in the statement, such as `$3` */
export const jsonTexts = (value: string): string => `string_to_array(${value}::text, E'\\x1e')`;

/**
 * JSON is stored as text, because `jsonb` would reorder its fields, and does not accept NUL. All item ids are sent in one array, and all events
 * in another; each response has a range of each. In an array of arrays, all inner arrays would need the same length.
 */
const INSERT = {
  name: 'responses_save',
  text: `WITH texts AS MATERIALIZED (SELECT ${jsonTexts('$13')} AS events), given AS (
      SELECT u.*, ($10::text[])[u.first_item:u.last_item] AS item_ids, t.events[u.first_event:u.last_event] AS events
      FROM texts t, unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], ${jsonTexts('$8')}, ${jsonTexts('$9')},
          $11::int[], $12::int[], $14::int[], $15::int[], $16::int[])
        u (id, org_id, key_id, user_id, status, model, previous_id, response, input, first_item, last_item, first_event, last_event, sequence)
    ), saved AS (
      INSERT INTO responses (id, org_id, key_id, user_id, status, model, previous_id, response, input, item_ids, sequence, event_bytes)
      SELECT g.id, g.org_id, g.key_id, g.user_id, g.status, g.model, g.previous_id, g.response, g.input, g.item_ids,
        g.sequence, CASE WHEN g.events = '{}' THEN 0 ELSE pg_column_size(g.events) END
      FROM given g ORDER BY g.id ON CONFLICT (id) DO NOTHING RETURNING id
    ) INSERT INTO response_events (response_id, org_id, first, last, events)
      SELECT g.id, g.org_id, 1, cardinality(g.events), g.events FROM saved JOIN given g USING (id) WHERE g.events <> '{}'`,
};

/** An ended response in its stored form. */
export interface NewResponse {
  id: string;
  orgId: string;
  keyId: string;
  userId: string;
  status: string;
  model: string;
  previousId: string | null;
  /** The object and its input, as JSON. */
  response: string;
  input: string;
  itemIds: readonly string[];
  /** All events as its reader got them; empty if they can be derived from the response. */
  events: readonly string[];
  /** The number of its last event. */
  sequence: number;
}

const MAX_BATCH = 64;

/** Joins lists to one, and returns the first and the last position of each list in it, counted from 1. */
function slicesOf(lists: readonly (readonly string[])[]) {
  const lasts: number[] = [];
  for (const list of lists) lasts.push((lasts.at(-1) ?? 0) + list.length);
  return { all: lists.flat(), firsts: lasts.map((_, at) => (lasts[at - 1] ?? 0) + 1), lasts };
}

/** Responses that end at the same time share one statement and one commit, as their charges do. */
export function createSaves(sql: Sql): Batcher<NewResponse, null> {
  return createBatcher<NewResponse, null>({
    maxBatch: MAX_BATCH,
    retryable: wasRolledBack,
    async run(saved) {
      const of = <Name extends keyof NewResponse>(name: Name) => saved.map((one) => one[name]);
      const items = slicesOf(saved.map(({ itemIds }) => itemIds));
      const events = slicesOf(saved.map((one) => one.events));
      await sql.query(INSERT, [
        of('id'),
        of('orgId'),
        of('keyId'),
        of('userId'),
        of('status'),
        of('model'),
        of('previousId'),
        joinedJson(saved.map(({ response }) => response)),
        joinedJson(saved.map(({ input }) => input)),
        items.all,
        items.firsts,
        items.lasts,
        joinedJson(events.all),
        events.firsts,
        events.lasts,
        of('sequence'),
      ]);
      return saved.map(() => null);
    },
  });
}

/**
 * A response is saved before its charge, and has the ULID of its operation. If its process died between the two, nobody got the response, so
 * it is not found until it is paid.
 */
const IS_PAID = (
  table: string,
): string => `(${table}.status NOT IN ('completed', 'incomplete') OR NOT EXISTS (
    SELECT FROM usage_ledger l WHERE l.operation_id = 'op_' || substr(${table}.id, 6) AND l.state <> 'settled'))`;

export const FIND = `SELECT previous_id, response, input, status, sequence FROM responses r WHERE org_id = $1 AND id = $2 AND ${IS_PAID('r')}`;

/** A response and all responses before it, latest first. */
export const CHAIN = `WITH RECURSIVE chain AS (
    SELECT id, previous_id, input, response, status, 1 AS turn FROM responses f
      WHERE org_id = $1 AND id = $2 AND ${IS_PAID('f')}
    UNION ALL
    SELECT r.id, r.previous_id, r.input, r.response, r.status, c.turn + 1 FROM chain c
      JOIN responses r ON r.org_id = $1 AND r.id = c.previous_id WHERE c.turn < $3 AND ${IS_PAID('r')}
  ) SELECT id, previous_id, input, response, status FROM chain ORDER BY turn`;

/** Oldest first: if two items have the same id, the later one is used. */
export const ITEMS = `SELECT previous_id, input, response FROM responses r
  WHERE org_id = $1 AND item_ids && $2 AND ${IS_PAID('r')} ORDER BY created_at, id`;

const LISTED = `org_id = $1 AND ($2::text IS NULL OR status = $2) AND ${IS_PAID('r')}`;

export const listStatement = (backwards: boolean): string => `SELECT response, status, id FROM responses r
  WHERE ${LISTED} AND ($3::text IS NULL OR id < $3) AND ($4::text IS NULL OR id > $4)
  ORDER BY id ${backwards ? 'ASC' : 'DESC'} LIMIT $5`;

export const COUNT = `SELECT count(*)::float8 AS responses FROM responses r WHERE ${LISTED}`;

export const TEXTS = `SELECT response, status, id FROM responses r
  WHERE org_id = $1 AND id = ANY ($2) AND kind = 'response' AND ${IS_PAID('r')}`;

export const IS_STORED = 'SELECT id FROM responses WHERE id = $1';

export const KEYED = 'SELECT id, fingerprint FROM responses WHERE org_id = $1 AND idempotency_key = $2';

/**
 * The next events of many responses: of response i, at most `$4[i]` events after number `$3[i]`. If the events can be derived from the
 * response, its row is the response itself with number 0.
 */
export const EVENTS = {
  name: 'responses_events',
  text: `SELECT (q.nth - 1)::int AS nth, e.sequence, e.text
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) WITH ORDINALITY q (org_id, id, after, max, nth)
  CROSS JOIN LATERAL (
    SELECT b.first + (t.nth - 1)::int AS sequence, t.text
    FROM response_events b CROSS JOIN LATERAL unnest(b.events) WITH ORDINALITY t (text, nth)
    WHERE b.response_id = q.id AND b.org_id = q.org_id AND b.last > q.after AND b.first + t.nth - 1 > q.after
    ORDER BY b.last, t.nth LIMIT q.max
  ) e
  UNION ALL
  SELECT (q.nth - 1)::int, 0, r.response
  FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY q (org_id, id, after, nth)
  JOIN responses r ON r.id = q.id AND r.org_id = q.org_id
  WHERE r.event_bytes = 0 AND r.sequence > q.after AND r.status IN ('completed', 'incomplete')
  ORDER BY nth, sequence`,
};

export const POSITIONS = {
  name: 'responses_positions',
  text: 'SELECT id, sequence FROM responses WHERE id = ANY ($1)',
};

export const GET_MANY = `SELECT id, org_id, kind, status, sequence FROM responses r
  WHERE org_id = $1 AND id = ANY ($2) AND ${IS_PAID('r')}`;

export const DELETE = 'DELETE FROM responses WHERE org_id = $1 AND id = $2 RETURNING id';

/** The maximum of expired responses that one statement deletes. */
const BATCH = 200;

export const FORGET = {
  name: 'responses_forget',
  text: `WITH gone AS (
      DELETE FROM responses WHERE id IN (
        SELECT id FROM responses WHERE created_at < now() - $1 * interval '1 day' ORDER BY created_at LIMIT ${BATCH})
      RETURNING id
    ) SELECT count(*)::int AS n FROM gone`,
};
