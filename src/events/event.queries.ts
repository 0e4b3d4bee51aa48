/** The outbox and the dead letters. */
import type { Statement } from '../database/database.types.js';

export const TAKE_OUTBOX: Statement = {
  name: 'outbox_take',
  // It deletes published rows only, and the rows that it returns stay in the table.
  repeatable: true,
  text: `SELECT id::text, topic, key, event ->> 'id' AS event_id, event ->> 'type' AS event_type, event::text AS json
    FROM penstock_outbox_take($1, $2, $3, $4::bigint[], $5::bigint[])`,
};

export const DEAD_LETTER = {
  name: 'dead_letter_insert',
  text: 'INSERT INTO dead_letters (topic, key, consumer_group, event, error) VALUES ($1, $2, $3, $4, $5)',
};

export const LIST_DEAD_LETTERS = `SELECT id::text, topic, key, consumer_group AS "group", error, event, created_at AS "createdAt"
     FROM dead_letters ORDER BY id LIMIT $1`;

/** Back into the outbox, in their order. $2: at most so many are returned; each row has the number of all. */
export const REPLAY_DEAD_LETTERS = `WITH gone AS (
         DELETE FROM dead_letters WHERE $1::bigint[] IS NULL OR id = ANY ($1::bigint[])
           RETURNING id, topic, key, consumer_group, error, event, created_at
       ), put AS (
         INSERT INTO outbox (topic, key, event) SELECT topic, key, event FROM gone ORDER BY id
       ), told AS MATERIALIZED (SELECT pg_notify('penstock_outbox', '') AS told)
       SELECT gone.id::text, topic, key, consumer_group AS "group", error, event, created_at AS "createdAt", told, count(*) OVER ()::int AS replayed
         FROM gone CROSS JOIN told ORDER BY gone.id LIMIT $2`;
