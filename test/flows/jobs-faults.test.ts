import { zeroCostOutcome } from '../../src/metering/index.js';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JobWorkerOptions } from '../../src/jobs/index.js';
import { ApiError } from '../../src/contract/errors.js';
import { createCompletion } from '../../src/jobs/moves/complete.queries.js';
import { failJob } from '../../src/jobs/moves/finish.queries.js';
import { requeueJobs, sweepJobs } from '../../src/jobs/moves/requeue.queries.js';
import { renewLeases } from '../../src/jobs/moves/leases.queries.js';
import { writeProgress } from '../../src/jobs/moves/running.queries.js';
import type { TestDatabase } from '../support/database.js';
import { claimImages, handlerOf, imageOutcome, useJobBench } from '../support/jobs.js';
import type { JobBench } from '../support/jobs.js';
import { eventually, inParallel, seededRandom } from '../support/wait.js';

let test: TestDatabase;
let bench: JobBench;
const startWorker = useJobBench((made) => ({ test, bench } = made));

const sql = () => test.database.system;

/** A worker that is nothing but its id: it claims, and then does what the test says. */
const claimAs = (workerId: string, options: { free?: number; leaseMs?: number } = {}) =>
  claimImages(test.database, { workerId, ...options });

/** In one order, as every move of many jobs. */
const expireLeases = () =>
  sql().query(`
    UPDATE jobs SET lease_until = now() - interval '1 s'
    WHERE id IN (SELECT id FROM jobs WHERE status = 'processing' ORDER BY id FOR UPDATE)`);

describe('completion, cancellation and the loss of the lease, raced over many jobs', () => {
  it('leave each job with one end, one settlement or release, and sums that agree', async () => {
    const orgs = await Promise.all(Array.from({ length: 3 }, () => bench.createOrg()));
    const random = seededRandom(7);
    const options = { concurrency: { image: 16 }, sweepMs: 50, heartbeatMs: 50, leaseMs: 400 };
    const paint = handlerOf(async ({ signal }) => {
      const roll = random();
      await sleep(roll * 30, undefined, { signal });
      if (roll > 0.9) throw new Error('out of paint');
      return imageOutcome();
    });
    startWorker([paint], options);
    startWorker([paint], options);
    const ids = await inParallel(Array.from({ length: 400 }), 16, async (_, index) => {
      const orgId = orgs[index % 3] ?? '';
      const id = await bench.enqueue(orgId);
      if (random() < 0.5) {
        await sleep(random() * 40);
        await bench.jobs
          .cancel(orgId, id)
          .catch((error: Error) => expect(error.message).toMatch(/^Cannot cancel/));
      }
      // Now and then a lease is lost: the attempt goes on as a stranger.
      if (index % 20 === 0) await expireLeases();
      return { orgId, id };
    });
    const ended = await Promise.all(
      ids.map(({ orgId, id }) => bench.jobs.wait(orgId, id, { timeoutMs: 30_000 })),
    );
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['completed', 'cancelled', 'failed']));
    for (const orgId of orgs) {
      const ledger = new Map((await bench.ledger(orgId)).map((row) => [row.job_id, row]));
      const mine = ended.filter((job) => job.orgId === orgId);
      for (const job of mine) {
        const row = ledger.get(job.id);
        expect(row?.state).toBe(job.status === 'completed' ? 'settled' : 'released');
      }
      const completed = mine.filter(({ status }) => status === 'completed').length;
      const { used, reserved } = await bench.balance(orgId);
      expect([used[0], used[2], reserved[0]]).toEqual([completed * 200, completed * 100, 0]);
    }
    const terminals = await sql().query<{ n: number }>(
      `SELECT count(*)::int AS n FROM job_events WHERE type IN ('job.completed', 'job.failed', 'job.cancelled') GROUP BY job_id`,
    );
    expect(new Set(terminals.map(({ n }) => n))).toEqual(new Set([1]));
    expect(terminals).toHaveLength(400);
  });
});

