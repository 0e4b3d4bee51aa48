import { createHmac } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Principal } from '../../src/access/access.types.js';
import { loadPlans } from '../../src/access/index.js';
import { createEgress } from '../../src/egress/index.js';
import {
  createDeliveryWorker,
  createSecretBox,
  createWebhookService,
  resealSecrets,
  sweepDeliveries,
  WEBHOOK_EVENT_TYPES,
} from '../../src/webhooks/index.js';
import type { DeliveryWorker, Webhook, WebhookService } from '../../src/webhooks/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { startReceiver, trustReceivers } from '../support/receiver.js';
import type { Receiver } from '../support/receiver.js';
import { eventually } from '../support/wait.js';

trustReceivers();
const ORG = 'org_00000000000000000000000001';
const DELAYS = [0, 20, 20, 20, 20];
let db: TestDatabase;
let service: WebhookService;
let worker: DeliveryWorker;
let egress: ReturnType<typeof createEgress>;
const receivers: Receiver[] = [];
const { plans } = await loadPlans(null);
const principal = { orgId: ORG, plan: plans.business_monthly } as Principal;
const unkeyed = (caller: Principal) => ({ principal: caller, idempotencyKey: null });

beforeAll(async () => {
  db = await createTestDatabase();
  await db.database.system.query(
    `INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ($1, 'Acme', 'business_monthly', 'usr_1')`,
    [ORG],
  );
  egress = createEgress({ config: { egress: { allow: ['127.0.0.0/8'] } } });
  const options = {
    database: db.database,
    egress,
    files: { sign: <T>(_: string, value: T) => value },
    secrets: createSecretBox({ current: 'test secret', previous: null }),
    isUnderstood: () => Promise.resolve(true),
    config: { webhooks: { retryDelaysMs: DELAYS }, jobs: { retentionDays: 30 } },
    logger: pino({ level: 'silent' }),
  };
  service = createWebhookService(options);
  worker = createDeliveryWorker(options);
  worker.start();
});

afterAll(async () => {
  // First: attempts that wait for an answer end with their receiver.
  for (const receiver of receivers) await receiver.close();
  await worker.close();
  await egress.close();
  await db.close();
});

async function receiver(answer?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const started = await startReceiver(answer);
  receivers.push(started);
  return started;
}

function register(url: string, body: Record<string, unknown> = {}): Promise<Webhook> {
  return service.create(unkeyed(principal), { name: 'hook', url, events: ['generation.completed'], ...body });
}

const rotate = (id: string, body: object) => service.rotateSecret(unkeyed(principal), id, { ...body });
async function emit(type = 'generation.completed', data: object = { jobId: 'job_1' }): Promise<string> {
  const [row] = await db.database.system.query<{ id: string }>(
    `WITH e AS (SELECT penstock_event($1, $2, $3::jsonb) AS event)
     SELECT event ->> 'id' AS id, penstock_emit('events', $2, event) FROM e`,
    [type, ORG, JSON.stringify(data)],
  );
  return row!.id;
}

const signatureOf = (secret: string, timestamp: unknown, body: string) =>
  createHmac('sha256', secret)
    .update(`${String(timestamp)}:${body}`)
    .digest('hex');

test('an event arrives once, signed over its timestamp and raw body, with the envelope of the contract', async () => {
  const target = await receiver();
  const hook = await register(target.url, { custom_headers: { 'X-Team': 'blue' } });
  const id = await emit();
  const [request] = await eventually(() => target.requests.length > 0 && target.requests);
  expect(hook.secret).toMatch(/^whsec_[0-9a-f]{64}$/);
  expect(request!.headers).toMatchObject({
    'content-type': 'application/json',
    'x-team': 'blue',
    'x-service-event-id': id,
    'x-service-event-type': 'generation.completed',
    'x-service-signature': signatureOf(hook.secret!, request!.headers['x-service-timestamp'], request!.body),
  });
  expect(JSON.parse(request!.body)).toEqual({
    id,
    type: 'generation.completed',
    orgId: ORG,
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: { jobId: 'job_1' },
  });
  await service.delete(principal, hook.id);
});

