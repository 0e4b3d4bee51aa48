import type { Logger } from 'pino';
import type { Sql } from '../database/database.types.js';
import type { Job } from './jobs.types.js';
import { writeProgress } from './moves/running.queries.js';

const FLUSH_MS = 100;

/** Collects the progress of a worker's jobs: at most one write every 100 ms for all of them, in whole percents. */
export interface ProgressReporter {
  report(job: Job, percent: number): void;
  /** The attempt is over. */
  forget(job: Job): void;
  close(): Promise<void>;
}

interface Report {
  job: Job;
  percent: number;
  written: number;
}

/** At most 99: only a completed job shows 100. */
function wholePercent(percent: number): number {
  return Number.isFinite(percent) ? Math.min(99, Math.max(0, Math.floor(percent))) : 0;
}

export function createProgressReporter(options: {
  sql: Sql;
  workerId: string;
  logger: Logger;
}): ProgressReporter {
  const { sql, workerId, logger } = options;
  const reports = new Map<string, Report>();
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> | null = null;

  async function flush(): Promise<void> {
    const due = [...reports.values()].filter(({ percent, written }) => percent > written);
    if (due.length === 0) return;
    for (const report of due) report.written = report.percent;
    const rows = due.map(({ job, percent }) => ({ id: job.id, fence: job.fence, percent }));
    try {
      await writeProgress(sql, workerId, rows);
    } catch (error) {
      logger.warn({ err: error }, 'progress could not be written; the next report carries it');
    }
  }

  function schedule(): void {
    timer ??= setTimeout(() => {
      writing = flush().finally(() => {
        timer = null;
        writing = null;
        if ([...reports.values()].some(({ percent, written }) => percent > written)) schedule();
      });
    }, FLUSH_MS);
  }

  return {
    report(job, percent) {
      const whole = wholePercent(percent);
      const report = reports.get(job.id);
      if (report?.job.fence === job.fence) report.percent = Math.max(report.percent, whole);
      else reports.set(job.id, { job, percent: whole, written: 0 });
      schedule();
    },
    forget(job) {
      if (reports.get(job.id)?.job.fence === job.fence) reports.delete(job.id);
    },
    async close() {
      if (timer) clearTimeout(timer);
      await writing;
    },
  };
}
