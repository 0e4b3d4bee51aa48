import type { Principal } from '../../src/access/access.types.js';
import type { Database } from '../../src/database/index.js';
import { newId } from '../../src/contract/ids.js';
import { createJobService, createJobWorker } from '../../src/jobs/index.js';
import type {
  JobHandler,
  JobOutcome,
  JobService,
  JobWorker,
  JobWorkerOptions,
  NewJob,
} from '../../src/jobs/index.js';
import type { Tool } from '../../src/contract/words.js';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { takeJobs } from '../../src/jobs/moves/claim.queries.js';
import type { ClaimedJob } from '../../src/jobs/moves/claim.queries.js';
import { createTestDatabase } from './database.js';
import type { TestDatabase } from './database.js';

/** Hundredths: 100 credits, and plenty of everything else. */
const ALLOWANCE = Array.from({ length: 9 }, () => 100_000_000);
/** The reservation of every job in these tests: 2 credits and 1 image. */
const RESERVED = [200, 0, 100, 0, 0, 0, 0, 0, 0];

/** Jobs below the APIs: organisations, reservations and jobs are created directly in the database. */
export interface JobBench {
  jobs: JobService & { close(): void };
  createOrg(): Promise<string>;
  /** Reserves the price and creates the job. */
  enqueue(orgId: string, options?: { tool?: Tool; maxPending?: number; id?: string }): Promise<string>;
  newJob(orgId: string, options?: { tool?: Tool; maxPending?: number; id?: string }): Promise<NewJob>;
  /** The organisation's buckets, hundredths. */
  balance(orgId: string): Promise<{ used: number[]; reserved: number[] }>;
  ledger(orgId: string): Promise<{ state: string; job_id: string; charged: number[] | null }[]>;
}

/** The file service for jobs without files. */
export const NO_FILES = { removeFilesOfFailedWork: (): Promise<void> => Promise.resolve() };

export function createJobBench(database: Database): JobBench {
  const logger = pino({ level: 'silent' });
  const jobs = createJobService({ database, files: NO_FILES, logger });

  const bench: JobBench = {
    jobs,
    async createOrg() {
      const orgId = newId('org');
      await database.system.query(
        `INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ($1, $1, 'business_monthly', $2)`,
        [orgId, newId('usr')],
      );
      await database.system.query('SELECT penstock_balance_open($1, 1, $2)', [orgId, ALLOWANCE]);
      return orgId;
    },
    async newJob(orgId, { tool = 'image', maxPending = 100_000, id = newId('job') } = {}) {
      const operationId = newId('op');
      await database.system.query(
        `WITH b AS (
          UPDATE balances c SET reserved = ARRAY(SELECT a + x FROM unnest(c.reserved, $3::bigint[]) AS v (a, x))
          WHERE c.org_id = $1 AND NOT c.superseded RETURNING c.period_start)
        INSERT INTO usage_ledger (operation_id, org_id, kind, state, period_start, reserved, holder)
        SELECT $2, $1, 'image', 'reserved', b.period_start, $3, 'prc_test' FROM b`,
        [orgId, operationId, RESERVED],
      );
      const principal = { orgId, userId: 'usr_x', keyId: 'key_x', plan: { maxPendingJobs: maxPending } };
      return {
        id,
        principal: principal as unknown as Principal,
        tool,
        model: 'sandbox/image-standard',
        modelTier: 'standard',
        multiplier: 100,
        inputParams: { prompt: 'a mill', n: 1 },
        estimatedCredits: 2,
        operationId,
        requestId: 'req_x',
        client: { serviceClient: null, clientName: null, userAgent: null },
        fileIds: [],
      };
    },
    async enqueue(orgId, options) {
      return (await jobs.create(await bench.newJob(orgId, options))).id;
    },
    async balance(orgId) {
      const [row] = await database.system.query<{ used: number[]; reserved: number[] }>(
        'SELECT used, reserved FROM balances WHERE org_id = $1',
        [orgId],
      );
      if (!row) throw new Error('no balance');
      return row;
    },
    ledger: (orgId) =>
      database.system.query(
        `SELECT state, job_id, charged FROM usage_ledger WHERE org_id = $1 AND kind <> 'period'`,
        [orgId],
      ),
  };
  return bench;
}

/** A finished image of the price that was reserved for it. */
export function imageOutcome(): JobOutcome {
  const url = { $file: 'file_00000000000000000000000001.png' };
  return {
    outputData: { images: [{ url, width: 512, height: 512 }] },
    result: { data: [{ url, width: 512, height: 512 }] },
    amounts: { credits: 200, image_generations: 100 },
    outputFileId: 'file_00000000000000000000000001',
    fileIds: [],
  };
}

/** A handler of one tool with the defaults of the tests. */
export function handlerOf(run: JobHandler['run'], options: Partial<JobHandler> = {}): JobHandler {
  return {
    tool: 'image',
    concurrency: 4,
    timeLimitMs: 600_000,
    failureMessage: 'Generation failed',
    run,
    ...options,
  };
}

/** Claims image jobs over a separate connection, and returns them when the claim is committed. */
export async function claimImages(
  database: Database,
  { workerId, free = 1, leaseMs = 30_000 }: { workerId: string; free?: number; leaseMs?: number },
): Promise<ClaimedJob[]> {
  const connection = await database.dedicated();
  try {
    const slots = [{ tool: 'image' as const, free, forNewcomers: 0, timeLimitMs: 600_000 }];
    const { jobs, held } = takeJobs(connection, { workerId, slots, resting: [], leaseMs });
    if (!(await held)) throw new Error(`${workerId} does not hold what it claimed`);
    return await jobs;
  } finally {
    await connection.close();
  }
}

/**
 * A database with the fixture {@link JobBench} for the calling file. Workers that a test starts are stopped after it.
 * @returns starts a worker with these handlers
 */
export function useJobBench(
  made: (parts: { test: TestDatabase; bench: JobBench }) => void,
): (handlers: JobHandler[], options?: Partial<JobWorkerOptions>) => JobWorker {
  let test: TestDatabase;
  let bench: JobBench;
  const workers: JobWorker[] = [];
  const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' });
  beforeAll(async () => {
    test = await createTestDatabase();
    bench = createJobBench(test.database);
    made({ test, bench });
  });
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop({ graceMs: 0 })));
  });
  afterAll(async () => {
    bench.jobs.close();
    await test.close();
  });
  return (handlers, options = {}) => {
    const worker = createJobWorker({
      database: test.database,
      handlers,
      files: NO_FILES,
      logger,
      ...options,
    });
    workers.push(worker);
    worker.start();
    return worker;
  };
}
