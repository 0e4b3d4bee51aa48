import type { Logger } from 'pino';
import type { Hints } from '../src/database/hints.types.js';
import type { Bus, BusSubscription } from '../src/events/events.types.js';
import { invalid, notFound } from '../src/contract/errors.js';
import type { JobPosition } from '../src/jobs/index.js';
import type { Job, JobEvent, JobEvents, JobService } from '../src/jobs/jobs.types.js';
import type { Tool } from '../src/contract/words.js';
import { JobChannel, RECENT } from './job-channel.js';
import { JobCursor } from './job-cursor.js';
import { JobUpdates } from './job-updates.js';
import type { JobLookup } from './job-updates.js';
import { ReadTogether } from './read-together.js';

const SWEEP_MS = 2_000;

export interface JobHubDependencies {
  jobs: Pick<JobService, 'getMany' | 'events'>;
  hints: Pick<Hints, 'on'>;
  bus: Pick<Bus, 'subscribe'>;
  lookup: JobLookup;
  /** Positions of the jobs of these organisations that move, or ended a moment ago. */
  moving(orgIds: string[]): Promise<JobPosition[]>;
  /** The clock that jobs' `createdAt` is told by: this process's may be set otherwise. */
  now(): Promise<Date>;
  logger: Logger;
}

/** The subscription hub of one process. */
export interface JobHub extends JobEvents {
  /** Open subscribers, for the proof that none leaks. */
  readonly size: number;
  /** The process stops: every stream ends where it is; its client resumes elsewhere. */
  drain(): void;
  close(): Promise<void>;
}

interface Shared {
  channel: JobChannel;
  users: number;
}

/** Builds the hub; it listens to hints and to the bus until closed. */
export async function createJobHub(dependencies: JobHubDependencies): Promise<JobHub> {
  const hub = new Hub(dependencies);
  await hub.start();
  return hub;
}

class Hub implements JobHub {
  readonly #channels = new Map<string, Shared>();
  readonly #updates: JobUpdates;
  #unlisten: () => void = () => {};
  #subscription: BusSubscription | null = null;
  #timer: NodeJS.Timeout | undefined;
  readonly #cursors = new Set<JobCursor>();
  readonly #jobs: ReadTogether<{ orgId: string }, Job>;

  constructor(private readonly dependencies: JobHubDependencies) {
    this.#jobs = new ReadTogether(({ orgId }, ids) => dependencies.jobs.getMany(orgId, ids));
    this.#updates = new JobUpdates({
      ...dependencies,
      open: (orgId, jobId, start) => this.#open(orgId, jobId, start),
      release: (jobId) => this.#release(jobId),
    });
  }

  async start(): Promise<void> {
    this.#unlisten = this.dependencies.hints.on('job_event', (payload) => {
      const [jobId, sequence] = payload.split(':');
      if (jobId) this.#wake(jobId, Number(sequence));
    });
    this.#subscription = await this.dependencies.bus.subscribe(
      { topics: ['jobs'], group: null },
      (message) => {
        this.#wake(message.key, message.event.sequence ?? 0);
      },
    );
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  get size(): number {
    return this.#cursors.size + this.#updates.size;
  }

  async progress(query: { orgId: string; jobId: string; after?: number }) {
    const { orgId, jobId, after } = query;
    if (after !== undefined && (!Number.isSafeInteger(after) || after < 0)) {
      throw invalid('after must be a sequence number', 'after');
    }
    const job = await this.#jobs.find({ orgId }, jobId);
    if (!job) throw notFound('Job not found');
    if (after !== undefined && after > job.sequence) {
      throw invalid(`after is beyond the last event (${job.sequence})`, 'after');
    }
    const start = after ?? job.sequence - 1;
    if (start === job.sequence && isFinished(job)) return nothing();
    return this.#subscribe(job, start);
  }

  updates(query: { orgId: string; tool?: Tool }): AsyncIterableIterator<JobEvent> {
    return this.#updates.subscribe(query);
  }

  drain(): void {
    for (const cursor of [...this.#cursors]) void cursor.return();
    this.#updates.end();
  }

  async close(): Promise<void> {
    this.drain();
    clearInterval(this.#timer);
    this.#unlisten();
    await this.#subscription?.close();
  }

  #subscribe(job: Job, start: number): JobCursor {
    const channel = this.#open(job.orgId, job.id, start);
    const cursor = new JobCursor(channel, start, RECENT, () => {
      this.#cursors.delete(cursor);
      this.#release(job.id);
    });
    this.#cursors.add(cursor);
    channel.wake(job.sequence);
    return cursor;
  }

  #open(orgId: string, jobId: string, start: number): JobChannel {
    let shared = this.#channels.get(jobId);
    if (!shared) {
      const read = (after: number, limit: number) =>
        this.dependencies.jobs.events(orgId, jobId, after, limit);
      const failed = (error: unknown) =>
        this.dependencies.logger.warn(
          { err: error, jobId },
          'reading job events failed; the sweep tries again',
        );
      shared = { channel: new JobChannel(start, read, failed), users: 0 };
      this.#channels.set(jobId, shared);
    }
    shared.users++;
    return shared.channel;
  }

  #release(jobId: string): void {
    const shared = this.#channels.get(jobId);
    if (shared && --shared.users === 0) this.#channels.delete(jobId);
  }

  #wake(jobId: string, sequence: number): void {
    this.#channels.get(jobId)?.channel.wake(sequence);
    this.#updates.wake(jobId, sequence);
  }

  /** A hint can get lost with a connection: what is watched is looked at again, all of it in one read. */
  async #sweep(): Promise<void> {
    try {
      await this.#updates.sweep();
      if (this.#channels.size === 0) return;
      const positions = await this.dependencies.lookup([...this.#channels.keys()]);
      for (const { id, sequence } of positions) this.#channels.get(id)?.channel.wake(sequence);
    } catch (error) {
      this.dependencies.logger.warn({ err: error }, 'sweeping job events failed; the next sweep tries again');
    }
  }
}

function isFinished(job: Job): boolean {
  return job.status === 'completed' || job.status === 'failed' || job.status === 'cancelled';
}

async function* nothing(): AsyncGenerator<JobEvent> {}
