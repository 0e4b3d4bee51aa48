import type { Logger } from 'pino';
import type { JobPosition } from '../src/jobs/index.js';
import type { JobEvent } from '../src/jobs/jobs.types.js';
import type { Tool } from '../src/contract/words.js';
import { BoundedQueue } from './bounded-queue.js';
import { isTerminal, type JobChannel } from './job-channel.js';

/** Positions of many jobs in one read; unknown ids are left out. */
export type JobLookup = (jobIds: string[]) => Promise<JobPosition[]>;

const QUEUE_CAPACITY = 256;
const REMEMBERED = 4096;

interface Dependencies {
  lookup: JobLookup;
  moving(orgIds: string[]): Promise<JobPosition[]>;
  now(): Promise<Date>;
  logger: Logger;
  open(orgId: string, jobId: string, start: number): JobChannel;
  release(jobId: string): void;
}

interface Watch {
  /** When its first subscriber came, by the clock that jobs' `createdAt` is told by, the database's. Null until that is known. */
  since: Date | null;
  /** The same by `performance.now()`: the other clock is read later, and a job may begin meanwhile. */
  begunAt: number;
  queues: Set<{ tool: Tool | undefined; queue: BoundedQueue<JobEvent> }>;
  /** Jobs that this organisation's subscribers follow at the moment, with the way to let go of each. */
  following: Map<string, () => void>;
  /** Jobs told to their end, oldest first: a late hint must not tell them again. */
  finished: Set<string>;
  /** How far each job was at the last sweep. */
  swept: Map<string, number>;
}

/** All jobs' events of the organisations that somebody watches: a job is followed from its first hint to its last event. */
export class JobUpdates {
  readonly #watches = new Map<string, Watch>();
  readonly #looking = new Map<string, Promise<void>>();
  #now: Promise<Date> | null = null;
  #size = 0;

  constructor(private readonly dependencies: Dependencies) {}

  get size(): number {
    return this.#size;
  }

  subscribe({ orgId, tool }: { orgId: string; tool?: Tool }): AsyncIterableIterator<JobEvent> {
    const watch = this.#watches.get(orgId) ?? newWatch();
    this.#watches.set(orgId, watch);
    const entry = {
      tool,
      queue: new BoundedQueue<JobEvent>(QUEUE_CAPACITY, () => {
        this.#size--;
        watch.queues.delete(entry);
        if (watch.queues.size === 0) this.#stop(orgId, watch);
      }),
    };
    watch.queues.add(entry);
    this.#size++;
    // Where the database is away whoever needs it asks again.
    void this.#begin(watch).catch(() => undefined);
    return entry.queue;
  }

  /** Costs one query for a job that is not followed yet, and nothing while nobody watches. */
  wake(jobId: string, sequence: number): void {
    if (this.#watches.size === 0 || this.#looking.has(jobId)) return;
    for (const { following, finished } of this.#watches.values()) {
      if (following.has(jobId) || finished.has(jobId)) return;
    }
    const looking = this.#follow(jobId, sequence)
      .catch((error: unknown) => {
        this.dependencies.logger.warn({ err: error, jobId }, 'a job could not be followed');
      })
      .finally(() => this.#looking.delete(jobId));
    this.#looking.set(jobId, looking);
  }

  /** Finds the jobs whose hints all got lost: what began under our eyes, and what moved since the last sweep. One query for all watches. */
  async sweep(): Promise<void> {
    if (this.#watches.size === 0) return;
    const watched = [...this.#watches];
    await Promise.all(watched.map(([, watch]) => this.#begin(watch)));
    const swept = new Map(watched.map(([orgId]) => [orgId, new Map<string, number>()]));
    for (const { id, orgId, createdAt, sequence } of await this.dependencies.moving([...swept.keys()])) {
      const watch = this.#watches.get(orgId);
      if (!watch?.since) continue;
      swept.get(orgId)?.set(id, sequence);
      const known = createdAt >= watch.since ? 0 : (watch.swept.get(id) ?? sequence);
      if (known < sequence) this.wake(id, known + 1);
    }
    for (const [orgId, watch] of watched) watch.swept = swept.get(orgId) ?? new Map();
  }

  /** Ends every subscriber's stream. */
  end(): void {
    for (const { queues } of [...this.#watches.values()]) {
      for (const { queue } of [...queues]) void queue.return();
    }
  }

  /** Subscribers that come at the same moment share a look at the clock. */
  async #begin(watch: Watch): Promise<Date> {
    if (watch.since !== null) return watch.since;
    this.#now ??= this.dependencies.now().finally(() => {
      this.#now = null;
    });
    const now = await this.#now;
    return (watch.since ??= new Date(now.getTime() - (performance.now() - watch.begunAt)));
  }

  async #follow(jobId: string, sequence: number): Promise<void> {
    const [job] = await this.dependencies.lookup([jobId]);
    const watch = job && this.#watches.get(job.orgId);
    if (!job || !watch) return;
    // A job that began under our eyes is told from its first event, even where its first hints got lost.
    const start = job.createdAt >= (await this.#begin(watch)) ? 0 : sequence - 1;
    const channel = this.dependencies.open(job.orgId, jobId, start);
    // Where others opened the channel at a later place, what is before it is read.
    const earlier = await channel.missing(start).catch((error: unknown) => {
      this.dependencies.release(jobId);
      throw error;
    });
    // Its subscribers went meanwhile, and others may have come.
    if (this.#watches.get(job.orgId) !== watch) {
      this.dependencies.release(jobId);
      return await this.#follow(jobId, sequence);
    }
    let told = start;
    const tell = (event: JobEvent): void => {
      if (event.sequence <= told) return;
      told = event.sequence;
      this.#arrived(watch, event);
    };
    const unlisten = channel.listen(tell);
    watch.following.set(jobId, () => {
      unlisten();
      this.dependencies.release(jobId);
    });
    for (const event of earlier) tell(event);
    for (const event of channel.since(told) ?? []) tell(event);
    channel.wake();
  }

  #arrived(watch: Watch, event: JobEvent): void {
    for (const { tool, queue } of [...watch.queues]) {
      if (tool === undefined || tool === event.job.tool) queue.push(event);
    }
    if (!isTerminal(event)) return;
    remember(watch.finished, event.job.id);
    this.#leave(watch, event.job.id);
  }

  #leave(watch: Watch, jobId: string): void {
    watch.following.get(jobId)?.();
    watch.following.delete(jobId);
  }

  #stop(orgId: string, watch: Watch): void {
    for (const jobId of [...watch.following.keys()]) this.#leave(watch, jobId);
    if (this.#watches.get(orgId) === watch) this.#watches.delete(orgId);
  }
}

function newWatch(): Watch {
  return {
    since: null,
    begunAt: performance.now(),
    queues: new Set(),
    following: new Map(),
    finished: new Set(),
    swept: new Map(),
  };
}

function remember(finished: Set<string>, jobId: string): void {
  finished.add(jobId);
  if (finished.size <= REMEMBERED) return;
  for (const oldest of finished) {
    finished.delete(oldest);
    return;
  }
}
