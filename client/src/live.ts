import { mutations, queries, subscriptions } from './operations.generated.js';
import type { ChatCompletionInput, JobFilter, JobStatus, JobTool } from './operations.generated.js';
import type { Operation } from './operation.js';
import { randomKey } from './random.js';
import { toFault } from './fault.js';
import { waitMs } from './pause.js';
import type { PenstockError } from './fault.js';
import type { Transport } from './transport.js';

type FieldOf<O> = O extends Operation<never, infer Answer> ? NonNullable<Answer[keyof Answer]> : never;

/** A job, with the fields that the server returns. */
export type Job = FieldOf<(typeof queries)['job']>;
/** A run of an agent. */
export type AgentRun = FieldOf<(typeof queries)['agentRun']>;
/** One event of a run, with the state of the run at that event. */
export type AgentRunEvent = FieldOf<(typeof subscriptions)['agentRunSteps']>;
/** The plan and the buckets of the organisation. */
export type Quota = FieldOf<(typeof queries)['quota']>;
/** A chunk of a streamed chat. */
export type ChatChunk = FieldOf<(typeof subscriptions)['chatCompletion']>;

/** Receives what a live view delivers. */
export interface Listener<Value> {
  /** Called with each state or event, in order, once each. */
  next(value: Value): void;
  /** Called when no more values will come: with null because the object has ended, or with an error that retries cannot solve. */
  end?(error: PenstockError | null): void;
}

/** Which jobs a list shows. */
export interface JobsFilter {
  /** Only jobs of this kind. */
  tool?: JobTool;
  /** Only jobs that are not finished. */
  pending?: boolean;
  /** The same as `filter` of GraphQL's `jobs`. */
  filter?: JobFilter;
  /** Number of jobs on a page; default 20, at most 100. */
  pageSize?: number;
}

/** The current list of jobs, newest first. */
export interface JobList {
  /** The jobs of all pages that were read so far, newest first. */
  jobs: Job[];
  /** Whether there are older jobs. */
  hasMore: boolean;
  /** Reads the next page and adds it. @throws PenstockError */
  loadMore(): Promise<void>;
}

/** Live views. Each one continues after a lost socket, a restart, sleep or a renewed token: no gap, no repeat, no second charge. */
export interface Live {
  /** Follows a job until its end: first its current state, then each change. @returns a function that ends it */
  followJob(id: string, listener: Listener<Job>): () => void;
  /** Follows a list of jobs. The listener gets the whole list after each change. @returns a function that ends it */
  followJobs(filter: JobsFilter, listener: Listener<JobList>): () => void;
  /** Follows a run until its end: each event once, from the first one on. @returns a function that ends it */
  followRun(id: string, listener: Listener<AgentRunEvent>): () => void;
  /** Follows the buckets of the organisation as they change. @returns a function that ends it */
  followQuota(listener: Listener<Quota>): () => void;
  /**
   * Streams a chat: each chunk comes once, and the chat is charged once.
   * @returns a function that stops it, also at the server and at its upstream: only what was delivered is charged. Closing the page does not stop it
   */
  streamChat(input: ChatCompletionInput, listener: Listener<ChatChunk>): () => void;
}

const ORDER: Record<JobStatus, number> = { pending: 0, processing: 1, completed: 2, failed: 2, cancelled: 2 };

/** Chooses the later one of two states of a job: the known one and that of a page. A page may be older than an event that arrived before it. */
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
  // With an idempotency key the answer continues without its reader. After a lost connection the client joins it again at the same place.
  const idempotencyKey = randomKey();
  let after = 0;
  let isStopped = false;
  let isOver = false;
  const unfollow = transport.follow<{ chatCompletion: ChatChunk }>({
    query: subscriptions.chatCompletion.text,
    variables: () => ({ input, idempotencyKey, after }),
    next({ chatCompletion: chunk }) {
      const { sequence } = chunk;
      if (isStopped || (sequence !== null && sequence <= after)) return;
      after = sequence ?? after;
      next(chunk);
    },
    end(error) {
      isOver = true;
      if (!isStopped) end?.(error);
    },
    isLeft: () => isStopped,
  });
  return () => {
    if (isStopped || isOver) return;
    isStopped = true;
    void cancelChat(transport, idempotencyKey, () => isOver).finally(unfollow);
  };
}

/** The request to stop may reach the server before the chat does. Then it is sent again, at most this many times. */
const MOST_CANCELS = 20;

/** Ends a chat at the server. It resolves when the chat has ended there, or when there is nothing left to end. */
async function cancelChat(
  transport: Transport,
  idempotencyKey: string,
  isOver: () => boolean,
): Promise<void> {
  type Answer = { cancelResponseByKey: { response: object | null } };
  for (let tries = 0; tries < MOST_CANCELS && !isOver(); tries++) {
    const answer = await transport
      .request<Answer>(mutations.cancelResponseByKey.text, { idempotencyKey })
      .catch(() => null);
    // The transport has already reported its error, after its own retries.
    if (answer === null || answer.cancelResponseByKey.response !== null) return;
    await sleep(CANCEL_MS);
  }
}

const CANCEL_MS = 250;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const PAGE = 20;
/** A page that was read while the subscription was opening may lack the newest jobs. So the page is read once more after this time. */
const AGAIN_MS = 1500;

