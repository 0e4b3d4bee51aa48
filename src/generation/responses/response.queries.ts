/** Stored responses: they are written at the end of every call, and hold whole texts of JSON that no entity carries. */

/** Texts of JSON as they were written: `jsonb` would reorder them, and takes no NUL. */
export const INSERT = {
  name: 'response_save',
  text: `INSERT INTO responses
      (id, org_id, key_id, user_id, status, model, previous_id, response, input, item_ids)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING`,
};

export const FIND = 'SELECT previous_id, response, input FROM responses WHERE org_id = $1 AND id = $2';

/** A response and those before it, latest first. */
export const CHAIN = `WITH RECURSIVE chain AS (
    SELECT id, previous_id, input, response, 1 AS turn FROM responses WHERE org_id = $1 AND id = $2
    UNION ALL
    SELECT r.id, r.previous_id, r.input, r.response, c.turn + 1 FROM chain c
      JOIN responses r ON r.org_id = $1 AND r.id = c.previous_id WHERE c.turn < $3
  ) SELECT id, previous_id, input, response FROM chain ORDER BY turn`;

/** Oldest first, so that of two items with one id the latest counts. */
export const ITEMS = `SELECT previous_id, input, response FROM responses WHERE org_id = $1 AND item_ids && $2 ORDER BY created_at, id`;

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
