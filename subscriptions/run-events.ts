import type { Principal } from '../src/access/access.types.js';
import type { AgentRun, AgentRunService, RunEvent, RunEvents } from '../src/agents/agents.types.js';
import type { FileService } from '../src/files/index.js';
import type { OrganizationEventReader } from '../src/events/index.js';
import { EventHub, type EventCarriers } from './event-hub.js';
import { OrganizationEvents } from './organization-events.js';

export interface RunHubDependencies extends EventCarriers {
  runs: Pick<AgentRunService, 'getMany' | 'events' | 'positions'>;
  /** The events of all runs of an organisation. */
  all: OrganizationEventReader<RunEvent>;
  /** Replaces files in a step's output and in the model's text by signed URLs, once for all subscribers. */
  sign: FileService['sign'];
}

/** Live steps of runs for one process's subscribers. */
export interface RunHub
  extends RunEvents, Pick<EventHub<never, never, RunEvent>, 'size' | 'drain' | 'close'> {}

/** Builds the hub; it listens to hints and to the bus until closed. */
export async function createRunHub({ runs, all, sign, ...carriers }: RunHubDependencies): Promise<RunHub> {
  const shown = (event: RunEvent): RunEvent => ({ ...event, data: shownOf(event, sign) });
  const hub = new EventHub<Principal, AgentRun, RunEvent>(
    {
      noun: 'Run',
      hint: 'run_event',
      topic: 'agents',
      getMany: (principal, ids) => runs.getMany(principal, ids),
      async events({ id, orgId }, after, limit) {
        return (await runs.events(orgId, id, after, limit)).map(shown);
      },
      positions: (ids) => runs.positions(ids),
      isFinished: ({ status }) => status !== 'running',
      isLast: ({ type }) => type === 'done' || type === 'error',
    },
    carriers,
  );
  const reader: OrganizationEventReader<RunEvent> = {
    now: () => all.now(),
    async read(requested) {
      const found = await all.read(requested);
      return found.map(({ events, ...rest }) => ({
        ...rest,
        events: events.map(({ event, ...place }) => ({ ...place, event: shown(event) })),
      }));
    },
  };
  const organizations = new OrganizationEvents(reader, carriers.logger);
  hub.attach(organizations);
  await hub.start();
  return {
    get size() {
      return hub.size;
    },
    steps: ({ principal, agentId, runId, after }) =>
      hub.follow(principal, {
        id: runId,
        after,
        suits: (run) => agentId === null || run.agentId === agentId,
      }),
    updates: ({ orgId, agentId, runId, after }) =>
      organizations.subscribe(
        orgId,
        ({ run }) =>
          (agentId === undefined || run.agentId === agentId) && (runId === undefined || run.id === runId),
        after,
      ),
    drain: () => hub.drain(),
    close: () => hub.close(),
  };
}

/** A tool's input stays unchanged: it is the model's text, without file references. */
function shownOf({ run, data }: RunEvent, sign: FileService['sign']): RunEvent['data'] {
  const { step } = data as { step?: { tool_input?: unknown } };
  const signed = sign(run.orgId, data, run.createdAt);
  if (step?.tool_input === undefined) return signed;
  return { ...signed, step: { ...(signed['step'] as object), tool_input: step.tool_input } };
}
