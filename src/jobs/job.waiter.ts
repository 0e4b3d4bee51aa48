import type { Logger } from 'pino';
import type { Hints } from '../database/hints.types.js';
import type { JobPosition } from './job.queries.js';
import { isFinished } from './job.transitions.js';

/** Waits for jobs, with one reader for all waiting calls of a process. */
export interface JobWaiter {
  /** Resolves when the job has finished or is unknown, the time is over, the signal fires, or the process stops. Never rejects. */
  finished(id: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<void>;
  /** Ends all waiting, because the process stops. */
  drain(): void;
  close(): void;
}

const READ_EVERY_MS = 1_000;

/**
 * Reads the positions of all awaited jobs in one statement: soon after a notification for one of them, and at least every second, since
 * notifications can be lost.
 */
export function createJobWaiter(options: {
  hints: Pick<Hints, 'on'>;
  lookup: (jobIds: string[]) => Promise<JobPosition[]>;
  logger: Logger;
}): JobWaiter {
  return new SharedReader(options);
}

class SharedReader implements JobWaiter {
  private readonly waiting = new Map<string, Set<() => void>>();
  private readonly off: () => void;
  private hinted = new Set<string>();
  private reading = false;
  private timer: NodeJS.Timeout | null = null;
  private draining = false;

  constructor(private readonly options: Parameters<typeof createJobWaiter>[0]) {
    this.off = options.hints.on('job_event', (payload) => {
      const id = payload.slice(0, payload.indexOf(':'));
      if (!this.waiting.has(id)) return;
      if (this.hinted.size === 0) setImmediate(() => this.readHinted());
      this.hinted.add(id);
    });
  }

  async finished(
    id: string,
    { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<void> {
    if (timeoutMs <= 0 || signal?.aborted || this.draining) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timeout);
        signal?.removeEventListener('abort', end);
        this.remove(id, end);
        resolve();
      };
      const timeout = setTimeout(end, timeoutMs);
      signal?.addEventListener('abort', end, { once: true });
      const others = this.waiting.get(id);
      if (others) others.add(end);
      else this.waiting.set(id, new Set([end]));
      this.timer ??= setInterval(() => void this.read([...this.waiting.keys()]), READ_EVERY_MS);
    });
  }

  close(): void {
    this.off();
    this.drain();
  }

  drain(): void {
    this.draining = true;
    for (const ends of this.waiting.values()) for (const end of [...ends]) end();
  }

  private remove(id: string, end: () => void): void {
    const ends = this.waiting.get(id);
    ends?.delete(end);
    if (ends?.size === 0) this.waiting.delete(id);
    if (this.waiting.size === 0 && this.timer) {
      clearInterval(this.timer);
      this.timer = null;
    }
  }

  private readHinted(): void {
    // Notifications that arrive during a read are collected for the next one.
    if (this.reading) return;
    const ids = [...this.hinted].filter((id) => this.waiting.has(id));
    this.hinted = new Set();
    if (ids.length > 0) void this.read(ids);
  }

  private async read(ids: string[]): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    try {
      const positions = new Map((await this.options.lookup(ids)).map((position) => [position.id, position]));
      for (const id of ids) {
        const position = positions.get(id);
        if (!position || isFinished(position.status))
          for (const end of [...(this.waiting.get(id) ?? [])]) end();
      }
    } catch (error) {
      this.options.logger.warn(
        { err: error },
        'reading the jobs that are waited for failed; it is tried again',
      );
    } finally {
      this.reading = false;
      if (this.hinted.size > 0) setImmediate(() => this.readHinted());
    }
  }
}
