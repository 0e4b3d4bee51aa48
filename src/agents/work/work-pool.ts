import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { currentOrgId, FairSemaphore } from '../../processes/index.js';
import { WorkRefusal } from './work-refusal.js';
import type { ChartDrawing, ChartInput, ReadablePage, WorkReply, WorkTask } from './work.types.js';

/** Work of tools in threads: one task at a time in each, each with a deadline. */
export interface AgentWork {
  /** @throws WorkError for a page that cannot be read in time or at all */
  readablePage(html: string, url: string, signal: AbortSignal): Promise<ReadablePage>;
  /** @throws WorkRefusal where it cannot be drawn as asked */
  chart(chart: ChartInput, signal: AbortSignal): Promise<ChartDrawing>;
  /** @throws WorkRefusal where it cannot be set as asked */
  pdf(input: { title: string; markdown: string }, signal: AbortSignal): Promise<Buffer>;
  close(): Promise<void>;
}

/** The task failed, took too long or too much memory. */
export class WorkError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WorkError';
  }
}

/** One more comes for an organisation that has none of them. */
const MAX_THREADS = 2;
const MAX_WAITING_PER_ORG = 100;
const DEADLINE_MS = 15_000;
const IDLE_MS = 30_000;
const MEMORY_MB = 256;

/** Beside the bundle; under the tests, which run the sources, in the repository's build. */
function entry(): string {
  const path = import.meta.url.endsWith('.ts')
    ? '../../../dist/agent-work.thread.js'
    : './agent-work.thread.js';
  return fileURLToPath(new URL(path, import.meta.url));
}

/** Starts no thread yet: they come with the first task and go when there was none for a while. */
export function createAgentWork(): AgentWork {
  const pool = new Pool();
  return {
    async readablePage(html, url, signal) {
      const reply = await pool.run({ kind: 'page', html, url }, signal);
      if (!('page' in reply)) throw faultOf(reply);
      return reply.page;
    },
    async chart(chart, signal) {
      const reply = await pool.run({ kind: 'chart', chart }, signal);
      if (!('chart' in reply)) throw faultOf(reply);
      return reply.chart;
    },
    async pdf(input, signal) {
      const reply = await pool.run({ kind: 'pdf', ...input }, signal);
      if (!('pdf' in reply)) throw faultOf(reply);
      return Buffer.from(reply.pdf);
    },
    close: () => pool.close(),
  };
}

function faultOf(reply: WorkReply): Error {
  if ('refused' in reply) return new WorkRefusal(reply.refused);
  return new WorkError('failed' in reply ? reply.failed : 'failed');
}

/** The threads are piscina's, with a task in each; who has one next is decided by the fair semaphore. */
class Pool {
  private readonly permits = new FairSemaphore({
    permits: MAX_THREADS,
    maxWaitingPerOrg: MAX_WAITING_PER_ORG,
  });
  private readonly threads = new Piscina({
    filename: entry(),
    name: 'work',
    minThreads: 0,
    maxThreads: this.permits.most,
    idleTimeout: IDLE_MS,
    concurrentTasksPerWorker: 1,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });

  constructor() {
    // Of a thread that ends between tasks; its next task gets another one.
    this.threads.on('error', () => undefined);
  }

  async run(task: WorkTask, signal: AbortSignal): Promise<WorkReply> {
    const permit = await this.permits.acquire(currentOrgId(), signal);
    const late = new AbortController();
    const deadline = setTimeout(() => late.abort(), DEADLINE_MS);
    try {
      // The thread of a task that is cancelled or takes too long is ended.
      return (await this.threads.run(task, { signal: AbortSignal.any([signal, late.signal]) })) as WorkReply;
    } catch {
      signal.throwIfAborted();
      throw new WorkError('it took too long or too much memory');
    } finally {
      clearTimeout(deadline);
      permit.release();
    }
  }

  async close(): Promise<void> {
    this.permits.close(new WorkError('stopping'));
    await this.threads.destroy();
  }
}
