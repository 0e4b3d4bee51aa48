import { queries, subscriptions } from './operations.generated.js';
import type { ChatCompletionInput, JobStatus, JobTool } from './operations.generated.js';
import type { Operation } from './operation.js';
import { toFault } from './fault.js';
import type { PenstockError } from './fault.js';
import type { Transport } from './transport.js';

type FieldOf<O> = O extends Operation<never, infer Answer> ? NonNullable<Answer[keyof Answer]> : never;

/** A job as the server shows it. */
export type Job = FieldOf<(typeof queries)['job']>;
/** A run of an agent. */
export type AgentRun = FieldOf<(typeof queries)['agentRun']>;
/** One event of a run, with the run as it is then. */
export type AgentRunEvent = FieldOf<(typeof subscriptions)['agentRunSteps']>;
/** The plan and the buckets of the organisation. */
export type Quota = FieldOf<(typeof queries)['quota']>;
/** A chunk of a streamed chat. */
export type ChatChunk = FieldOf<(typeof subscriptions)['chatCompletion']>;

/** What a live view is told. */
export interface Listener<Value> {
  next(value: Value): void;
  /** It will not come again: the object has ended, or the error is for good. */
  end?(error: PenstockError | null): void;
}

/** Which jobs a list shows. */
export interface JobsFilter {
  tool?: JobTool;
}

/** Jobs, newest first, as they are now. */
export interface JobList {
  jobs: Job[];
  hasMore: boolean;
  /** Adds the next page. @throws PenstockError */
  loadMore(): Promise<void>;
}

/** Live views. Each goes on through lost sockets, restarts, sleep and renewed tokens: no gap, no repeat, no second charge. */
export interface Live {
  /** A job until its end: its state now, then each change. @returns what ends it */
  followJob(id: string, listener: Listener<Job>): () => void;
  /** A list of jobs, told anew with each change. @returns what ends it */
  followJobs(filter: JobsFilter, listener: Listener<JobList>): () => void;
  /** A run until its end: each event once, from its first. @returns what ends it */
  followRun(id: string, listener: Listener<AgentRunEvent>): () => void;
  /** The buckets of the organisation as they move. @returns what ends it */
  followQuota(listener: Listener<Quota>): () => void;
  /** Streams a chat: each chunk once, for one charge. @returns what ends it; the answer is worked on to its end all the same */
  streamChat(input: ChatCompletionInput, listener: Listener<ChatChunk>): () => void;
}

const ORDER: Record<JobStatus, number> = { pending: 0, processing: 1, completed: 2, failed: 2, cancelled: 2 };

/** Of a known state of a job and that of a page the later one: a page may be older than an event that came before it. */
function later(known: Job | undefined, next: Job): Job {
  if (known === undefined) return next;
  const difference = ORDER[next.status] - ORDER[known.status] || next.progress - known.progress;
  return difference >= 0 ? next : known;
}

export function createLive(transport: Transport): Live {
  return {
    followJob: (id, listener) => followJob(transport, id, listener),
    followJobs: (filter, listener) => new JobView(transport, filter, listener).stop,
    followRun: (id, listener) => followRun(transport, id, listener),
    followQuota: (listener) => followQuota(transport, listener),
    streamChat: (input, listener) => streamChat(transport, input, listener),
  };
}

function followJob(transport: Transport, id: string, { next, end }: Listener<Job>): () => void {
  const { text } = subscriptions.jobProgress;
  let after: number | null = null;
  return transport.follow<{ jobProgress: { sequence: number; job: Job } }>({
    query: text,
    variables: () => ({ id, after }),
    next({ jobProgress: { sequence, job } }) {
      if (after !== null && sequence <= after) return;
      after = sequence;
      next(job);
    },
    end: (error) => end?.(error),
  });
}

function followRun(transport: Transport, runId: string, { next, end }: Listener<AgentRunEvent>): () => void {
  let after = 0;
  return transport.follow<{ agentRunSteps: AgentRunEvent }>({
    query: subscriptions.agentRunSteps.text,
    variables: () => ({ runId, after }),
    next({ agentRunSteps: event }) {
      if (event.sequence <= after) return;
      after = event.sequence;
      next(event);
    },
    end: (error) => end?.(error),
  });
}

