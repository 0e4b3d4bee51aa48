import type { Database } from '../../database/database.types.js';
import { createBatcher } from '../../jobs/index.js';
import type { AgentRunService, RunEvent } from '../agents.types.js';
import { RUN_COLUMNS, toEvent } from './run.row.js';
import type { EventRow } from './run.row.js';

/** Runs whose events are read together. */
const MAX_BATCH = 100;
const EVENTS = {
  name: 'agent_runs_events',
  text: `SELECT ${RUN_COLUMNS.replace(/\w+/g, 'r.$&')}, e.sequence AS e_sequence, e.type AS e_type, e.data AS e_data,
    (q.nth - 1)::int AS nth, e.status AS e_status, e.total_steps AS e_total_steps, e.tokens_used AS e_tokens_used, e.credits_used AS e_credits_used
  FROM unnest($1::text[], $2::text[], $3::int[], $4::int[]) WITH ORDINALITY q (org_id, run_id, after, max, nth)
  JOIN agent_runs r ON r.id = q.run_id AND r.org_id = q.org_id
  CROSS JOIN LATERAL (
    SELECT * FROM agent_run_events v WHERE v.run_id = r.id AND v.sequence > q.after ORDER BY v.sequence LIMIT q.max
  ) e
  ORDER BY q.nth, e.sequence`,
};

/** Events of runs; those of many runs that are asked for at once are one read. */
export function createRunReader(database: Database): Pick<AgentRunService, 'events'> {
  const events = createBatcher<EventsOf, RunEvent[]>({
    run: (items) => readEvents(database, items),
    retryable: () => false,
    maxBatch: MAX_BATCH,
  });
  return { events: (orgId, runId, ...[after, limit]) => events.add({ orgId, runId, after, limit }) };
}

interface EventsOf {
  orgId: string;
  runId: string;
  after: number;
  limit: number;
}

/** The next events of many runs in one read: each process follows all the runs that its subscribers watch. */
async function readEvents(database: Database, items: EventsOf[]): Promise<RunEvent[][]> {
  const rows = await database.system.query<EventRow & { nth: number }>(EVENTS, [
    items.map(({ orgId }) => orgId),
    items.map(({ runId }) => runId),
    items.map(({ after }) => after),
    items.map(({ limit }) => limit),
  ]);
  const found: RunEvent[][] = items.map(() => []);
  for (const row of rows) found[row.nth]?.push(toEvent(row));
  return found;
}
