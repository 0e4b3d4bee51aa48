import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createStreamLimits } from '../../src/metering/index.js';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const HELD = 3;
const WATCH = 'subscription { jobUpdates { type } }';
let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plans-'));
  const file = join(folder, 'plans.json');
  const streams = { perMinute: 10, held: HELD, heldByOrganization: 5 };
  writeFileSync(file, JSON.stringify({ plans: { business_monthly: { streams } } }));
  server = await startPenstock({ env: { PLANS_FILE: file } });
});
afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

/** An answer that stays open, or a refusal. */
async function open(key: string, path: string, body?: object): Promise<IncomingMessage> {
  const headers = {
    authorization: `Bearer ${key}`,
    accept: 'text/event-stream',
    ...(body ? { 'content-type': 'application/json' } : {}),
  };
  const request = httpRequest(server.origin + path, { method: body ? 'POST' : 'GET', headers });
  request.on('error', () => undefined).end(body && JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}

const textOf = async (response: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
};

async function connect(key: string) {
  const ws = await openRawWebSocket(server.wsUrl);
  ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
  return ws;
}

it('sockets, event streams and long polls of a key are counted together, and refused over its limit', async () => {
  const { key } = await server.createOrg();
  const { body } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key,
    body: { prompt: '@sandbox{"delay_ms":60000} a hill' },
  });
  const { id } = body;
  const ws = await connect(key);
  await ws.next('connection_ack');
  const stream = await open(key, '/graphql', { query: WATCH });
  const job = await open(key, `/api/v1/jobs/${id}/stream`);
  expect([stream.statusCode, job.statusCode]).toEqual([200, 200]);

  const late = await connect(key);
  expect(await late.closed).toEqual({ code: 4429, reason: 'Too many open streams' });
  for (const [path, body] of [
    ['/graphql', { query: WATCH }],
    [`/api/v1/jobs/${id}/stream`, undefined],
    [`/api/v1/jobs/${id}?poll=true`, undefined],
  ] as const) {
    const refused = await open(key, path, body);
    expect([path, refused.statusCode, refused.headers['retry-after']]).toEqual([path, 429, '1']);
    expect(await textOf(refused)).toContain('Too many open streams');
  }

  // Each of the three gives its place to another kind.
  const works = async (path: string) => {
    const answer = await open(key, path);
    answer.destroy();
    return answer.statusCode === 200;
  };
  for (const end of [() => ws.socket.close(), () => stream.destroy(), () => job.destroy()]) {
    end();
    await eventually(() => works(`/api/v1/jobs/${id}/stream`));
  }
  const polled = open(key, `/api/v1/jobs/${id}?poll=true`);
  await server.rest('DELETE', `/jobs/${id}`, { key });
  expect((await polled).statusCode).toBe(200);
});

it('a refused stream takes no slot of its key’s window', async () => {
  const { key } = await server.createOrg();
  const held = await Promise.all(Array.from({ length: HELD }, () => open(key, '/graphql', { query: WATCH })));
  const remaining = async () =>
    Number((await server.rest('GET', '/quota', { key })).headers['x-ratelimit-remaining']);
  const before = await remaining();
  const refused = await open(key, '/api/v1/jobs/job_x?poll=true');
  expect(refused.statusCode).toBe(429);
  await textOf(refused);
  expect(await remaining()).toBe(before - 1);
  for (const stream of held) stream.destroy();
});

it('all keys of an organisation together have a limit of their own', async () => {
  const { key, orgId } = await server.createOrg();
  const { key: second } = await server.createKey(orgId);
  const sockets = await Promise.all([key, key, key, second, second].map(connect));
  for (const ws of sockets) await ws.next('connection_ack');
  expect((await (await connect(second)).closed).code).toBe(4429);
  const other = await connect((await server.createOrg()).key);
  await other.next('connection_ack');
  for (const ws of [...sockets, other]) ws.socket.close();
});

it('opened subscriptions count against a window of their own, over sockets and event streams', async () => {
  const { key } = await server.createOrg();
  const ws = await connect(key);
  await ws.next('connection_ack');
  for (let at = 0; at < 9; at++) {
    ws.send({ id: String(at), type: 'subscribe', payload: { query: WATCH } });
    ws.send({ id: String(at), type: 'complete' });
  }
  ws.send({ id: 'q', type: 'subscribe', payload: { query: '{ quota { orgId } }' } });
  await ws.next('next');
  const last = await open(key, '/graphql', { query: WATCH });
  expect([last.statusCode, last.headers['x-ratelimit-limit'], last.headers['x-ratelimit-remaining']]).toEqual(
    [200, '10', '0'],
  );
  last.destroy();
  const refused = await open(key, '/graphql', { query: WATCH });
  expect([refused.statusCode, await textOf(refused)]).toEqual([
    429,
    expect.stringContaining('Rate limit exceeded'),
  ]);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(30);
  ws.send({ id: 'late', type: 'subscribe', payload: { query: WATCH } });
  expect(await ws.next('error')).toMatchObject({ payload: [{ extensions: { code: 'rate_limited' } }] });
  // Of the key's own window this took one slot, for the query.
  const { headers } = await server.rest('GET', '/quota', { key });
  expect([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual(['300', '298']);
  ws.socket.close();
});

it('the window of openings slides, and a clock that is set back does not matter to it', () => {
  let now = 1000;
  const limits = createStreamLimits(() => now);
  const plan = { streams: { perMinute: 2, held: 1, heldByOrganization: 1 } };
  const opened = () => {
    const call = { principal: { keyId: 'k', plan }, keyWindowOpen: true, rate: null };
    try {
      limits.open(call as never);
      return true;
    } catch {
      return false;
    }
  };
  expect([opened(), opened(), opened()]).toEqual([true, true, false]);
  now += 59_999;
  expect(opened()).toBe(false);
  now += 1;
  expect([opened(), opened(), opened()]).toEqual([true, true, false]);
});
