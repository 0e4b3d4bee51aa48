import type { Logger } from 'pino';
import type { AgentRun, AgentRunService, RunEvent, RunEvents } from '../src/agents/agents.types.js';
import type { Principal } from '../src/access/access.types.js';
import { invalid, notFound } from '../src/contract/errors.js';
import type { FileService } from '../src/files/index.js';
import type { Hints } from '../src/database/hints.types.js';
import type { Bus, BusSubscription } from '../src/events/events.types.js';
import { JobChannel, RECENT } from './job-channel.js';
import { JobCursor } from './job-cursor.js';
import { ReadTogether } from './read-together.js';

const SWEEP_MS = 2_000;

export interface RunHubDependencies {
  runs: Pick<AgentRunService, 'getMany' | 'events' | 'positions'>;
  hints: Pick<Hints, 'on'>;
  bus: Pick<Bus, 'subscribe'>;
  /** Files in a step's output and in what the model wrote become signed URLs, once for all subscribers. */
  sign: FileService['sign'];
  logger: Logger;
}

/** Live steps of runs for one process's subscribers. */
export interface RunHub extends RunEvents {
  readonly size: number;
  /** The process stops: every stream ends where it is; its client resumes elsewhere. */
  drain(): void;
  close(): Promise<void>;
}

interface Shared {
  channel: JobChannel<RunEvent>;
  users: number;
}

type Query = Parameters<RunEvents['steps']>[0];

/** Builds the hub; it listens to hints and to the bus until closed. */
export async function createRunHub(dependencies: RunHubDependencies): Promise<RunHub> {
  const hub = new Hub(dependencies);
  await hub.start();
  return hub;
}

class Hub implements RunHub {
  readonly #channels = new Map<string, Shared>();
  readonly #cursors = new Set<JobCursor<RunEvent>>();
  #unlisten: () => void = () => {};
  #subscription: BusSubscription | null = null;
  #timer: NodeJS.Timeout | undefined;

  readonly #runs: ReadTogether<Principal, AgentRun>;

  constructor(private readonly dependencies: RunHubDependencies) {
    this.#runs = new ReadTogether((principal, ids) => dependencies.runs.getMany(principal, ids));
  }

  async start(): Promise<void> {
    const { hints, bus } = this.dependencies;
    this.#unlisten = hints.on('run_event', (payload) => {
      const [runId = '', sequence] = payload.split(':');
      this.#channels.get(runId)?.channel.wake(Number(sequence));
    });
    this.#subscription = await bus.subscribe({ topics: ['agents'], group: null }, ({ key, event }) => {
      this.#channels.get(key)?.channel.wake(event.sequence ?? 0);
    });
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  get size(): number {
    return this.#cursors.size;
  }

  async steps({ principal, agentId, runId, after }: Query): Promise<AsyncIterableIterator<RunEvent>> {
    if (after !== undefined && (!Number.isSafeInteger(after) || after < 0))
      throw invalid('after must be a sequence number', 'after');
    const run = await this.#runs.find(principal, runId);
    if (!run || (agentId !== null && run.agentId !== agentId)) throw notFound('Run not found');
    if (after !== undefined && after > run.sequence)
      throw invalid(`after is beyond the last event (${run.sequence})`, 'after');
    const start = after ?? run.sequence - 1;
    if (start === run.sequence && run.status !== 'running') return nothing();
    return this.#subscribe(run, start);
  }

  drain(): void {
    for (const cursor of [...this.#cursors]) void cursor.return();
  }

  async close(): Promise<void> {
    this.drain();
    clearInterval(this.#timer);
    this.#unlisten();
    await this.#subscription?.close();
  }

  #subscribe(run: AgentRun, start: number): JobCursor<RunEvent> {
    const channel = this.#open(run, start);
    const release = () => {
      this.#cursors.delete(cursor);
      const shared = this.#channels.get(run.id);
      if (shared && --shared.users === 0) this.#channels.delete(run.id);
    };
    const isLast = ({ type }: RunEvent) => type === 'done' || type === 'error';
    const cursor = new JobCursor<RunEvent>(channel, start, RECENT, release, isLast);
    this.#cursors.add(cursor);
    channel.wake(run.sequence);
    return cursor;
  }

  #open({ id, orgId }: AgentRun, start: number): JobChannel<RunEvent> {
    const { runs, sign, logger } = this.dependencies;
    let shared = this.#channels.get(id);
    if (!shared) {
      const read = async (after: number, limit: number) =>
        (await runs.events(orgId, id, after, limit)).map((event) => ({
          ...event,
          data: shownOf(event, sign),
        }));
      const failed = (error: unknown) =>
        logger.warn({ err: error, runId: id }, 'reading run events failed; the sweep tries again');
      shared = { channel: new JobChannel<RunEvent>(start, read, failed), users: 0 };
      this.#channels.set(id, shared);
    }
    shared.users++;
    return shared.channel;
  }

  /** A hint can get lost with a connection: what is watched is looked at again, all of it in one read. */
  async #sweep(): Promise<void> {
    if (this.#channels.size === 0) return;
    try {
      const positions = await this.dependencies.runs.positions([...this.#channels.keys()]);
      for (const { id, sequence } of positions) this.#channels.get(id)?.channel.wake(sequence);
    } catch (error) {
      this.dependencies.logger.warn({ err: error }, 'sweeping run events failed; the next sweep tries again');
    }
  }
}

/** What a tool was given stays as it was: that are the model's words, which refer to no file. */
function shownOf({ run, data }: RunEvent, sign: RunHubDependencies['sign']): RunEvent['data'] {
  const { step } = data as { step?: { tool_input?: unknown } };
  const signed = sign(run.orgId, data, run.createdAt);
  if (step?.tool_input === undefined) return signed;
  return { ...signed, step: { ...(signed['step'] as object), tool_input: step.tool_input } };
}

async function* nothing(): AsyncGenerator<RunEvent> {}
