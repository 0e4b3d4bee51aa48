import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.js';
import type { Database, Sql } from '../database/database.types.js';
import type { LiveOptions } from '../contract/live.js';
import { isFinished } from './job.transitions.js';
import type { Job, JobParts } from './jobs.types.js';
import { appendParts, readParts } from './moves/parts.queries.js';

/** Parts that arrive within this time share one statement. */
const GATHER_MS = 50;
const LOOK_MS = 1000;
/** The maximum of parts that a reader holds in memory while the job runs. */
const IN_A_READ = 16;
const ALL = 1_000_000;

interface WriterOptions {
  job: Job;
  liveOptions: LiveOptions;
  workerId: string;
  /** Whether the claim was committed: nothing is written before it. */
  held: Promise<boolean>;
  sql: Sql;
  logger: Logger;
}

/** Shows the parts of one attempt. Collected sound or text is one part; each picture is a part of its own. */
export class PartWriter implements JobParts {
  readonly liveOptions: LiveOptions;
  private waiting: Buffer[] = [];
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private written = 0;
  private given = false;

  constructor(private readonly options: WriterOptions) {
    this.liveOptions = options.liveOptions;
  }

  get begun(): boolean {
    return this.given;
  }

  give(bytes: Uint8Array): void {
    this.given = true;
    this.waiting.push(Buffer.from(bytes));
    this.timer ??= setTimeout(() => void this.flush(), GATHER_MS);
  }

  /** @returns the number of parts that the attempt has shown, so that a reader knows whether it has all of them */
  async flush(): Promise<number> {
    this.drop();
    this.writing = this.writing.then(() => this.write());
    await this.writing;
    return this.written;
  }

  /** Stops the timer; then only {@link flush} shows parts. */
  drop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private async write(): Promise<void> {
    const { job, workerId, held, sql, logger } = this.options;
    const parts = arePictures(job)
      ? this.waiting
      : this.waiting.length === 0
        ? []
        : [Buffer.concat(this.waiting)];
    this.waiting = [];
    if (parts.length === 0 || !(await held)) return;
    const after = this.written;
    this.written += parts.length;
    try {
      await appendParts(sql, { workerId, attempt: job, after, parts });
    } catch (error) {
      logger.warn(
        { err: error, jobId: job.id },
        'a part of a job could not be shown; its reader is disconnected',
      );
    }
  }
}

const arePictures = ({ tool }: Job): boolean => tool === 'image' || tool === 'image_edit';

interface ReaderOptions {
  database: Pick<Database, 'tenantQuery' | 'hints'>;
  get(orgId: string, id: string): Promise<Job>;
}

const interrupted = (): ApiError => new ApiError('server_error', 'Interrupted');

/**
 * The parts of a job in order, until it ends. Sound and text come completely and from one attempt.
 * @throws ApiError server_error if shown parts can no longer be read, or another attempt made the result
 */
export async function* partsOf({ database, get }: ReaderOptions, job: Job): AsyncGenerator<Buffer> {
  const watch = watchJob(database, job.id);
  const at = { fence: 0, number: 0 };
  let count = 0;
  try {
    for (;;) {
      const looked = watch.look();
      const now = await get(job.orgId, job.id);
      const ended = isFinished(now.status);
      // Parts are deleted a minute after the end, even if their reader is slow, because pictures may be large.
      const limit = arePictures(job) ? 1 : ended ? ALL : IN_A_READ;
      const parts = await readParts(database, job, { ...at, limit });
      for (const { fence, number, bytes } of parts) {
        const follows = at.fence === 0 ? number === 1 : fence === at.fence && number === at.number + 1;
        if (!follows && !arePictures(job)) throw interrupted();
        Object.assign(at, { fence, number });
        count++;
        yield bytes;
      }
      if (parts.length === limit) continue;
      if (ended) {
        const isWhole = count === 0 || (now.fence === at.fence && now.result?.['parts'] === at.number);
        if (now.status === 'completed' && !isWhole && !arePictures(job)) throw interrupted();
        return;
      }
      await looked;
    }
  } finally {
    watch.close();
  }
}

/** Wakes a reader of a job when the job may have changed since the reader's last look; at least once a second. */
function watchJob({ hints }: Pick<Database, 'hints'>, id: string) {
  let wake = (): void => undefined;
  const onHint = (payload: string): void => {
    if (payload === id || payload.startsWith(`${id}:`)) wake();
  };
  const offs = [hints.on('job_part', onHint), hints.on('job_event', onHint)];
  let timer: NodeJS.Timeout | undefined;
  return {
    look(): Promise<void> {
      clearTimeout(timer);
      return new Promise((resolve) => {
        wake = resolve;
        timer = setTimeout(resolve, LOOK_MS);
      });
    },
    close(): void {
      clearTimeout(timer);
      wake();
      for (const off of offs) off();
    },
  };
}