describe('a worker whose lease was given to another', () => {
  it('changes nothing: no row, no event, no charge', async () => {
    const orgId = await bench.createOrg();
    const id = await bench.enqueue(orgId);
    const [stale] = await claimAs('wrk_stale');
    if (!stale) throw new Error('nothing claimed');
    await expireLeases();
    await sweepJobs(sql());
    await claimAs('wrk_fresh');
    const before = await sql().query(
      `SELECT j, (SELECT count(*) FROM outbox) AS messages FROM jobs j WHERE id = $1`,
      [id],
    );

    const attempt = { id, fence: stale.job.fence };
    const made = { ...imageOutcome(), record: zeroCostOutcome('succeeded') };
    expect(await createCompletion(test.database, 'wrk_stale')(stale.job, made)).toBe(false);
    const record = zeroCostOutcome('failed', 'server_error');
    const failure = { workerId: 'wrk_stale', attempt, message: 'x', code: 'server_error' as const, record };
    expect(await failJob(sql(), failure)).toBe(false);
    expect(
      await renewLeases(sql(), 'jobs', { workerId: 'wrk_stale', holds: [attempt], leaseMs: 30_000 }),
    ).toEqual(new Set());
    expect(await requeueJobs(sql(), 'wrk_stale', [attempt])).toEqual([]);
    await writeProgress(sql(), 'wrk_stale', [{ ...attempt, percent: 90 }]);
    // Neither an old fence of the right worker, nor the right fence of another.
    expect(await createCompletion(test.database, 'wrk_fresh')(stale.job, made)).toBe(false);

    expect(
      await sql().query(`SELECT j, (SELECT count(*) FROM outbox) AS messages FROM jobs j WHERE id = $1`, [
        id,
      ]),
    ).toEqual(before);
    expect((await bench.balance(orgId)).used[0]).toBe(0);
    await bench.jobs.cancel(orgId, id);
  });

  it('aborts its handler at the next heartbeat', async () => {
    const orgId = await bench.createOrg();
    const aborted = Promise.withResolvers<void>();
    const worker = startWorker(
      [
        handlerOf(
          ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                aborted.resolve();
                reject(signal.reason as Error);
              });
            }),
        ),
      ],
      { heartbeatMs: 50, sweepMs: 600_000 },
    );
    const id = await bench.enqueue(orgId);
    await eventually(() => worker.size === 1);
    await sql().query(`UPDATE jobs SET worker_id = 'wrk_other', fence = fence + 1 WHERE id = $1`, [id]);
    await aborted.promise;
    await bench.jobs.cancel(orgId, id);
  });
});

describe('a job whose workers die', () => {
  it('is tried three times, from progress 0 each, and then fails with `Job processing error`', async () => {
    const orgId = await bench.createOrg();
    const id = await bench.enqueue(orgId);
    for (let attempt = 1; attempt <= 3; attempt++) {
      const [claimed] = await claimAs(`wrk_${attempt}`);
      expect(claimed?.job).toMatchObject({ id, attempt, fence: attempt, progress: 0 });
      await writeProgress(sql(), `wrk_${attempt}`, [{ id, fence: attempt, percent: 50 }]);
      await sweepJobs(sql());
      expect((await bench.jobs.get(orgId, id)).status).toBe('processing');
      await expireLeases();
      expect((await sweepJobs(sql())).moved).toBe(1);
    }
    expect(await bench.jobs.get(orgId, id)).toMatchObject({
      status: 'failed',
      errorMessage: 'Job processing error',
      attempt: 3,
    });
    expect((await bench.balance(orgId)).reserved[0]).toBe(0);
    const started = await sql().query(
      `SELECT 1 FROM outbox WHERE event ->> 'type' = 'generation.started' AND event #>> '{data,jobId}' = $1`,
      [id],
    );
    expect(started).toHaveLength(1);
  });

  it('is taken over by another worker within a sweep of the lease’s end', async () => {
    const orgId = await bench.createOrg();
    const id = await bench.enqueue(orgId);
    await claimAs('wrk_dead', { leaseMs: 100 });
    startWorker([handlerOf(async () => imageOutcome())], { sweepMs: 50 });
    expect(await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 })).toMatchObject({
      status: 'completed',
      attempt: 2,
    });
  });
});

