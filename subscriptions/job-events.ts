import type { Job, JobEvent, JobEvents, JobService } from '../src/jobs/jobs.types.js';
import { EventHub, type EventCarriers } from './event-hub.js';
import { OrganizationEvents, type OrganizationSource } from './organization-events.js';

export interface JobHubDependencies
  extends EventCarriers, Pick<OrganizationSource<JobEvent>, 'positions' | 'moving' | 'now'> {
  jobs: Pick<JobService, 'getMany' | 'events'>;
}

/** Live jobs of one process: one job's events, and those of all jobs of an organisation. */
export interface JobHub
  extends JobEvents, Pick<EventHub<never, never, JobEvent>, 'size' | 'drain' | 'close'> {}

/** Builds the hub; it listens to hints and to the bus until closed. */
export async function createJobHub(dependencies: JobHubDependencies): Promise<JobHub> {
  const { jobs, positions, moving, now } = dependencies;
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
    dependencies,
  );
  const all = new OrganizationEvents<JobEvent>(
    { positions, moving, now, idOf: ({ job }) => job.id, isLast },
    hub,
  );
  hub.attach(all);
  await hub.start();
  return {
    get size() {
      return hub.size;
    },
    progress: ({ orgId, jobId, after }) => hub.follow({ orgId }, { id: jobId, after }),
    updates: ({ orgId, tool, jobId }) =>
      all.subscribe(
        orgId,
        ({ job }) => (tool === undefined || tool === job.tool) && (jobId === undefined || jobId === job.id),
      ),
    drain: () => hub.drain(),
    close: () => hub.close(),
  };
}

function isLast({ type }: JobEvent): boolean {
  return type === 'job.completed' || type === 'job.failed' || type === 'job.cancelled';
}