test('a failing receiver gets five attempts with the same event id, and the delivery is then failed with each of them', async () => {
  const target = await receiver((_, response) => response.writeHead(500).end('no'));
  const hook = await register(target.url);
  const id = await emit();
  const delivery = await eventually(async () => {
    const { nodes } = await service.deliveries(principal, hook.id, { first: 10 });
    return nodes[0]?.status === 'failed' && nodes[0];
  });
  expect(target.requests.map((request) => request.headers['x-service-event-id'])).toEqual([
    id,
    id,
    id,
    id,
    id,
  ]);
  expect(delivery.attempts).toHaveLength(5);
  expect(delivery.attempts[4]).toMatchObject({ statusCode: 500, error: 'HTTP 500', responseBody: 'no' });
  expect((await service.get(principal, hook.id)).consecutiveFailures).toBe(5);
  await service.delete(principal, hook.id);
});

test('the tenth failed attempt in a row disables the webhook; enabling it again clears the count and sends what waited', async () => {
  let healthy = false;
  const target = await receiver((_, response) => response.writeHead(healthy ? 200 : 503).end());
  const hook = await register(target.url);
  await emit();
  await emit();
  const disabled = await eventually(async () => {
    const now = await service.get(principal, hook.id);
    return !now.enabled && now;
  });
  expect(disabled).toMatchObject({
    consecutiveFailures: 10,
    disabledReason: '10 consecutive failed attempts',
  });
  const missed = await emit();
  healthy = true;
  const enabled = await service.update(principal, hook.id, { enabled: true });
  expect(enabled).toMatchObject({ enabled: true, consecutiveFailures: 0, disabledReason: null });
  const recovered = await service.recover(principal, hook.id, { since: '2020-01-01T00:00:00Z' });
  expect(recovered).toBe(3);
  await eventually(async () => {
    const { nodes } = await service.deliveries(principal, hook.id, { first: 10 });
    return nodes.length === 3 && nodes.every((delivery) => delivery.status === 'succeeded');
  });
  expect(target.requests.at(-1)!.headers['x-service-event-id']).toBeDefined();
  expect(target.requests.some((request) => request.headers['x-service-event-id'] === missed)).toBe(true);
  await service.delete(principal, hook.id);
});

test('one dead receiver among a hundred delays nobody else', async () => {
  const dead = await receiver(() => undefined);
  const alive = await receiver();
  const roomy = {
    ...principal,
    plan: { ...principal.plan, webhooks: { max: 100, customHeaders: true } },
  } as Principal;
  const at = (url: string) =>
    service.create(unkeyed(roomy), { name: 'hook', url, events: ['generation.completed'] });
  const hooks = [await at(dead.url)];
  for (let i = 0; i < 99; i++) hooks.push(await at(alive.url));
  for (let i = 0; i < 5; i++) await emit();
  await eventually(() => alive.requests.length >= 99 * 5, { what: 'the deliveries of the others' });
  expect(alive.requests).toHaveLength(99 * 5);
  // An event comes to it again only once the attempt before was given up and written down, however busy the machine is.
  const heard = Map.groupBy(dead.requests, ({ headers }) => headers['x-service-event-id']);
  const { nodes } = await service.deliveries(roomy, hooks[0]!.id, { first: 10 });
  expect(nodes).toHaveLength(5);
  for (const { eventId, attempts } of nodes) {
    expect(heard.get(eventId)?.length ?? 0).toBeLessThanOrEqual(attempts.length + 1);
    for (const { durationMs } of attempts) expect(durationMs).toBeGreaterThanOrEqual(9_900);
  }
  for (const hook of hooks) await service.delete(roomy, hook.id);
});

test("a disabled webhook's deliveries wait, and those older than three days fail", async () => {
  const target = await receiver();
  const hook = await register(target.url, { enabled: false });
  const make = async (age: string): Promise<string> => {
    const eventId = await emit();
    const [row] = await db.database.system.query<{ id: string }>(
      `INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type, next_attempt_at, created_at)
       VALUES ('dlv' || substr(penstock_event_id(), 4), $1, $2, $3, 'generation.completed', clock_timestamp(), clock_timestamp() - $4::interval)
       RETURNING id`,
      [ORG, hook.id, eventId, age],
    );
    return row!.id;
  };
  const young = await make('2 days 23 hours');
  const old = await make('3 days 1 minute');
  await sweepDeliveries(db.database.system, 30);
  const statuses = async () => {
    const { nodes } = await service.deliveries(principal, hook.id, { first: 10 });
    return Object.fromEntries(nodes.map(({ id, status }) => [id, status]));
  };
  expect(await statuses()).toEqual({ [young]: 'pending', [old]: 'failed' });
  expect(target.requests).toHaveLength(0);
  await service.update(principal, hook.id, { enabled: true });
  await eventually(async () => (await statuses())[young] === 'succeeded');
  expect((await statuses())[old]).toBe('failed');
  await service.delete(principal, hook.id);
});

