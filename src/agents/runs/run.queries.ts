/** Reads of runs, and the statement that creates one. The changes of a run are in run.moves.queries.ts. */
import { RUN_COLUMNS } from './run.row.js';

export const CREATE = { name: 'agent_runs_create', text: 'SELECT * FROM penstock_run_create($1::jsonb)' };

export const CANCEL = {
  name: 'agent_runs_cancel',
  text: 'SELECT moved, (run).* FROM penstock_run_cancel($1, $2)',
};

export const GET = `SELECT ${RUN_COLUMNS} FROM agent_runs WHERE id = $1 AND ($2::text IS NULL OR agent_id = $2)`;

export const GET_MANY = `SELECT ${RUN_COLUMNS} FROM agent_runs WHERE id = ANY ($1)`;

const LISTED = `org_id = $1 AND agent_id = $2 AND ($3::text IS NULL OR status = $3)
  AND ($4::text IS NULL OR session_id = $4)`;

export const listStatement = (backwards: boolean): string => `SELECT ${RUN_COLUMNS} FROM agent_runs
  WHERE ${LISTED} AND ($5::text IS NULL OR id < $5) AND ($6::text IS NULL OR id > $6)
  ORDER BY id ${backwards ? 'ASC' : 'DESC'} LIMIT $7`;

export const COUNT = `SELECT count(*)::float8 AS runs FROM agent_runs WHERE ${LISTED}`;

/** Steps, each with the time and the run's totals of its event: the stream tells the same. */
export const STEPS = `SELECT s.run_id, s.step_number, s.step_type, s.content, s.tool_name, s.tool_input, s.tool_output,
    e.created_at, e.tokens_used, e.credits_used
  FROM agent_run_steps s JOIN agent_run_events e ON e.run_id = s.run_id AND e.type = 'step' AND e.total_steps = s.step_number
  WHERE s.run_id = ANY ($1) ORDER BY s.run_id, s.step_number`;

/** Without the documents' texts, which may be long. */
export const ATTACHMENTS = `SELECT r.id AS run_id, a.value->>'type' AS type, a.value->>'name' AS name, f.id AS file_id, f.extension
  FROM agent_runs r CROSS JOIN LATERAL jsonb_array_elements(r.attachments) WITH ORDINALITY a
  LEFT JOIN files f ON f.id = a.value->>'fileId' WHERE r.id = ANY ($1) ORDER BY r.id, a.ordinality`;

export const KNOWN = `SELECT 1 FROM agents WHERE id = $1 AND deleted_at IS NULL
  UNION ALL SELECT 1 FROM agent_runs WHERE org_id = $2 AND agent_id = $1 LIMIT 1`;

export const POSITIONS = {
  name: 'agent_runs_positions',
  text: 'SELECT id, sequence FROM agent_runs WHERE id = ANY ($1)',
};

/** An event `e` and its run `x`. */
export const EVENT_COLUMNS = `${RUN_COLUMNS.replace(/\w+/g, 'x.$&')}, e.sequence AS e_sequence, e.type AS e_type, e.data AS e_data,
    e.status AS e_status, e.total_steps AS e_total_steps, e.tokens_used AS e_tokens_used, e.credits_used AS e_credits_used,
    e.created_at AS e_created_at`;

export const EVENTS = {
  name: 'agent_runs_events',
  text: `SELECT ${EVENT_COLUMNS}, (q.nth - 1)::int AS nth
  FROM unnest($1::text[], $2::text[], $3::int[], $4::int[]) WITH ORDINALITY q (org_id, run_id, after, max, nth)
  JOIN agent_runs x ON x.id = q.run_id AND x.org_id = q.org_id
  CROSS JOIN LATERAL (
    SELECT * FROM agent_run_events v WHERE v.run_id = x.id AND v.sequence > q.after ORDER BY v.sequence LIMIT q.max
  ) e
  ORDER BY q.nth, e.sequence`,
};

export const EARLIER = `SELECT input, output, created_at FROM agent_runs
  WHERE org_id = $1 AND agent_id = $2 AND session_id = $3 AND id < $4 AND status = 'completed' ORDER BY id DESC LIMIT $5`;

export const IS_STORED = 'SELECT id FROM agent_runs WHERE id = $1';
