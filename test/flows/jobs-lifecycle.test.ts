import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.js';
import type { EventEnvelope } from '../../src/events/index.js';
import { newId } from '../../src/contract/ids.js';
import { createJobRetention, JOB_TRANSITIONS } from '../../src/jobs/index.js';
import type { JobStatus } from '../../src/contract/words.js';
import type { TestDatabase } from '../support/database.js';
import { handlerOf, imageOutcome, useJobBench } from '../support/jobs.js';
import type { JobBench } from '../support/jobs.js';
import { eventually } from '../support/wait.js';

let test: TestDatabase;
let bench: JobBench;
const startWorker = useJobBench((made) => ({ test, bench } = made));

async function messagesOf(topic: string, needle: string): Promise<EventEnvelope[]> {
  const rows = await test.database.system.query<{ event: EventEnvelope }>(
    `SELECT event FROM outbox WHERE topic = $1 AND event::text LIKE '%' || $2 || '%' ORDER BY id`,
    [topic, needle],
  );
  return rows.map(({ event }) => event);
}

describe('a job that is run', () => {
  it('ends completed, settled once, with its history, its messages and its result', async () => {
    const orgId = await bench.createOrg();
    startWorker([handlerOf(async () => imageOutcome())]);
    const id = await bench.enqueue(orgId);
    const job = await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 });

    expect(job).toMatchObject({
      status: 'completed',
      progress: 100,
      actualCredits: 2,
      errorMessage: null,
      attempt: 1,
    });
    expect(job.result).toMatchObject({
      settlement: {
        charged: [200, 0, 100, 0, 0, 0, 0, 0, 0],
        balances: { image_generations: { remaining: 999_999 } },
      },
    });
    const balance = await bench.balance(orgId);
    expect([balance.used[0], balance.reserved[0]]).toEqual([200, 0]);
    const events = await bench.jobs.events(orgId, id, 0, 100);
    expect(events.map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'job.pending'],
      [2, 'job.processing'],
      [3, 'job.completed'],
    ]);
    expect(events[1]?.job).toMatchObject({ status: 'processing', outputData: null, completedAt: null });
    expect(events[2]?.job).toEqual(job);
    const messages = await messagesOf('jobs', id);
    expect(messages.map(({ sequence, type }) => [sequence, type])).toEqual(
      events.map(({ sequence, type }) => [sequence, type]),
    );
    expect(messages[2]).toMatchObject({
      orgId,
      id: expect.stringMatching(/^evt_[0-9a-z]{26}$/),
      data: { id, orgId, status: 'completed', actualCredits: 2, completedAt: job.completedAt?.toISOString() },
    });
    const generations = await messagesOf('events', id);
    expect(generations.map(({ type }) => type)).toEqual(['generation.started', 'generation.completed']);
    expect(generations[1]?.data).toMatchObject({
      jobId: id,
      tool: 'image',
      unitsUsed: 1,
      unitType: 'image_generations',
      outputUrl: { $file: 'file_00000000000000000000000001.png' },
      durationMs: expect.any(Number),
    });
  });

  it('shows progress in whole percents, never down, never 100 before its end', async () => {
    const orgId = await bench.createOrg();
    const seen = Promise.withResolvers<void>();
    startWorker([
      handlerOf(async ({ progress, job }) => {
        for (const percent of [40, 20, 41.9, 250]) progress(percent);
        await eventually(async () => (await bench.jobs.get(orgId, job.id)).progress === 99);
        progress(50);
        seen.resolve();
        return imageOutcome();
      }),
    ]);
    const id = await bench.enqueue(orgId);
    await seen.promise;
    await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 });
    const events = await bench.jobs.events(orgId, id, 0, 100);
    const shown = events.map(({ job }) => job.progress);
    expect(shown).toEqual(shown.toSorted((a, b) => a - b));
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  });

  it('fails with the message of an ApiError, and with the endpoint’s own for any other fault', async () => {
    const orgId = await bench.createOrg();
    startWorker([
      handlerOf(async () => {
        throw new ApiError('invalid_request', 'The upstream refused the prompt');
      }),
      handlerOf(
        async () => {
          throw new Error('secret inside');
        },
        { tool: 'video' },
      ),
    ]);
    const refused = await bench.jobs.wait(orgId, await bench.enqueue(orgId), { timeoutMs: 10_000 });
    const broken = await bench.jobs.wait(orgId, await bench.enqueue(orgId, { tool: 'video' }), {
      timeoutMs: 10_000,
    });
    expect(refused).toMatchObject({
      status: 'failed',
      errorMessage: 'The upstream refused the prompt',
      errorCode: 'invalid_request',
    });
    expect(broken).toMatchObject({
      status: 'failed',
      errorMessage: 'Generation failed',
      errorCode: 'server_error',
    });
    expect((await bench.balance(orgId)).reserved[0]).toBe(0);
    expect((await bench.balance(orgId)).used[0]).toBe(0);
    expect((await messagesOf('events', broken.id)).at(-1)).toMatchObject({
      type: 'generation.failed',
      data: { jobId: broken.id, errorMessage: 'Generation failed' },
    });
  });

  it('fails with `Job timed out` at its time limit, and its handler is aborted', async () => {
    const orgId = await bench.createOrg();
    let aborted = false;
    startWorker([
      handlerOf(
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              aborted = true;
              reject(signal.reason as Error);
            });
          }),
        { timeLimitMs: 200 },
      ),
    ]);
    const job = await bench.jobs.wait(orgId, await bench.enqueue(orgId), { timeoutMs: 10_000 });
    expect(job).toMatchObject({ status: 'failed', errorMessage: 'Job timed out' });
    expect(aborted).toBe(true);
    expect((await bench.balance(orgId)).reserved[0]).toBe(0);
  });
});

