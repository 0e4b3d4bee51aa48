/** Stored responses: they are written at the end of every call, and hold whole texts of JSON that no entity carries. */
import type { Sql } from '../../database/database.types.js';
import { createBatcher, wasRolledBack } from '../../jobs/index.js';
import type { Batcher } from '../../jobs/index.js';

/**
 * Texts of JSON as they were written: `jsonb` would reorder them, and takes no NUL. The ids of all items come in one array, of which each
 * response has a part: an array of arrays would have to be a rectangle.
 */
const INSERT = {
  name: 'responses_save',
  text: `INSERT INTO responses (id, org_id, key_id, user_id, status, model, previous_id, response, input, item_ids)
    SELECT u.id, u.org_id, u.key_id, u.user_id, u.status, u.model, u.previous_id, u.response, u.input,
      ($10::text[])[u.first_item:u.last_item]
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
        $11::int[], $12::int[])
      u (id, org_id, key_id, user_id, status, model, previous_id, response, input, first_item, last_item)
    ORDER BY u.id ON CONFLICT (id) DO NOTHING`,
};

/** A response at its end, as it is stored. */
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
}

const MAX_BATCH = 64;

/** Responses that end together share one statement and one commit, as their charges do. */
export function createSaves(sql: Sql): Batcher<NewResponse, null> {
  return createBatcher<NewResponse, null>({
    maxBatch: MAX_BATCH,
    retryable: wasRolledBack,
    async run(saved) {
      const of = <Name extends keyof NewResponse>(name: Name) => saved.map((one) => one[name]);
      const ends: number[] = [];
      for (const { itemIds } of saved) ends.push((ends.at(-1) ?? 0) + itemIds.length);
      await sql.query(INSERT, [
        of('id'),
        of('orgId'),
        of('keyId'),
        of('userId'),
        of('status'),
        of('model'),
        of('previousId'),
        of('response'),
        of('input'),
        saved.flatMap(({ itemIds }) => itemIds),
        ends.map((_, at) => (ends[at - 1] ?? 0) + 1),
        ends,
      ]);
      return saved.map(() => null);
    },
  });
}

/**
 * A response is saved before its charge, and shares its operation's ULID: one whose process died in between was never given to anybody, and
 * is not there until it is paid for.
 */
const IS_PAID = (
  table: string,
): string => `(${table}.status NOT IN ('completed', 'incomplete') OR NOT EXISTS (
    SELECT FROM usage_ledger l WHERE l.operation_id = 'op_' || substr(${table}.id, 6) AND l.state <> 'settled'))`;

export const FIND = `SELECT previous_id, response, input, status, sequence FROM responses r WHERE org_id = $1 AND id = $2 AND ${IS_PAID('r')}`;

/** A response and those before it, latest first. */
export const CHAIN = `WITH RECURSIVE chain AS (
    SELECT id, previous_id, input, response, status, 1 AS turn FROM responses f
      WHERE org_id = $1 AND id = $2 AND ${IS_PAID('f')}
    UNION ALL
    SELECT r.id, r.previous_id, r.input, r.response, r.status, c.turn + 1 FROM chain c
      JOIN responses r ON r.org_id = $1 AND r.id = c.previous_id WHERE c.turn < $3 AND ${IS_PAID('r')}
  ) SELECT id, previous_id, input, response, status FROM chain ORDER BY turn`;

/** Oldest first, so that of two items with one id the latest counts. */
export const ITEMS = `SELECT previous_id, input, response FROM responses r
  WHERE org_id = $1 AND item_ids && $2 AND ${IS_PAID('r')} ORDER BY created_at, id`;

export const LIST = `SELECT response, status, id FROM responses r
  WHERE org_id = $1 AND ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR id < $3) AND ${IS_PAID('r')}
  ORDER BY id DESC LIMIT $4`;

export const TEXTS = `SELECT response, status, id FROM responses r
  WHERE org_id = $1 AND id = ANY ($2) AND kind = 'response' AND ${IS_PAID('r')}`;

export const IS_STORED = 'SELECT id FROM responses WHERE id = $1';

export const KEYED = 'SELECT id, fingerprint FROM responses WHERE org_id = $1 AND idempotency_key = $2';

/** What follows of the events of many responses: response i after number `$3[i]`, at most `$4[i]`. */
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
  ORDER BY q.nth, e.sequence`,
};

export const POSITIONS = {
  name: 'responses_positions',
  text: 'SELECT id, sequence FROM responses WHERE id = ANY ($1)',
};

export const GET_MANY =
  'SELECT id, org_id, kind, status, sequence FROM responses WHERE org_id = $1 AND id = ANY ($2)';

export const DELETE = 'DELETE FROM responses WHERE org_id = $1 AND id = $2 RETURNING id';

/** Expired responses that are forgotten at once. */
const BATCH = 200;

export const FORGET = {
  name: 'responses_forget',
  text: `WITH gone AS (
      DELETE FROM responses WHERE id IN (
        SELECT id FROM responses WHERE created_at < now() - $1 * interval '1 day' ORDER BY created_at LIMIT ${BATCH})
      RETURNING id
    ) SELECT count(*)::int AS n FROM gone`,
};