test('deliveries and their events are kept for the retention, those that still wait for longer', async () => {
  const target = await receiver();
  const hook = await register(target.url);
  const eventId = await emit();
  await eventually(async () => {
    const { nodes } = await service.deliveries(principal, hook.id, { first: 1, status: 'succeeded' });
    return nodes.length === 1;
  });
  const left = async () => (await service.deliveries(principal, hook.id, { first: 10 })).nodes.length;
  const age = (days: number) =>
    db.database.system.query(
      `UPDATE webhook_events SET created_at = clock_timestamp() - $2 * interval '1 day' WHERE id = $1`,
      [eventId, days],
    );
  await age(29);
  await sweepDeliveries(db.database.system, 30);
  expect(await left()).toBe(1);
  await age(31);
  await sweepDeliveries(db.database.system, 30);
  expect(await left()).toBe(0);
  await service.delete(principal, hook.id);
});

test('the answer is read for 64 KB at most, and its body never changes the outcome', async () => {
  const target = await receiver((_, response) => {
    response.writeHead(200);
    response.write('a'.repeat(200_000));
    // Never ended: what is read is cut, and judged by its status.
  });
  const hook = await register(target.url, {
    custom_headers: { 'X-Team': 'hydro power', authorization: 'Bearer t' },
  });
  await emit();
  const delivery = await eventually(async () => {
    const { nodes } = await service.deliveries(principal, hook.id, { first: 1, status: 'succeeded' });
    return nodes[0];
  });
  expect(delivery.attempts).toHaveLength(1);
  expect(delivery.attempts[0]!.responseBody).toHaveLength(65_536);
  expect(target.requests[0]!.headers).toMatchObject({
    'x-team': 'hydro power',
    authorization: 'Bearer t',
    'content-type': 'application/json',
  });
  await service.delete(principal, hook.id);
});

test('during a rotation deliveries carry a signature of the old and of the new secret', async () => {
  const target = await receiver();
  const hook = await register(target.url);
  const rotated = await rotate(hook.id, {});
  await expect(rotate(hook.id, {})).rejects.toMatchObject({ code: 'conflict' });
  await emit();
  const [request] = await eventually(() => target.requests.length > 0 && target.requests);
  const timestamp = request!.headers['x-service-timestamp'];
  expect(request!.headers['x-service-signature']).toBe(signatureOf(hook.secret!, timestamp, request!.body));
  expect(request!.headers['x-service-signature-next']).toBe(
    signatureOf(rotated.secret!, timestamp, request!.body),
  );
  await service.delete(principal, hook.id);
});

test('a rotation without overlap switches at once', async () => {
  const target = await receiver();
  const hook = await register(target.url);
  const rotated = await rotate(hook.id, { overlap_seconds: 0 });
  await emit();
  const [request] = await eventually(() => target.requests.length > 0 && target.requests);
  expect(request!.headers['x-service-signature']).toBe(
    signatureOf(rotated.secret!, request!.headers['x-service-timestamp'], request!.body),
  );
  expect(request!.headers['x-service-signature-next']).toBeUndefined();
  await service.delete(principal, hook.id);
});

test('a test delivery is signed, answered with its attempt, and never counts as a failure', async () => {
  const target = await receiver((_, response) =>
    response.writeHead(302, { location: 'https://127.0.0.1/' }).end(),
  );
  const hook = await register(target.url);
  const delivery = await service.test(principal, hook.id);
  expect(delivery).toMatchObject({ eventType: 'webhook.test', status: 'failed', nextAttemptAt: null });
  expect(delivery.attempts).toMatchObject([{ statusCode: 302 }]);
  expect(target.requests).toHaveLength(1);
  expect((await service.get(principal, hook.id)).consecutiveFailures).toBe(0);
  await service.delete(principal, hook.id);
});