describe('a job whose database was away', () => {
  it('while it worked is done by another attempt, not failed', async () => {
    const orgId = await bench.createOrg();
    let runs = 0;
    startWorker([
      handlerOf(async () => {
        runs += 1;
        if (runs === 1)
          throw new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 });
        return imageOutcome();
      }),
    ]);
    const id = await bench.enqueue(orgId);
    const ended = await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 });
    expect(ended).toMatchObject({ status: 'completed', attempt: 1, errorMessage: null });
    expect(runs).toBe(2);
    expect(await bench.ledger(orgId)).toMatchObject([{ state: 'settled', job_id: id }]);
  });

  it('and forgot its reservation in a crash is completed and charged all the same', async () => {
    const orgId = await bench.createOrg();
    const countedFor = { endUser: 'ada', tags: ['night'], clientName: 'mill' };
    const job = await bench.newJob(orgId);
    const { id } = await bench.jobs.create({ ...job, countedFor });
    const [lost] = await sql().query<{ reserved: string }>(
      'DELETE FROM usage_ledger WHERE job_id = $1 RETURNING reserved::text',
      [id],
    );
    await sql().query('UPDATE balances SET reserved = array_fill(0::bigint, ARRAY[9]) WHERE org_id = $1', [
      orgId,
    ]);
    expect(lost?.reserved).toContain('100');
    startWorker([handlerOf(async () => imageOutcome())]);
    expect((await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 })).status).toBe('completed');
    const [row] = await bench.ledger(orgId);
    expect(row).toMatchObject({ state: 'settled', job_id: id });
    const { used, reserved } = await bench.balance(orgId);
    expect(used).toEqual(row?.charged);
    expect(Math.max(...used)).toBeGreaterThan(0);
    expect(Math.max(...reserved)).toBe(0);
    const [kept] = await sql().query(
      'SELECT end_user, tags, client_name, restored FROM usage_ledger WHERE job_id = $1',
      [id],
    );
    expect(kept).toEqual({ end_user: 'ada', tags: ['night'], client_name: 'mill', restored: true });
  });
});

describe('a cancellation that comes between a claim and its answer', () => {
  it('still aborts the handler at once', async () => {
    const orgId = await bench.createOrg();
    const aborted = Promise.withResolvers<void>();
    const { system, hints } = test.database;
    const slow: JobWorkerOptions['database'] = {
      hints,
      system,
      async dedicated() {
        const own = await test.database.dedicated();
        return {
          ...own,
          queryWithEarlyRows<Row>(...call: Parameters<typeof own.queryWithEarlyRows>) {
            const { rows, committed } = own.queryWithEarlyRows<Row>(...call);
            return { rows: cancelFirst(rows, committed), committed };
          },
        };
      },
    };
    const cancelFirst = async <Row>(rows: Promise<Row[]>, committed: Promise<void>): Promise<Row[]> => {
      const [job] = (await rows) as { id: string }[];
      await committed;
      if (job) {
        const heard = new Promise<void>((resolve) => hints.on('job_cancel', () => resolve()));
        await bench.jobs.cancel(orgId, job.id);
        await heard;
      }
      return rows;
    };
    const wait = handlerOf(({ signal }) => {
      signal.addEventListener('abort', () => aborted.resolve());
      if (signal.aborted) aborted.resolve();
      return aborted.promise.then(() => imageOutcome());
    });
    startWorker([wait], { database: slow, heartbeatMs: 600_000 });
    const id = await bench.enqueue(orgId);
    await aborted.promise;
    expect((await bench.jobs.get(orgId, id)).status).toBe('cancelled');
  });
});

