import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { UnreadableImageError } from './imaging.types.js';
import type { ImagingReply, ImagingTask, RasterImage } from './imaging.types.js';

const IDLE_MS = 20_000;
const TASK_TIMEOUT_MS = 60_000;

export interface PoolOptions {
  entry: string;
  mode: 'art' | 'photos';
  size: number;
  environment: Record<string, string>;
}

interface Task {
  task: ImagingTask;
  resolve(image: RasterImage): void;
  reject(error: unknown): void;
  signal: AbortSignal | undefined;
}

interface Worker {
  process: ChildProcess;
  idle: NodeJS.Timeout | undefined;
}

/** A few processes that come when there is work and go when there has been none for a while. One task at a time in each. */
export class ProcessPool {
  private readonly waiting: Task[] = [];
  private readonly resting: Worker[] = [];
  private readonly workers = new Set<Worker>();
  private closed = false;
  private nextId = 1;

  constructor(private readonly options: PoolOptions) {}

  run(task: ImagingTask, signal?: AbortSignal): Promise<RasterImage> {
    if (this.closed) return Promise.reject(new Error('Imaging is closed'));
    return new Promise((resolve, reject) => {
      this.waiting.push({ task, resolve, reject, signal });
      this.next();
    });
  }

  close(): void {
    this.closed = true;
    for (const { reject } of this.waiting.splice(0)) reject(new Error('Imaging is closed'));
    for (const worker of this.workers) worker.process.kill('SIGKILL');
  }

  private next(): void {
    while (this.waiting.length > 0) {
      const worker = this.resting.pop() ?? (this.workers.size < this.options.size ? this.start() : undefined);
      if (worker === undefined) return;
      const task = this.waiting.shift();
      if (task === undefined || task.signal?.aborted === true) {
        task?.reject(task.signal?.reason);
        this.rest(worker);
      } else this.work(worker, task);
    }
  }

  private start(): Worker {
    const { entry, mode, environment } = this.options;
    const child = fork(entry, [mode], {
      // Nothing of the server's environment: it holds secrets.
      env: environment,
      execArgv: ['--max-old-space-size=256'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const worker: Worker = { process: child, idle: undefined };
    this.workers.add(worker);
    child.on('error', () => this.forget(worker));
    child.on('exit', () => this.forget(worker));
    return worker;
  }

  private forget(worker: Worker): void {
    clearTimeout(worker.idle);
    this.workers.delete(worker);
    const at = this.resting.indexOf(worker);
    if (at >= 0) this.resting.splice(at, 1);
    if (!this.closed) this.next();
  }

  private rest(worker: Worker): void {
    worker.process.unref();
    worker.process.channel?.unref();
    worker.idle = setTimeout(() => worker.process.kill(), IDLE_MS);
    worker.idle.unref();
    this.resting.push(worker);
  }

  private work(worker: Worker, { task, resolve, reject, signal }: Task): void {
    const child = worker.process;
    const id = this.nextId++;
    clearTimeout(worker.idle);
    child.ref();
    child.channel?.ref();
    const stop = () => child.kill('SIGKILL');
    const deadline = setTimeout(stop, TASK_TIMEOUT_MS);
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
    const onReply = (reply: ImagingReply) => {
      if (reply.id !== id) return;
      finish(() => ('image' in reply ? resolve(imageOf(reply.image)) : reject(errorOf(reply))), true);
    };
    const onExit = () =>
      finish(
        () => reject(signal?.aborted === true ? signal.reason : new Error('The imaging process died')),
        false,
      );
    child.on('message', onReply).once('exit', onExit).once('error', onExit);
    signal?.addEventListener('abort', stop, { once: true });
    child.send({ ...task, id }, (error) => {
      if (error !== null) child.kill('SIGKILL');
    });
  }
}

function imageOf(image: { bytes: Uint8Array; width: number; height: number }): RasterImage {
  const { buffer, byteOffset, byteLength } = image.bytes;
  return { ...image, bytes: Buffer.from(buffer, byteOffset, byteLength) };
}

function errorOf(reply: { unreadable: string } | { failed: string }): Error {
  return 'unreadable' in reply ? new UnreadableImageError(reply.unreadable) : new Error(reply.failed);
}
