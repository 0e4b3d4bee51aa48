/** The compared queues: Penstock's worker, and graphile-worker with a task that writes the same charge and event rows. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as GraphileWorker from 'graphile-worker';
import type { TaskList } from 'graphile-worker';
import pg from 'pg';
import { createJobWorker, type JobContext, type NewJob } from '../src/jobs/index.js';
import { silent, type BenchDatabase } from './embedded.js';
import { CHARGE, NO_FILES, outcome, type Backlog } from './job-backlog.js';

/** It is in bench/node_modules; `npm run bench` starts in the repository's root. */
function loadGraphileWorker(): typeof GraphileWorker {
  return createRequire(join(process.cwd(), 'bench/package.json'))('graphile-worker') as typeof GraphileWorker;
}

/** Simultaneous jobs of Penstock's worker; its tasks hold no connection. */
const AT_ONCE = 256;
/** Simultaneous tasks of a tuned graphile-worker, each with a connection while it writes; here the best of 12, 24 and 48. */
const TASKS = 24;

/** A queue with a stopped worker: jobs are added, then the worker starts and calls `taken` with the id of each job that begins. */
export interface Queue {
  add(jobs: NewJob[]): Promise<void>;
  start(taken: (jobId: string) => void): Promise<{ stop(): Promise<void> }>;
  /** The number of unfinished jobs. */
  waiting(): Promise<number>;
}

async function countOf(sql: { query<T>(text: string): Promise<T[]> }, text: string): Promise<number> {
  const [row] = await sql.query<{ n: number }>(text);
  return row?.n ?? 0;
}

/** Moves each job to processing and to completed, settles it, writes its events, and does not delete it. */
export function penstockQueue({ database }: BenchDatabase, { jobs }: Backlog): Queue {
  return {
    async add(made) {
      await Promise.all(made.map((job) => jobs.create(job)));
    },
    async start(taken) {
      const handler = {
        tool: 'image' as const,
        concurrency: AT_ONCE,
        timeLimitMs: 600_000,
        failureMessage: 'failed',
        run: async ({ job }: JobContext) => {
          taken(job.id);
          return outcome();
        },
      };
      const worker = createJobWorker({ database, handlers: [handler], files: NO_FILES, logger: silent });
      worker.start();
      return { stop: () => worker.stop() };
    },
    waiting: () =>
      countOf(
        database.system,
        `SELECT count(*)::int AS n FROM jobs WHERE status IN ('pending', 'processing')`,
      ),
  };
}

/** One job's charge, history and messages in one statement: the writes that a careful author would put into the task. */
const WRITE = `WITH ledger AS (
    UPDATE usage_ledger SET state = 'settled', charged = $3::bigint[], settled_at = clock_timestamp()
    WHERE operation_id = $1 AND state = 'reserved' RETURNING org_id, period_start
  ), charged AS (
    UPDATE balances b SET used = ARRAY(SELECT u + c FROM unnest(b.used, $3::bigint[]) v (u, c)),
      reserved = ARRAY(SELECT r - c FROM unnest(b.reserved, $3::bigint[]) v (r, c))
    FROM ledger l WHERE b.org_id = l.org_id AND b.period_start = l.period_start
  ), history AS (
    INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
    SELECT $2, l.org_id, s.n, s.type, s.status, s.progress, 1, 1, now()
    FROM ledger l, (VALUES (2, 'job.processing', 'processing', 0), (3, 'job.completed', 'completed', 100))
      s (n, type, status, progress)
  )
  INSERT INTO outbox (topic, key, event)
  SELECT s.topic, CASE s.topic WHEN 'jobs' THEN $2 ELSE l.org_id END,
    jsonb_build_object('id', s.type || $2, 'type', s.type, 'orgId', l.org_id, 'timestamp', now(), 'data', $4::jsonb)
  FROM ledger l, (VALUES ('jobs', 'job.processing'), ('jobs', 'job.completed'), ('events', 'generation.started'),
    ('events', 'generation.completed')) s (topic, type)`;

/** @param kind `tuned`: its documentation's settings for throughput; `writes`: false for a task that does nothing */
export async function graphileQueue(
  { url }: BenchDatabase,
  { jobs }: Backlog,
  kind: { tuned: boolean; writes: boolean },
): Promise<Queue> {
  const { Logger, makeWorkerUtils, run } = loadGraphileWorker();
  const pool = new pg.Pool({ connectionString: url, max: TASKS + 2 });
  pool.on('error', (error) => console.error(error));
  pool.on('connect', (client) => client.on('error', (error) => console.error(error)));
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
  const data = JSON.stringify({ tool: 'image', model: 'sandbox/image-standard', ...outcome().outputData });
  const taskList = (taken: (jobId: string) => void): TaskList => ({
    async bench(payload, { withPgClient }) {
      const { jobId, operationId } = payload as { jobId: string; operationId: string };
      taken(jobId);
      if (!kind.writes) return;
      const values = [operationId, jobId, CHARGE, data];
      await withPgClient((client) => client.query({ name: 'bench', text: WRITE, values }));
    },
  });
  const tuning = {
    concurrentJobs: TASKS,
    maxPoolSize: TASKS + 2,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  };
  return {
    async add(made) {
      // The rows that its task writes refer to these rows; Penstock's worker does not run.
      if (kind.writes) await Promise.all(made.map((job) => jobs.create(job)));
      await utils.addJobs(
        made.map(({ id, operationId }) => ({ identifier: 'bench', payload: { jobId: id, operationId } })),
      );
    },
    async start(taken) {
      const preset = kind.tuned ? { worker: tuning } : {};
      const runner = await run({
        pgPool: pool,
        logger,
        taskList: taskList(taken),
        noHandleSignals: true,
        preset,
      });
      return {
        async stop() {
          await runner.stop();
          await utils.release();
          await pool.end();
        },
      };
    },
    async waiting() {
      const { rows } = await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM graphile_worker.jobs');
      return rows[0]?.n ?? 0;
    },
  };
}
