import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startReceiver, trustReceivers } from '../support/receiver.js';
import type { Receiver } from '../support/receiver.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

trustReceivers();
let penstock: TestServer;
let receiver: Receiver;
let key: string;

beforeAll(async () => {
  penstock = await startPenstock({ env: { EGRESS_ALLOW: '127.0.0.0/8' } });
  receiver = await startReceiver();
  ({ key } = await penstock.createOrg({ plan: 'pro_monthly' }));
});

afterAll(async () => {
  await receiver.close();
  await penstock.close();
});

interface Shown {
  webhook: { id: string; secret: string };
  delivery: { id: string };
}

const registration = () => ({
  name: 'ci',
  url: `${receiver.url}/hook`,
  events: ['generation.started', 'generation.completed'],
});

test('a registration shows its secret once and is listed, read, changed and deleted by its id', async () => {
  const created = await penstock.rest<Shown>('POST', '/webhooks', { key, body: registration() });
  expect(created.status).toBe(200);
  const { secret, ...record } = created.body.webhook;
  expect(secret).toMatch(/^whsec_[0-9a-f]{64}$/);
  expect(record).toEqual({
    id: expect.stringMatching(/^whk_/),
    ...registration(),
    enabled: true,
    custom_headers: {},
    consecutive_failures: 0,
    disabled_reason: null,
    last_delivery_at: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const path = `/webhooks/${record.id}`;
  expect((await penstock.rest('GET', path, { key })).body).toEqual({ webhook: record });
  expect((await penstock.rest('GET', '/webhooks', { key })).body).toEqual({ webhooks: [record] });
  const changed = await penstock.rest('PATCH', path, { key, body: { enabled: false } });
  expect(changed.body.webhook).toMatchObject({ id: record.id, enabled: false });
  expect((await penstock.rest('DELETE', path, { key })).body).toEqual({ success: true });
  expect(await penstock.rest('GET', path, { key })).toMatchObject({
    status: 404,
    body: { error: 'Webhook not found', code: 'not_found' },
  });
});

test('a generation sends its started and completed events, with a link that opens', async () => {
  const created = await penstock.rest<Shown>('POST', '/webhooks', { key, body: registration() });
  const image = await penstock.rest('POST', '/images/generations', {
    key,
    body: { prompt: 'a weir', size: '512x512' },
  });
  expect(image.status).toBe(200);
  const events = await eventually(() => {
    const bodies = receiver.requests.map((request) => JSON.parse(request.body));
    return bodies.length === 2 && bodies;
  });
  const jobId = image.headers['x-job-id'];
  expect(events.map((event) => event.type).sort()).toEqual(['generation.completed', 'generation.started']);
  const { data } = events.find((event) => event.type === 'generation.completed');
  expect(data).toMatchObject({ jobId, tool: 'image', unitsUsed: 1, unitType: 'image_generations' });
  const { pathname, search } = new URL(data.outputUrl);
  expect((await fetch(`${penstock.origin}${pathname}${search}`)).status).toBe(200);
  // An attempt is written a moment after its answer came.
  await eventually(async () => {
    const list = await penstock.rest('GET', `/webhooks/${created.body.webhook.id}/deliveries`, { key });
    expect(list.body).toMatchObject({
      deliveries: [{ status: 'succeeded' }, { status: 'succeeded' }],
      next_cursor: null,
    });
    return true;
  });
  await penstock.rest('DELETE', `/webhooks/${created.body.webhook.id}`, { key });
});

test('a test delivery answers with its attempt over both faces', async () => {
  const created = await penstock.rest<Shown>('POST', '/webhooks', { key, body: registration() });
  const { id } = created.body.webhook;
  const tested = await penstock.rest<Shown>('POST', `/webhooks/${id}/test`, { key });
  expect(tested.body.delivery).toMatchObject({
    webhook_id: id,
    event_type: 'webhook.test',
    status: 'succeeded',
    attempts: [{ status_code: 204, error: null }],
    next_attempt_at: null,
  });
  const shown = await penstock.graphql(
    `{ webhookDeliveries(webhookId: "${id}") { nodes { id status attempts { statusCode } } } }`,
    {
      key,
    },
  );
  expect(shown.data).toEqual({
    webhookDeliveries: {
      nodes: [{ id: tested.body.delivery.id, status: 'succeeded', attempts: [{ statusCode: 204 }] }],
    },
  });
  await penstock.rest('DELETE', `/webhooks/${id}`, { key });
});

const fixture = (name: string) => readFileSync(new URL(`../support/fixtures/${name}`, import.meta.url));
const CREDENTIALS = { key: fixture('receiver-key.pem'), cert: fixture('receiver-cert.pem') };

async function testedAt(url: string): Promise<unknown> {
  const { body } = await penstock.rest<Shown>('POST', '/webhooks', { key, body: { ...registration(), url } });
  const path = `/webhooks/${body.webhook.id}`;
  const tested = await penstock.rest<Shown>('POST', `${path}/test`, { key });
  await penstock.rest('DELETE', path, { key });
  return tested.body.delivery;
}

const OK = 'HTTP/1.1 200 OK\r\n';
test.each([
  [
    'early hints before it',
    `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
    200,
    'ok',
  ],
  ['a body that breaks off', `${OK}content-length: 100\r\n\r\nhalf`, 200, 'half'],
  ['a body that is no chunks', `${OK}transfer-encoding: chunked\r\n\r\nzz\r\n`, 200, ''],
  ['HTTP/1.0', 'HTTP/1.0 202 Accepted\r\n\r\nold', 202, 'old'],
  ['a NUL in its body', `${OK}content-length: 3\r\n\r\na\0b`, 200, 'a\ufffdb'],
  ['a redirect', 'HTTP/1.1 307 T\r\nlocation: https://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n', 307, ''],
  ['not modified', 'HTTP/1.1 304 N\r\n\r\n', 304, ''],
  ['headers over 32 KB', `${OK}x: ${'y'.repeat(40_000)}\r\n\r\n`, null, null],
  ['no HTTP', 'hello\r\n\r\n', null, null],
  ['nothing', '', null, null],
])('an answer with %s is judged by its status, or none came', async (_what, bytes, status, body) => {
  const target = createTlsServer(CREDENTIALS, (socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(bytes));
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const delivery = await testedAt(`https://127.0.0.1:${(target.address() as AddressInfo).port}`);
  const isFine = status !== null && status < 300;
  expect(delivery).toMatchObject({
    status: isFine ? 'succeeded' : 'failed',
    attempts: [{ status_code: status, response_body: body, error: isFine ? null : expect.any(String) }],
  });
  await new Promise((resolve) => target.close(resolve));
});

test.each([
  [{ ...{ name: 'x', url: 'https://example.com' }, events: [] }, 'events'],
  [{ name: 'x', url: 'https://example.com', events: ['webhook.test'] }, 'events'],
  [{ name: 'x', url: 'https://example.com', events: [{ toString: 1 }] }, 'events'],
  [{ name: 'x', url: 'http://example.com', events: ['credits.low'] }, 'url'],
  [{ url: 'https://example.com', events: ['credits.low'] }, 'name'],
  [{ name: 'x', url: 'https://example.com', events: ['credits.low'], secret: 'mine' }, 'secret'],
])('%j is a 400 that names %s', async (body, param) => {
  expect(await penstock.rest('POST', '/webhooks', { key, body })).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', param },
  });
});

test('the Free plan has no webhooks', async () => {
  const free = await penstock.createOrg({ plan: 'free' });
  expect(await penstock.rest('POST', '/webhooks', { key: free.key, body: {} })).toMatchObject({
    status: 403,
    body: { error: 'Webhooks are not available', code: 'plan_required' },
  });
  const faulty = [
    ['GET', '/webhooks/wh_x/deliveries?limit=abc', 'Webhooks are not available'],
    ['GET', '/agents?limit=0', 'AI Agents are not available'],
    ['POST', '/webhooks/wh_x/test', 'Webhooks are not available'],
  ] as const;
  for (const [method, path, error] of faulty) {
    const body = method === 'POST' ? { body: { x: 1 } } : {};
    expect(await penstock.rest(method, path, { key: free.key, ...body })).toMatchObject({
      status: 403,
      body: { error },
    });
  }
});

test.each([
  '/webhooks/wh_x/test',
  '/webhooks/wh_x/deliveries/del_x/retry',
  '/agents/agt_x/runs/run_x/cancel',
])('%s takes no field, and an empty body as none', async (path) => {
  const post = (body: object | string) => penstock.rest('POST', path, { key, body });
  expect(await post({ event: 'x' })).toMatchObject({
    status: 400,
    body: { error: 'Unknown parameter: event', code: 'invalid_request', param: 'event' },
  });
  expect(await post('{')).toMatchObject({ status: 400, body: { error: 'Malformed JSON' } });
  const headers = { 'content-type': 'text/plain' };
  expect((await penstock.rest('POST', path, { key, body: 'x', headers })).status).toBe(415);
  expect((await post({})).status).toBe(404);
  expect((await penstock.rest('POST', path, { key })).status).toBe(404);
});

test('after a downgrade to Free a webhook hears of that change and of nothing more, until a paid plan recovers what it missed', async () => {
  const org = await penstock.createOrg({ plan: 'pro_monthly' });
  const arrived = () =>
    receiver.requests
      .map((request) => JSON.parse(request.body))
      .filter((event) => event.orgId === org.orgId)
      .map((event) => event.type);
  const events = ['chat.message.created', 'subscription.updated', 'subscription.created'];
  const body = { ...registration(), events };
  const created = await penstock.rest<Shown>('POST', '/webhooks', { key: org.key, body });
  const path = `/webhooks/${created.body.webhook.id}`;
  const change = (plan: string) => penstock.cli('org', 'plan', '--org', org.orgId, '--plan', plan);
  const chat = async (): Promise<void> => {
    const messages = [{ role: 'user', content: 'hello' }];
    const answer = await penstock.rest('POST', '/chat/completions', { key: org.key, body: { messages } });
    expect(answer.status).toBe(200);
  };
  await change('free');
  await chat();
  expect(await penstock.rest('GET', path, { key: org.key })).toMatchObject({ status: 403 });
  const since = new Date(Date.now() - 3_600_000).toISOString();
  await eventually(() => arrived().includes('subscription.updated'));
  await change('pro_monthly');
  await eventually(() => arrived().includes('subscription.created'));
  expect(arrived().sort()).toEqual(['subscription.created', 'subscription.updated']);
  expect((await penstock.rest('POST', `${path}/recover`, { key: org.key, body: { since } })).body).toEqual({
    recovered: 1,
  });
  await eventually(() => arrived().includes('chat.message.created'));
});

test('over the plan’s number the answer is 402', async () => {
  const pro = await penstock.createOrg({ plan: 'pro_monthly' });
  const create = () => penstock.rest('POST', '/webhooks', { key: pro.key, body: registration() });
  for (let made = 0; made < 5; made++) expect((await create()).status).toBe(200);
  expect(await create()).toMatchObject({
    status: 402,
    body: { error: 'Webhook limit reached', code: 'quota_exceeded' },
  });
});

test('a rotation, a recovery and the deliveries take what the contract names, and refuse the rest by its name', async () => {
  const { body } = await penstock.rest<Shown>('POST', '/webhooks', { key, body: registration() });
  const path = `/webhooks/${body.webhook.id}`;
  const post = (rest: string, sent?: object) => penstock.rest('POST', `${path}${rest}`, { key, body: sent });
  for (const [rest, sent, param] of [
    ['/rotate-secret', { overlap_seconds: -1 }, 'overlap_seconds'],
    ['/rotate-secret', { overlap_seconds: 604_801 }, 'overlap_seconds'],
    ['/rotate-secret', { overlap: 1 }, 'overlap'],
    ['/recover', {}, 'since'],
    ['/recover', { since: 'yesterday' }, 'since'],
    ['/recover', { since: '2026-02-30T00:00:00Z' }, 'since'],
    ['/recover', { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }, 'until'],
  ] as const)
    expect(await post(rest, sent)).toMatchObject({ status: 400, body: { code: 'invalid_request', param } });
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['status=lost', 'status'],
    ['cursor=x', 'cursor'],
  ])
    expect(await penstock.rest('GET', `${path}/deliveries?${query}`, { key })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', param },
    });
  const rotated = await post('/rotate-secret');
  expect(rotated.body).toMatchObject({ webhook: { secret: expect.stringMatching(/^whsec_[0-9a-f]{64}$/) } });
  expect(await post('/rotate-secret', { overlap_seconds: 0 })).toMatchObject({
    status: 409,
    body: { code: 'conflict' },
  });
  expect((await post('/recover', { since: '2026-01-01T00:00:00Z' })).body).toEqual({ recovered: 0 });
  expect((await penstock.rest('GET', `${path}/deliveries`, { key })).body).toEqual({
    deliveries: [],
    next_cursor: null,
  });
  expect(await post('/deliveries/dlv_01jd0000000000000000000000/retry')).toMatchObject({
    status: 404,
    body: { error: 'Delivery not found', code: 'not_found' },
  });
  await penstock.rest('DELETE', path, { key });
});
