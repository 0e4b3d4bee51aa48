import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
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

interface Task {
  task: WorkTask;
  signal: AbortSignal;
  resolve(reply: WorkReply): void;
  reject(error: unknown): void;
}

interface Thread {
  worker: Worker;
  idle: NodeJS.Timeout | undefined;
}

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

class Pool {
  private readonly permits = new FairSemaphore({
    permits: MAX_THREADS,
    maxWaitingPerOrg: MAX_WAITING_PER_ORG,
  });
  /** Tasks that have a permit, for which a thread has yet to end. */
  private readonly waiting: Task[] = [];
  private readonly resting: Thread[] = [];
  private readonly threads = new Set<Thread>();
  private closed = false;
  private nextId = 1;

  async run(task: WorkTask, signal: AbortSignal): Promise<WorkReply> {
    const permit = await this.permits.acquire(currentOrgId(), signal);
    try {
      signal.throwIfAborted();
      return await new Promise((resolve, reject) => {
        this.waiting.push({ task, signal, resolve, reject });
        this.next();
      });
    } finally {
      permit.release();
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    const reason = new WorkError('stopping');
    this.permits.close(reason);
    for (const { reject } of this.waiting.splice(0)) reject(reason);
    await Promise.all([...this.threads].map((thread) => this.end(thread)));
  }

  private next(): void {
    while (this.waiting.length > 0) {
      const thread = this.resting.pop() ?? (this.threads.size < this.permits.most ? this.start() : undefined);
      if (thread === undefined) return;
      const task = this.waiting.shift();
      if (task === undefined || task.signal.aborted) {
        task?.reject(task.signal.reason);
        this.rest(thread);
      } else this.work(thread, task);
    }
  }

  private start(): Thread {
    const worker = new Worker(entry(), {
      env: {},
      stdin: false,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    const thread: Thread = { worker, idle: undefined };
    this.threads.add(thread);
    worker.on('error', () => void this.end(thread));
    worker.on('exit', () => void this.end(thread));
    return thread;
  }

  private rest(thread: Thread): void {
    // A reply may still come from a thread that was told to end.
    if (!this.threads.has(thread)) return;
    clearTimeout(thread.idle);
    thread.worker.unref();
    thread.idle = setTimeout(() => void this.end(thread), IDLE_MS).unref();
    this.resting.push(thread);
  }

  private async end(thread: Thread): Promise<void> {
    clearTimeout(thread.idle);
    const known = this.threads.delete(thread);
    const at = this.resting.indexOf(thread);
    if (at >= 0) this.resting.splice(at, 1);
    await thread.worker.terminate();
    if (known && !this.closed) this.next();
  }

  private work(thread: Thread, { task, signal, resolve, reject }: Task): void {
    const { worker } = thread;
    const id = this.nextId++;
    clearTimeout(thread.idle);
    worker.ref();
    const stop = () => void this.end(thread);
    const deadline = setTimeout(stop, DEADLINE_MS);
    const finish = () => {
      clearTimeout(deadline);
      signal.removeEventListener('abort', stop);
      worker.off('message', onReply).off('exit', onExit);
    };
    const onReply = (reply: WorkReply) => {
      if (reply.id !== id) return;
      finish();
      resolve(reply);
      this.rest(thread);
      this.next();
    };
    const onExit = () => {
      finish();
      reject(signal.aborted ? signal.reason : new WorkError('it took too long or too much memory'));
    };
    worker.on('message', onReply).once('exit', onExit);
    signal.addEventListener('abort', stop, { once: true });
    worker.postMessage({ ...task, id });
  }
}
