import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { openPipe, separated } from './bytes-pipe.js';
import { currentOrgId } from './org-context.js';
import { busy, FairSemaphore } from './fair-semaphore.js';
import { lowerPriority } from './process-priority.js';
import { watchCpu } from './cpu-time.js';
import { ProcessDiedError, TaskError } from './process.types.js';
import type { TaskReply } from './process.types.js';

const IDLE_MS = 20_000;
/** How many tasks of one organisation may wait. Each may hold a file in memory. */
const MAX_WAITING_PER_ORG = 100;

export interface ProcessPoolOptions {
  /** The bundled file that the processes run; it calls `answerTasks`. */
  entry: string;
  /** Its arguments. */
  args?: readonly string[];
  /** Maximum number of processes. A reserve of half as many more (at least one) is for organisations that have no running task. */
  size: number;
  /** Variables of the processes. They get nothing else of the server's environment, because it holds secrets. */
  environment?: Record<string, string>;
  /** `ignore` if a native library writes notes there. Default `inherit`. */
  stderr?: 'inherit' | 'ignore';
  /** JavaScript heap limit of each process, in megabytes. */
  heapMb: number;
  /** A task that takes longer is killed with its process. */
  taskTimeoutMs: number;
  /** A process that has been idle for this long is stopped. Default 20 s. */
  idleMs?: number;
}

export interface TaskOptions {
  signal?: AbortSignal | undefined;
  /** 0 to 100. */
  onProgress?: ((percent: number) => void) | undefined;
}

interface Waiting {
  task: object;
  options: TaskOptions;
  /** It is not tried again: a process died during it, or it took too long. */
  last: boolean;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** Listens to the signal until the task begins. */
  leave(): void;
}

interface Worker {
  process: ChildProcess;
  /** Null if the process could not start. */
  pipe: Socket | null;
  idle: NodeJS.Timeout | undefined;
  /** It was asked to end. A reply from it may still arrive. */
  ending: boolean;
}

/**
 * A pool of child processes that start when there is work and stop after a while without work. Each runs one task at a time. The processes are
 * shared fairly between organisations. Aborting a task kills the process that runs it.
 */
export class ProcessPool {
  /** Tasks that have a permit, for which a process has yet to end. */
  private readonly waiting: Waiting[] = [];
  private readonly permits: FairSemaphore;
  private readonly resting: Worker[] = [];
  private readonly workers = new Set<Worker>();
  private closed = false;
  private nextId = 1;

  constructor(private readonly options: ProcessPoolOptions) {
    this.permits = new FairSemaphore({ permits: options.size, maxWaitingPerOrg: MAX_WAITING_PER_ORG });
  }

  /**
   * If the process of a task dies, the task is run once more in another one: the process may have been killed for another reason (by the system
   * when memory is short, or by an operator). A task that ends two processes is at fault.
   * @throws TaskError what the task threw; the signal's reason; ProcessDiedError if it took too long or ended two processes; ApiError
   * unavailable if too many tasks of the organisation wait already, or if it took too long because the machine is busy
   */
  async run(task: object, options: TaskOptions = {}): Promise<unknown> {
    const permit = await this.permits.acquire(currentOrgId(), options.signal);
    try {
      options.signal?.throwIfAborted();
      return await this.placed(task, options);
    } finally {
      permit.release();
    }
  }