function followQuota(transport: Transport, { next, end }: Listener<Quota>): () => void {
  return transport.follow<{ quotaUpdates: Quota }>({
    query: subscriptions.quotaUpdates.text,
    variables: () => ({}),
    next: ({ quotaUpdates }) => next(quotaUpdates),
    end: (error) => end?.(error),
  });
}

function streamChat(
  transport: Transport,
  input: ChatCompletionInput,
  { next, end }: Listener<ChatChunk>,
): () => void {
  // Under a key of its own the answer goes on without its reader, and is joined again from where that was.
  const idempotencyKey = crypto.randomUUID();
  let after = 0;
  return transport.follow<{ chatCompletion: ChatChunk }>({
    query: subscriptions.chatCompletion.text,
    variables: () => ({ input, idempotencyKey, after }),
    next({ chatCompletion: chunk }) {
      const { sequence } = chunk;
      if (sequence !== null && sequence <= after) return;
      after = sequence ?? after;
      next(chunk);
    },
    end: (error) => end?.(error),
  });
}

const PAGE = 20;
/** A page that was read while the subscription opened may lack what came just then: it is read once more. */
const AGAIN_MS = 1500;

/** A list of jobs that pages and events fill together. */
class JobView {
  private readonly jobs = new Map<string, Job>();
  /** The number of each job's last event. */
  private readonly sequences = new Map<string, number>();
  private cursor: string | null = null;
  private hasMore = false;
  private isRead = false;
  private isStopped = false;
  private again: ReturnType<typeof setTimeout> | undefined;
  private readonly unfollow: () => void;

  constructor(
    private readonly transport: Transport,
    private readonly filter: JobsFilter,
    private readonly listener: Listener<JobList>,
  ) {
    this.unfollow = transport.follow<{ jobUpdates: { sequence: number; job: Job } }>({
      query: subscriptions.jobUpdates.text,
      variables: () => ({ ...filter }),
      opened: () => this.catchUp(),
      next: ({ jobUpdates }) => this.takeEvent(jobUpdates),
      end: (error) => listener.end?.(error),
    });
  }

  readonly stop = (): void => {
    this.isStopped = true;
    clearTimeout(this.again);
    this.unfollow();
  };

  /** Reads the newest page, now and a little later. */
  private catchUp(): void {
    clearTimeout(this.again);
    this.again = setTimeout(() => void this.read(), AGAIN_MS);
    void this.read();
  }

  private async read(): Promise<void> {
    try {
      const { nodes, nextCursor } = await this.page(null);
      if (!this.isRead) this.turnTo(nextCursor);
      this.isRead = true;
      this.take(nodes);
    } catch (thrown) {
      const fault = toFault(thrown);
      if (!this.isStopped && !fault.isTemporary) {
        this.stop();
        this.listener.end?.(fault);
      }
    }
  }

  private async page(after: string | null) {
    type Answer = { jobs: { nodes: Job[]; nextCursor: string | null } };
    const { jobs } = await this.transport.request<Answer>(queries.jobs.text, {
      ...this.filter,
      first: PAGE,
      after,
    });
    return jobs;
  }

  private turnTo(cursor: string | null): void {
    this.cursor = cursor;
    this.hasMore = cursor !== null;
  }

  private takeEvent({ sequence, job }: { sequence: number; job: Job }): void {
    if (sequence <= (this.sequences.get(job.id) ?? 0)) return;
    this.sequences.set(job.id, sequence);
    this.jobs.set(job.id, job);
    this.tell();
  }

  private take(found: readonly Job[]): void {
    for (const job of found) this.jobs.set(job.id, later(this.jobs.get(job.id), job));
    this.tell();
  }

  private tell(): void {
    if (!this.isRead || this.isStopped) return;
    const jobs = [...this.jobs.values()].sort((a, b) => newestFirst(a, b));
    this.listener.next({ jobs, hasMore: this.hasMore, loadMore: this.loadMore });
  }

  private readonly loadMore = async (): Promise<void> => {
    if (!this.hasMore) return;
    const { nodes, nextCursor } = await this.page(this.cursor);
    this.turnTo(nextCursor);
    this.take(nodes);
  };
}

function newestFirst(a: Job, b: Job): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}