test('a retry by hand delivers a failed event at once', async () => {
  let status = 500;
  const target = await receiver((_, response) => response.writeHead(status).end());
  const hook = await register(target.url);
  await emit();
  const failed = await eventually(async () => {
    const { nodes } = await service.deliveries(principal, hook.id, { first: 1, status: 'failed' });
    return nodes[0];
  });
  status = 200;
  const delivery = await service.retry(principal, hook.id, failed.id);
  expect(delivery.status).toBe('succeeded');
  expect(delivery.attempts).toHaveLength(6);
  expect((await service.get(principal, hook.id)).consecutiveFailures).toBe(0);
  await service.delete(principal, hook.id);
});

test.each([
  'http://example.com/hook',
  'https://user:pass@example.com/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://10.0.0.1/',
  'https://[::ffff:10.0.0.1]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://localhost./',
  'ftp://example.com/',
  'not a url',
])('the URL %s is refused at creation', async (url) => {
  await expect(register(url)).rejects.toMatchObject({ message: 'Invalid URL', details: { param: 'url' } });
});

test.each([
  [{ 'x-service-signature': 'x' }],
  [{ 'X-Service-Anything': 'x' }],
  [{ 'X-Ok': 'a\r\nb: c' }],
  [{ 'X-Ok': 'a\0' }],
  [Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`x-${index}`, 'v']))],
  [{ 'x-twice': '1', 'X-Twice': '2' }],
  [{ 'bad name': 'x' }],
  [{ host: 'evil' }],
  [{ a: 1 }],
])('custom headers %j are refused', async (customHeaders) => {
  await expect(register('https://example.com/', { custom_headers: customHeaders })).rejects.toMatchObject({
    code: 'invalid_request',
    details: { param: 'custom_headers' },
  });
});

test('the plan bounds the number of webhooks, also for creations at the same time', async () => {
  const webhooks = { max: 2, customHeaders: true };
  const limited = { ...principal, plan: { ...principal.plan, webhooks } } as Principal;
  const body = { name: 'n', url: 'https://example.com/', events: [...WEBHOOK_EVENT_TYPES] };
  const create = () => service.create(unkeyed(limited), body);
  const results = await Promise.allSettled(Array.from({ length: 8 }, create));
  const made = results.filter((result) => result.status === 'fulfilled');
  const refused = results.filter((result) => result.status === 'rejected');
  expect(made).toHaveLength(2);
  expect(refused[0]!.reason).toMatchObject({ status: 402, message: 'Webhook limit reached' });
  for (const { value } of made) await service.delete(principal, value.id);
});

test('a plan without webhooks is refused before anything else is looked at', async () => {
  const free = { ...principal, plan: plans.free } as Principal;
  await expect(service.create(unkeyed(free), { bad: true })).rejects.toMatchObject({
    status: 403,
    message: 'Webhooks are not available',
  });
});

test('after a change of the signing secret stored secrets are sealed anew, so that the previous one can be given up', async () => {
  const target = await receiver();
  const hook = await register(target.url, { enabled: false });
  const both = createSecretBox({ current: 'new secret', previous: 'test secret' });
  const onlyNew = createSecretBox({ current: 'new secret', previous: null });
  const sealed = async () => {
    const [row] = await db.database.system.query<{ secret: Buffer }>(
      'SELECT secret FROM webhooks WHERE id = $1',
      [hook.id],
    );
    return row!.secret;
  };
  const before = await sealed();
  expect(() => onlyNew.open(before)).toThrow();
  expect(await resealSecrets(db.database.system, both)).toBe(1);
  expect(onlyNew.open(await sealed())).toBe(hook.secret);
  expect(await resealSecrets(db.database.system, both)).toBe(0);
  await service.delete(principal, hook.id);
});

test('a retry of a test delivery by hand counts as little as the test did', async () => {
  const target = await receiver((_, response) => response.writeHead(500).end());
  const hook = await register(target.url);
  const { id } = await service.test(principal, hook.id);
  const again = await service.retry(principal, hook.id, id);
  expect(again).toMatchObject({ status: 'failed', eventType: 'webhook.test' });
  expect((await service.get(principal, hook.id)).consecutiveFailures).toBe(0);
  await service.delete(principal, hook.id);
});