/** A list of jobs that combines pages with live events. */
class JobView {
  private readonly jobs = new Map<string, Job>();
  /** The number of each job's last event. */
  private readonly sequences = new Map<string, number>();
  private cursor: string | null = null;
  /** The cursor at which the events continue after a lost connection; null if no event has come yet. */
  private after: string | null = null;
  private hasMore = false;
  /** The oldest job of the pages that were read. */
  private oldest: Job | undefined;
  private isRead = false;
  private isStopped = false;
  /** How many readings in a row have failed. */
  private failures = 0;
  private again: ReturnType<typeof setTimeout> | undefined;
  private readonly unfollow: () => void;

  constructor(
    private readonly transport: Transport,
    private readonly filter: JobsFilter,
    private readonly listener: Listener<JobList>,
  ) {
    this.unfollow = transport.follow<{ jobUpdates: { cursor: string; sequence: number; job: Job } }>({
      query: subscriptions.jobUpdates.text,
      variables: () => ({ ...(filter.tool === undefined ? {} : { tool: filter.tool }), after: this.after }),
      opened: () => {
        // With a cursor the missed events arrive by themselves. But events do not say which end user a job belongs to, so a filter by end user needs
        // the pages.
        if (this.after === null || !this.isRead || filter.filter?.endUsers != null) this.catchUp();
      },
      next: ({ jobUpdates }) => this.takeEvent(jobUpdates),
      end: (error) => listener.end?.(error),
    });
  }

  readonly stop = (): void => {
    this.isStopped = true;
    clearTimeout(this.again);
    this.unfollow();
  };

  /** Reads the newest page now, and once more a little later. */
  private catchUp(): void {
    this.readIn(AGAIN_MS);
    void this.read();
  }

  private readIn(ms: number): void {
    clearTimeout(this.again);
    this.again = setTimeout(() => void this.read(), ms);
  }

  private async read(): Promise<void> {
    try {
      const { nodes, nextCursor } = await this.page(null);
      if (!this.isRead) this.turnTo(nextCursor);
      this.isRead = true;
      this.failures = 0;
      this.take(nodes);
    } catch (thrown) {
      const fault = toFault(thrown);
      if (this.isStopped) return;
      // The socket may stay open meanwhile, so nothing else would read the page again.
      if (fault.isTemporary) return this.readIn(waitMs(this.failures++, fault));
      this.stop();
      this.listener.end?.(fault);
    }
  }

  private async page(after: string | null) {
    type Answer = { jobs: { nodes: Job[]; nextCursor: string | null } };
    const { pageSize = PAGE, ...filter } = this.filter;
    const { jobs } = await this.transport.request<Answer>(queries.jobs.text, {
      ...filter,
      first: pageSize,
      after,
    });
    return jobs;
  }

  private turnTo(cursor: string | null): void {
    this.cursor = cursor;
    this.hasMore = cursor !== null;
  }

  private takeEvent({ cursor, sequence, job }: { cursor: string; sequence: number; job: Job }): void {
    this.after = cursor;
    if (sequence <= (this.sequences.get(job.id) ?? 0)) return;
    this.sequences.set(job.id, sequence);
    if (this.filter.filter?.endUsers != null && !this.jobs.has(job.id)) return;
    this.jobs.set(job.id, later(this.jobs.get(job.id), job));
    this.tell();
  }

  private take(found: readonly Job[]): void {
    const last = found.at(-1);
    if (last !== undefined && (this.oldest === undefined || newestFirst(this.oldest, last) < 0))
      this.oldest = last;
    for (const job of found) this.jobs.set(job.id, later(this.jobs.get(job.id), job));
    this.tell();
  }

  private tell(): void {
    if (!this.isRead || this.isStopped) return;
    const shown = [...this.jobs.values()].filter((job) => isShown(job, this.filter) && !this.isBeyond(job));
    const jobs = shown.sort((a, b) => newestFirst(a, b));
    this.listener.next({ jobs, hasMore: this.hasMore, loadMore: this.loadMore });
  }

  /** Whether the job belongs on a page that was not read yet. If it were shown now, there would be a gap before it. */
  private isBeyond(job: Job): boolean {
    const { oldest, hasMore } = this;
    return hasMore && oldest !== undefined && job.id !== oldest.id && newestFirst(oldest, job) < 0;
  }

  private readonly loadMore = async (): Promise<void> => {
    if (!this.hasMore) return;
    const { nodes, nextCursor } = await this.page(this.cursor);
    this.turnTo(nextCursor);
    this.take(nodes);
  };
}

const includes = <Value>(list: readonly Value[] | null | undefined, value: Value): boolean =>
  list == null || list.includes(value);

const OPEN: readonly JobStatus[] = ['pending', 'processing'];

/** The text that the caller asked for. */
const wordsOf = ({ inputParams }: Job): string => {
  const { prompt, input } = (inputParams ?? {}) as Record<string, unknown>;
  return [prompt, input]
    .filter((text) => typeof text === 'string')
    .join('\n')
    .toLowerCase();
};

/**
 * Whether a job of an event belongs in the list. Events do not name the end user: with a filter by end user only pages add jobs, and events change
 * them.
 */
function isShown(job: Job, { tool, pending = false, filter = {} }: JobsFilter): boolean {
  const { tools, statuses, models, keyIds, prompt, since, until } = filter;
  const at = Date.parse(job.createdAt);
  return (
    (tool === undefined || job.tool === tool) &&
    (!pending || OPEN.includes(job.status)) &&
    includes(tools, job.tool) &&
    includes(statuses, job.status) &&
    includes(models, job.modelId) &&
    includes(keyIds, job.keyId) &&
    (prompt == null || wordsOf(job).includes(prompt.toLowerCase())) &&
    (since == null || at >= Date.parse(since)) &&
    (until == null || at < Date.parse(until))
  );
}

function newestFirst(a: Job, b: Job): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}
