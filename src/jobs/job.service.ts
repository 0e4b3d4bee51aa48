import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { invalid, notFound } from '../contract/errors.js';
import type { FileService } from '../files/files.types.js';
import { createJobLookup, createJobReader } from './job.queries.js';
import { isJobId } from './job.row.js';
import { isFinished } from './job.transitions.js';
import { partsOf } from './job.parts.js';
import { createJobWaiter } from './job.waiter.js';
import type { Job, JobService } from './jobs.types.js';
import { createJobCreation, requireRoom } from './moves/create.queries.js';
import { cancelJob } from './moves/finish.queries.js';

/** The jobs of organisations, for the APIs and the generation pipeline. */
export function createJobService(options: {
  database: Database;
  /** Removes the files of cancelled jobs. */
  files: Pick<FileService, 'removeFilesOfFailedWork'>;
  logger: Logger;
}): JobService & { drain(): void; close(): void } {
  const { database, files, logger } = options;
  const reader = createJobReader(database);
  const waiter = createJobWaiter({ hints: database.hints, lookup: createJobLookup(database), logger });

  async function cancel(orgId: string, id: string): Promise<Job> {
    const outcome = isJobId(id) ? await cancelJob(database.system, orgId, id) : null;
    if (!outcome) throw notFound('Job not found');
    if (!outcome.moved) throw invalid(`Cannot cancel ${outcome.job.status} job`);
    await files.removeFilesOfFailedWork(orgId, id);
    return outcome.job;
  }

  const wait: JobService['wait'] = async (orgId, id, { timeoutMs, signal }) => {
    const abort = new AbortController();
    const either = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
    // Subscribes before the first read, so that no end of the job is missed in between.
    const finished = waiter.finished(id, { timeoutMs, signal: either });
    try {
      const job = await reader.get(orgId, id);
      if (isFinished(job.status) || timeoutMs <= 0 || signal?.aborted) return job;
      await finished;
      return await reader.get(orgId, id);
    } finally {
      abort.abort();
    }
  };

  return {
    ...reader,
    create: createJobCreation(database),
    requireRoom: (principal) => requireRoom(database, principal),
    cancel,
    parts: (job) => partsOf({ database, get: reader.get }, job),
    wait,
    drain: () => waiter.drain(),
    close: () => waiter.close(),
  };
}