describe('cancelling', () => {
  it('ends a pending job without a charge, and aborts a running one at once', async () => {
    const orgId = await bench.createOrg();
    const pending = await bench.enqueue(orgId);
    expect(await bench.jobs.cancel(orgId, pending)).toMatchObject({
      status: 'cancelled',
      errorMessage: null,
    });
    const aborted = Promise.withResolvers<void>();
    startWorker([
      handlerOf(
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              aborted.resolve();
              reject(signal.reason as Error);
            });
          }),
      ),
    ]);
    const running = await bench.enqueue(orgId);
    await eventually(async () => (await bench.jobs.get(orgId, running)).status === 'processing');
    await bench.jobs.cancel(orgId, running);
    await aborted.promise;
    expect((await bench.balance(orgId)).used[0]).toBe(0);
    expect((await bench.balance(orgId)).reserved[0]).toBe(0);
    expect((await messagesOf('events', running)).at(-1)).toMatchObject({
      type: 'generation.failed',
      data: { errorMessage: 'Cancelled' },
    });
    await expect(bench.jobs.cancel(orgId, running)).rejects.toThrow('Cannot cancel cancelled job');
  });

  it('is refused for finished jobs, and unknown for another organisation’s', async () => {
    const orgId = await bench.createOrg();
    startWorker([handlerOf(async () => imageOutcome())]);
    const id = await bench.enqueue(orgId);
    await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 });
    await expect(bench.jobs.cancel(orgId, id)).rejects.toMatchObject({
      message: 'Cannot cancel completed job',
      status: 400,
    });
    const stranger = await bench.createOrg();
    for (const unknown of [id, newId('job'), '../x', '']) {
      await expect(bench.jobs.cancel(stranger, unknown)).rejects.toMatchObject({
        message: 'Job not found',
        status: 404,
      });
      await expect(bench.jobs.get(stranger, unknown)).rejects.toMatchObject({
        message: 'Job not found',
        status: 404,
      });
    }
    expect(await bench.jobs.events(stranger, id, 0, 10)).toEqual([]);
  });
});

