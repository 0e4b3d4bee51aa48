import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JobHub } from '../../subscriptions/index.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually, seededRandom } from '../support/wait.js';

interface Item {
  cursor: string;
  sequence: number;
  type: string;
  job: { id: string; tool: string };
}

const updates = (after?: string, more = '') =>
  `subscription { jobUpdates(${after === undefined ? '' : `after: ${JSON.stringify(after)}`}${more}) { cursor sequence type job { id tool } } }`.replace(
    '()',
    '',
  );

const JOBS = 40;
let server: TestServer;
beforeAll(async () => {
  const endpointLimits = { image: { limit: 1000, windowSeconds: 60 } };
  server = await startPenstock({
    plans: { endpointLimits, plans: { cli_team: { limits: { image_generations: 1000 } } } },
  });
});
afterAll(() => server?.close());

async function startJob(key: string, delayMs: number): Promise<string> {
  const { body } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key,
    body: { prompt: `a dam @sandbox{"delay_ms":${delayMs}}`, size: '512x512' },
  });
  return body.id;
}

/** The next items of a stream, at most so many; ends its connection. */
async function take(client: Client, query: string, most: number): Promise<Item[]> {
  const items: Item[] = [];
  for await (const { data, errors } of client.iterate<{ jobUpdates: Item }>({ query })) {
    if (errors) throw new Error(JSON.stringify(errors[0]));
    items.push(data!.jobUpdates);
    if (items.length === most) break;
  }
  await client.dispose();
  return items;
}

/** The cursor of an event of an organisation, after which nothing has happened yet. */
async function firstCursor(key: string): Promise<string> {
  const client = server.ws(key);
  const items = take(client, updates(), 2);
  const hub = server.services.jobEvents as JobHub;
  await eventually(() => hub.size > 0);
  const id = await startJob(key, 0);
  await items;
  await server.rest('GET', `/jobs/${id}?poll=true`, { key });
  const whole = await take(server.ws(key), updates((await items)[0]!.cursor), 1);
  let last = whole[0]!;
  while (last.type !== 'job.completed')
    [last] = (await take(server.ws(key), updates(last.cursor), 1)) as [Item];
  return last.cursor;
}

describe('jobUpdates after a cursor', () => {
  test('tells every event of many jobs once and each job in order, however often its reader is cut off while they run', async () => {
    const { key } = await server.createOrg({ plan: 'cli_team' });
    const random = seededRandom(11);
    let cursor = await firstCursor(key);
    const started = Promise.all(
      Array.from({ length: JOBS }, (_, nth) => sleep(nth * 40).then(() => startJob(key, nth * 20))),
    );
    const items: Item[] = [];
    const isDone = () => items.filter(({ type }) => type === 'job.completed').length === JOBS;
    while (!isDone()) {
      const client = server.ws(key);
      let left = 1 + Math.floor(random() * 30);
      for await (const { data } of client.iterate<{ jobUpdates: Item }>({ query: updates(cursor) })) {
        items.push(data!.jobUpdates);
        ({ cursor } = data!.jobUpdates);
        if (--left === 0 || isDone()) break;
      }
      await client.dispose();
      if (random() < 0.3) await sleep(200);
    }
    for (const id of await started) {
      const own = items.filter(({ job }) => job.id === id).map(({ sequence }) => sequence);
      expect(own).toEqual(own.map((_, index) => index + 1));
    }
    expect(new Set(items.map(({ job }) => job.id)).size).toBe(JOBS);
  });

  test('tells an event whose transaction began before the cursor was given and ended after it', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'cli_team' });
    const id = await startJob(key, 0);
    await server.rest('GET', `/jobs/${id}?poll=true`, { key });
    const { database } = server.services;
    let finish = (): void => {};
    const open = new Promise<void>((resolve) => (finish = resolve));
    const late = database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence)
          VALUES ($1, $2, 1000, 'job.progress', 'processing', 50, 1, 1)`,
        [id, orgId],
      );
      await open;
    });
    const cursor = await firstCursor(key);
    finish();
    await late;
    const [item] = await take(server.ws(key), updates(cursor), 1);
    expect(item).toMatchObject({ sequence: 1000, job: { id } });
  });

  test('goes on with what is new once it has told what was missed', async () => {
    const { key } = await server.createOrg({ plan: 'cli_team' });
    const cursor = await firstCursor(key);
    const missed = await startJob(key, 0);
    await server.rest('GET', `/jobs/${missed}?poll=true`, { key });
    const ids: string[] = [];
    for await (const { data } of server.ws(key).iterate<{ jobUpdates: Item }>({ query: updates(cursor) })) {
      const { type, job } = data!.jobUpdates;
      if (type !== 'job.completed') continue;
      ids.push(job.id);
      if (ids.length === 1) await startJob(key, 0);
      else break;
    }
    expect(ids[0]).toBe(missed);
    expect(ids[1]).not.toBe(missed);
  });

  test('with a tool leaves out the others, and a cursor of another organisation shows only own events', async () => {
    const stranger = await server.createOrg({ plan: 'cli_team' });
    const foreign = await firstCursor(stranger.key);
    const { key } = await server.createOrg({ plan: 'cli_team' });
    await startJob(stranger.key, 0);
    const id = await startJob(key, 0);
    const [item] = await take(server.ws(key), updates(foreign, ', tool: image'), 1);
    expect(item).toMatchObject({ sequence: 1, job: { id, tool: 'image' } });
  });

  test.each([
    '',
    'a',
    '-1',
    '12',
    Buffer.from('1,2:3').toString('base64url'),
    Buffer.from('1:1:1:job_x:-1').toString('base64url'),
    Buffer.from("1:1:1:' OR 1:1").toString('base64url'),
    Buffer.from(`${'9'.repeat(30)}`).toString('base64url'),
    Buffer.from('999999999999999999').toString('base64url'),
    'x'.repeat(20_000),
  ])('is refused for what is no cursor: %j', async (after) => {
    const { key } = await server.createOrg();
    const refused = await take(server.ws(key), updates(after), 1).then(
      () => null,
      (error: unknown) => JSON.stringify(error instanceof Error ? error.message : error),
    );
    expect(refused).toMatch(/after (must be the cursor|is beyond)/);
  });
});

test('an event stream of jobUpdates carries cursors as ids, and Last-Event-ID goes on from there', async () => {
  const { key } = await server.createOrg({ plan: 'cli_team' });
  const cursor = await firstCursor(key);
  await startJob(key, 0);
  const read = async (headers: Record<string, string>, most: number) => {
    const answer = await server.raw(`/graphql?query=${encodeURIComponent(updates())}`, {
      method: 'GET',
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...headers },
    });
    let text = '';
    for await (const part of answer.body) {
      text += String(part);
      if (text.split('\n\n').length > most) break;
    }
    return text
      .split('\n\n')
      .slice(0, most)
      .map((event) => {
        const [, id = '', data = ''] = /^id: (.*)\nevent: next\ndata: (.*)$/.exec(event) ?? [];
        return { id, item: (JSON.parse(data) as { data: { jobUpdates: Item } }).data.jobUpdates };
      });
  };
  const [first, second] = await read({ 'last-event-id': cursor }, 2);
  expect(first).toMatchObject({ id: first!.item.cursor, item: { sequence: 1 } });
  const [again] = await read({ 'last-event-id': first!.item.cursor }, 1);
  // Its place may be told by a later look at the database: that goes on behind the same event.
  expect(again!.item).toEqual({ ...second!.item, cursor: again!.item.cursor });
});
