import type { Database } from '../../database/database.types.js';
import { createOrganizationEventReader } from '../../events/index.js';
import type { OrganizationEventReader } from '../../events/index.js';
import { createBatcher } from '../../jobs/index.js';
import type { AgentRunService, RunEvent } from '../agents.types.js';
import { toEvent } from './run.row.js';
import type { EventRow } from './run.row.js';
import { EVENT_COLUMNS, EVENTS } from './run.queries.js';

/** The maximum of runs whose events are read together. */
const MAX_BATCH = 100;

/** Reads events of runs. Simultaneous requests for many runs share one read. */
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

/** Reads the next events of many runs at once: each process follows all runs that its subscribers watch. */
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

/** Reads the events of all runs of whole organisations. */
export function createRunEventReader(database: Pick<Database, 'system'>): OrganizationEventReader<RunEvent> {
  return createOrganizationEventReader<EventRow, RunEvent>(database, {
    ...{ table: 'agent_run_events', id: 'run_id', entities: 'agent_runs' },
    columns: EVENT_COLUMNS,
    toEvent,
  });
}
