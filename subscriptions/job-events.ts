import type { Job, JobEvent, JobEvents, JobService } from '../src/jobs/jobs.types.js';
import { EventHub, type EventCarriers } from './event-hub.js';
import { OrganizationEvents } from './organization-events.js';
import type { OrganizationEventReader } from '../src/events/index.js';

export interface JobHubDependencies extends EventCarriers {
  jobs: Pick<JobService, 'getMany' | 'events'>;
  /** Positions of many jobs in one read; unknown ids are left out. */
  positions(ids: string[]): Promise<{ id: string; sequence: number }[]>;
  /** The events of all jobs of an organisation. */
  all: OrganizationEventReader<JobEvent>;
}

/** Live jobs of one process: one job's events, and those of all jobs of an organisation. */
export interface JobHub
  extends JobEvents, Pick<EventHub<never, never, JobEvent>, 'size' | 'drain' | 'close'> {}

/** Builds the hub; it listens to hints and to the bus until closed. */
export async function createJobHub(dependencies: JobHubDependencies): Promise<JobHub> {
  const { jobs, positions, all, ...carriers } = dependencies;
  const hub = new EventHub<{ orgId: string }, Job, JobEvent>(
    {
      noun: 'Job',
      hint: 'job_event',
      topic: 'jobs',
      getMany: ({ orgId }, ids) => jobs.getMany(orgId, ids),
      events: ({ id, orgId }, after, limit) => jobs.events(orgId, id, after, limit),
      positions,
      isFinished: ({ status }) => status === 'completed' || status === 'failed' || status === 'cancelled',
      isLast,
    },
    carriers,
  );
  const organizations = new OrganizationEvents(all, carriers.logger);
  hub.attach(organizations);
  await hub.start();
  return {
    get size() {
      return hub.size;
    },
    progress: ({ orgId, jobId, after }) => hub.follow({ orgId }, { id: jobId, after }),
    updates: ({ orgId, tool, jobId, after }) =>
      organizations.subscribe(
        orgId,
        ({ job }) => (tool === undefined || tool === job.tool) && (jobId === undefined || jobId === job.id),
        after,
      ),
    drain: () => hub.drain(),
    close: () => hub.close(),
  };
}

function isLast({ type }: JobEvent): boolean {
  return type === 'job.completed' || type === 'job.failed' || type === 'job.cancelled';
}
