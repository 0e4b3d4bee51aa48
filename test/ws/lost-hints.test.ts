import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createJobEventReader, createJobLookup } from '../../src/jobs/index.js';
import type { JobEvent } from '../../src/jobs/jobs.types.js';
import { createJobHub, type JobHub } from '../../subscriptions/index.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server?.close());

/** A job that tells its progress while it takes its time. @returns its id */
async function startJob(key: string, delayMs: number): Promise<string> {
  const { body } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key,
    body: { prompt: `a dam @sandbox{"delay_ms":${delayMs}}`, size: '512x512' },
  });
  return body.id;
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

/** A hub that no hint reaches. */
const unhinted = (): Promise<JobHub> => {
  const { jobs, database } = server.services;
  return createJobHub({
    jobs,
    hints: { on: () => () => {} },
    bus: { subscribe: () => Promise.resolve({ close: () => Promise.resolve() }) },
    positions: createJobLookup(database),
    all: createJobEventReader(database),
    logger: pino({ level: 'silent' }),
  });
};

/** What it tells until some job is completed, or for six seconds. */
async function untilCompleted(updates: AsyncIterableIterator<JobEvent>): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  const timer = setTimeout(() => void updates.return?.(), 6_000);
  for await (const event of updates) {
    events.push(event);
    if (event.type === 'job.completed') break;
  }
  clearTimeout(timer);
  return events;
}

test('jobUpdates tells what no hint told of', async () => {
  const mine = await server.createOrg();
  const hub = await unhinted();
  const updates = await hub.updates({ orgId: mine.orgId });
  const id = await startJob(mine.key, 0);
  const events = await untilCompleted(updates);
  await hub.close();
  expect(new Set(events.map(({ job }) => job.id))).toEqual(new Set([id]));
  expect(events[0]?.type).toBe('job.pending');
  expect(events.at(-1)?.type).toBe('job.completed');
});

test('jobUpdates tells what no hint told of from its first event, also where somebody follows that job from a later one', async () => {
  const mine = await server.createOrg();
  const hub = await unhinted();
  const updates = await hub.updates({ orgId: mine.orgId });
  const id = await startJob(mine.key, 3_000);
  await eventually(async () => {
    const { body } = await server.rest<{ progress: number }>('GET', `/jobs/${id}`, { key: mine.key });
    return body.progress > 0;
  });
  const progress = await hub.progress({ orgId: mine.orgId, jobId: id });
  const first = await progress.next();
  expect((first.value as JobEvent).sequence).toBeGreaterThan(2);
  const events = await untilCompleted(updates);
  await hub.close();
  expect(events.map(({ sequence }) => sequence)).toEqual(upTo(events.length));
  expect(events.at(-1)?.type).toBe('job.completed');
});

test.each([-5_000, 5_000])(
  'jobUpdates tells of the jobs that begin later and no others, where the clock of its process is %i ms off',
  async (offMs) => {
    const mine = await server.createOrg();
    const before = await startJob(mine.key, 0);
    await server.rest('GET', `/jobs/${before}?poll=true`, { key: mine.key });
    const hub = await unhinted();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offMs });
    const updates = await hub.updates({ orgId: mine.orgId });
    vi.useRealTimers();
    // More than one sweep.
    await sleep(2_500);
    const id = await startJob(mine.key, 0);
    const events = await untilCompleted(updates);
    await hub.close();
    expect(new Set(events.map(({ job }) => job.id))).toEqual(new Set([id]));
    expect(events.map(({ sequence }) => sequence)).toEqual(upTo(events.length));
  },
);