  private placed(task: object, options: TaskOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const entry: Waiting = {
        ...{ task, options, resolve, reject },
        last: false,
        leave: () => this.leave(entry),
      };
      this.waiting.push(entry);
      this.wait(entry);
    });
  }

  private wait({ options, leave }: Waiting): void {
    options.signal?.addEventListener('abort', leave, { once: true });
    this.next();
  }

  close(): void {
    this.closed = true;
    const reason = new Error('The process pool is closed');
    this.permits.close(reason);
    for (const { reject } of this.waiting.splice(0)) reject(reason);
    for (const worker of this.workers) this.end(worker, 'SIGKILL');
  }

  /** An aborted task that has not begun is given up at once. */
  private leave(entry: Waiting): void {
    const at = this.waiting.indexOf(entry);
    if (at < 0) return;
    this.waiting.splice(at, 1);
    entry.reject(entry.options.signal?.reason);
  }

  private next(): void {
    while (this.waiting.length > 0) {
      const worker = this.resting.pop() ?? (this.workers.size < this.permits.most ? this.start() : undefined);
      if (worker === undefined) return;
      this.work(worker, this.waiting.shift()!);
    }
  }

  private start(): Worker {
    const { entry, args = [], environment = {}, stderr = 'inherit', heapMb } = this.options;
    // A session of its own, so that Ctrl-C in the terminal reaches only the parent, which first returns its work to the queue.
    const child = fork(entry, [...args], {
      detached: true,
      env: environment,
      execArgv: [`--max-old-space-size=${heapMb}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', stderr, 'ipc', 'pipe'],
    });
    lowerPriority(child.pid);
    const worker: Worker = { process: child, pipe: openPipe(child), idle: undefined, ending: false };
    this.workers.add(worker);
    child.on('error', () => this.forget(worker));
    child.on('exit', () => this.forget(worker));
    return worker;
  }

  private forget(worker: Worker): void {
    clearTimeout(worker.idle);
    worker.pipe?.destroy();
    this.workers.delete(worker);
    this.unlist(worker);
    if (!this.closed) this.next();
  }

  private rest(worker: Worker): void {
    if (worker.ending) return;
    worker.process.unref();
    worker.process.channel?.unref();
    worker.pipe?.unref();
    worker.idle = setTimeout(() => this.end(worker, 'SIGTERM'), this.options.idleMs ?? IDLE_MS);
    worker.idle.unref();
    this.resting.push(worker);
  }

  private unlist(worker: Worker): void {
    const at = this.resting.indexOf(worker);
    if (at >= 0) this.resting.splice(at, 1);
  }

  /** The process gets no more tasks. It takes a moment to end; its successor starts after that. */
  private end(worker: Worker, signal: NodeJS.Signals): void {
    worker.ending = true;
    this.unlist(worker);
    worker.process.kill(signal);
  }

  private retry(entry: Waiting): void {
    entry.last = true;
    this.waiting.unshift(entry);
    this.wait(entry);
  }

  private work(worker: Worker, entry: Waiting): void {
    const { task, options, resolve, reject } = entry;
    const { signal, onProgress } = options;
    signal?.removeEventListener('abort', entry.leave);
    const child = worker.process;
    const id = this.nextId++;
    clearTimeout(worker.idle);
    child.ref();
    child.channel?.ref();
    worker.pipe?.ref();
    const stop = () => this.end(worker, 'SIGKILL');
    const lacksCpu = watchCpu(child.pid);
    let isStarved = false;
    const late = () => {
      entry.last = true;
      isStarved = lacksCpu();
      stop();
    };
    const deadline = setTimeout(late, this.options.taskTimeoutMs);
    const finish = (settle: () => void, reuse: boolean) => {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', stop);
      child.off('message', onReply).off('exit', onExit).off('error', onExit);
      settle();
      if (reuse) {
        this.rest(worker);
        this.next();
      }
    };
    const onReply = (reply: TaskReply) => {
      if (reply.id !== id) return;
      if ('progress' in reply) onProgress?.(reply.progress);
      else if ('result' in reply) finish(() => resolve(reply.result), true);
      else finish(() => reject(new TaskError(reply.fault)), true);
    };
    const onExit = () => {
      if (signal?.aborted === true) finish(() => reject(signal.reason), false);
      else if (isStarved) finish(() => reject(busy()), false);
      else if (entry.last || this.closed) finish(() => reject(new ProcessDiedError()), false);
      else finish(() => this.retry(entry), false);
    };
    child.on('message', onReply).once('exit', onExit).once('error', onExit);
    signal?.addEventListener('abort', stop, { once: true });
    const { bytes, task: message } = separated(task);
    child.send({ id, task: message, size: bytes?.length }, (error) => {
      if (error !== null) stop();
    });
    if (bytes !== undefined) worker.pipe?.write(bytes);
  }
}