describe('creating', () => {
  it('refuses more unfinished jobs than the plan allows, exactly, whoever races, and gives the reservation back', async () => {
    const orgId = await bench.createOrg();
    const created = await Promise.allSettled(
      Array.from({ length: 40 }, () => bench.enqueue(orgId, { maxPending: 7 })),
    );
    expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    const refusals = created
      .filter((result) => result.status === 'rejected')
      .map(({ reason }) => reason as ApiError);
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ message: 'Too many pending jobs', status: 429 });
    expect(refusals[0]?.details.retryAfter).toBeGreaterThanOrEqual(1);
    expect((await bench.balance(orgId)).reserved[0]).toBe(7 * 200);
    const ledger = await bench.ledger(orgId);
    expect(ledger.filter(({ state }) => state === 'reserved')).toHaveLength(7);
  });

  it('fails for one bad job of a batch without hurting the others', async () => {
    const orgId = await bench.createOrg();
    const id = await bench.enqueue(orgId);
    const results = await Promise.allSettled([
      bench.enqueue(orgId),
      bench.enqueue(orgId, { id }),
      bench.enqueue(orgId),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

describe('listing', () => {
  it('pages newest first, by tool and by state, and refuses a cursor that is none', async () => {
    const orgId = await bench.createOrg();
    const images: string[] = [];
    for (let i = 0; i < 5; i++) images.unshift(await bench.enqueue(orgId));
    const video = await bench.enqueue(orgId, { tool: 'video' });
    await bench.jobs.cancel(orgId, images[0] ?? '');

    const first = await bench.jobs.list(orgId, { pending: false, first: 4 });
    expect(first.nodes.map(({ id }) => id)).toEqual([video, ...images.slice(0, 3)]);
    const rest = await bench.jobs.list(orgId, { pending: false, first: 4, after: first.nextCursor ?? '' });
    expect([rest.nodes.map(({ id }) => id), rest.nextCursor]).toEqual([images.slice(3), null]);
    const pending = await bench.jobs.list(orgId, { tool: 'image', pending: true, first: 10 });
    expect(pending.nodes.map(({ id }) => id)).toEqual(images.slice(1));
    await expect(bench.jobs.list(orgId, { pending: false, first: 4, after: 'x' })).rejects.toMatchObject({
      status: 400,
    });
  });
});

describe('waiting', () => {
  it('answers the unfinished job when the time is over, without polling in between for each waiter', async () => {
    const orgId = await bench.createOrg();
    const id = await bench.enqueue(orgId, { tool: 'stt' });
    const jobs = await Promise.all(
      Array.from({ length: 50 }, () => bench.jobs.wait(orgId, id, { timeoutMs: 50 })),
    );
    expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(['pending']));
  });

  it('hears of an end that nobody announced', async () => {
    const orgId = await bench.createOrg();
    const id = await bench.enqueue(orgId, { tool: 'stt' });
    const waiting = bench.jobs.wait(orgId, id, { timeoutMs: 20_000 });
    await test.database.system.query(
      `UPDATE jobs SET status = 'failed', error_message = 'x', completed_at = now() WHERE id = $1`,
      [id],
    );
    expect(await waiting).toMatchObject({ status: 'failed' });
  });
});

describe('retention', () => {
  it('forgets finished jobs after their time, with their events and files', async () => {
    const orgId = await bench.createOrg();
    const [old, young] = [await bench.enqueue(orgId), await bench.enqueue(orgId)];
    await bench.jobs.cancel(orgId, old);
    await bench.jobs.cancel(orgId, young);
    await test.database.system.query(
      `UPDATE jobs SET completed_at = now() - interval '31 days' WHERE id = $1`,
      [old],
    );
    const file = newId('file');
    await test.database.system.query(
      `INSERT INTO files (id, org_id, content_type, size_bytes, extension, job_id) VALUES ($1, $2, 'image/png', 1, 'png', $3)`,
      [file, orgId, old],
    );
    const removed: string[] = [];
    const retention = createJobRetention({
      database: test.database,
      retentionDays: 30,
      logger: pino({ level: 'silent' }),
      async removeFiles(_, ids) {
        removed.push(...ids);
      },
    });
    expect(await retention.sweep()).toBe(1);
    expect(removed).toEqual([file]);
    await expect(bench.jobs.get(orgId, old)).rejects.toThrow('Job not found');
    expect(await bench.jobs.events(orgId, old, 0, 10)).toEqual([]);
    expect((await bench.jobs.get(orgId, young)).id).toBe(young);
    await retention.close();
  });
});

describe('every history in this database', () => {
  it('is a path of allowed moves without a hole', async () => {
    const rows = await test.database.system.query<{ job_id: string; sequence: number; status: JobStatus }>(
      'SELECT job_id, sequence, status FROM job_events ORDER BY job_id, sequence',
    );
    let before: JobStatus | 'none' = 'none';
    let sequence = 0;
    for (const row of rows) {
      if (row.sequence === 1) [before, sequence] = ['none', 0];
      expect(row.sequence).toBe(sequence + 1);
      expect(JOB_TRANSITIONS[before]).toContain(row.status);
      [before, sequence] = [row.status, row.sequence];
    }
  });
});