describe('a claim that is lost before its commit, while its handlers run', () => {
  it('writes nothing: the job is claimed anew, and ends once with one charge', async () => {
    const orgId = await bench.createOrg();
    const [gate, runs] = [Promise.withResolvers<void>(), [] as AbortSignal[]];
    const admin = new pg.Client({ connectionString: test.url });
    await admin.connect();
    onTestFinished(() => admin.end());
    await admin.query('BEGIN');
    // What the claim tells waits for this lock; by then the job's row is moved, and the worker has it.
    await admin.query('LOCK TABLE job_turns');
    startWorker(
      [
        handlerOf(async ({ signal }) => {
          runs.push(signal);
          gate.resolve();
          return imageOutcome();
        }),
      ],
      { sweepMs: 50 },
    );
    const created = bench.enqueue(orgId);
    await gate.promise;
    const id = await created;
    expect(await bench.jobs.get(orgId, id)).toMatchObject({ status: 'pending', fence: 0 });
    // The handlers may begin before what waits for the lock is seen to do so.
    await eventually(async () => {
      // Else a transaction is shown who is at work as it was when first asked.
      await admin.query('SELECT pg_stat_clear_snapshot()');
      const { rowCount } = await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE '%penstock_jobs_taken%' AND pid <> pg_backend_pid()`,
      );
      return (rowCount ?? 0) > 0;
    });
    await eventually(() => runs[0]?.aborted === true);
    expect(await bench.jobs.get(orgId, id)).toMatchObject({ status: 'pending', fence: 0 });
    await admin.query('ROLLBACK');
    const ended = await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 });
    expect(ended).toMatchObject({ status: 'completed', attempt: 1 });
    expect(runs).toHaveLength(2);
    expect(await bench.ledger(orgId)).toMatchObject([{ state: 'settled', job_id: id }]);
  });
});

describe('a worker that stops', () => {
  it('lets its jobs end, takes no others, and gives back what is too slow without counting the attempt', async () => {
    const orgId = await bench.createOrg();
    const quick = Promise.withResolvers<void>();
    const worker = startWorker([
      handlerOf(
        async ({ job, signal }) => {
          if (job.tool === 'image') await quick.promise;
          else await sleep(600_000, undefined, { signal });
          return imageOutcome();
        },
        { concurrency: 1 },
      ),
      handlerOf(
        async ({ signal }) => {
          await sleep(600_000, undefined, { signal });
          return imageOutcome();
        },
        { tool: 'video' },
      ),
    ]);
    const [image, video] = [await bench.enqueue(orgId), await bench.enqueue(orgId, { tool: 'video' })];
    await eventually(() => worker.size === 2);
    const waiting = await bench.enqueue(orgId);
    const stopped = worker.stop({ graceMs: 300 });
    quick.resolve();
    await stopped;
    expect((await bench.jobs.get(orgId, image)).status).toBe('completed');
    expect(await bench.jobs.get(orgId, waiting)).toMatchObject({ status: 'pending', attempt: 0 });
    expect(await bench.jobs.get(orgId, video)).toMatchObject({ status: 'pending', attempt: 0, progress: 0 });
    expect(worker.size).toBe(0);
    for (const id of [video, waiting]) await bench.jobs.cancel(orgId, id);
  });
});

describe('claims', () => {
  it('go round the organisations: a thousand waiting jobs of one do not delay another’s first', async () => {
    const [crowd, single] = [await bench.createOrg(), await bench.createOrg()];
    await inParallel(Array.from({ length: 1_000 }), 64, () => bench.enqueue(crowd));
    const late = [await bench.enqueue(single), await bench.enqueue(single)];
    const order: string[] = [];
    for (let turn = 0; turn < 4; turn++)
      order.push(...(await claimAs('wrk_fair')).map(({ job }) => job.orgId));
    expect(order.toSorted()).toEqual([crowd, crowd, single, single].toSorted());
    expect(order[0]).not.toBe(order[1]);
    expect((await bench.jobs.getMany(single, late)).map(({ status }) => status)).toEqual([
      'processing',
      'processing',
    ]);
    const [newcomer] = [await bench.createOrg()];
    await bench.enqueue(newcomer);
    expect((await claimAs('wrk_fair')).map(({ job }) => job.orgId)).toEqual([newcomer]);
  });

  it('of many workers at once give each job to one', async () => {
    const orgs = await Promise.all(Array.from({ length: 5 }, () => bench.createOrg()));
    for (const orgId of orgs) await inParallel(Array.from({ length: 20 }), 20, () => bench.enqueue(orgId));
    const taken = new Map<string, number>();
    const rounds = await inParallel(Array.from({ length: 60 }), 12, (_, index) =>
      claimAs(`wrk_m${index}`, { free: 5 }),
    );
    for (const { job } of rounds.flat()) taken.set(job.id, (taken.get(job.id) ?? 0) + 1);
    expect(new Set(taken.values())).toEqual(new Set([1]));
  });
});
