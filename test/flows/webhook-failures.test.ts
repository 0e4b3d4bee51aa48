import type { ServerResponse } from 'node:http';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Principal } from '../../src/access/access.types.js';
import { loadPlans } from '../../src/access/index.js';
import type { Database, Sql } from '../../src/database/database.types.js';
import { createEgress } from '../../src/egress/index.js';
import {
  createDeliveryWorker,
  createSecretBox,
  createWebhookService,
  storeWebhookPlans,
} from '../../src/webhooks/index.js';
import type { Delivery, DeliveryWorker, Webhook, WebhookService } from '../../src/webhooks/index.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { startReceiver, trustReceivers } from '../support/receiver.js';
import type { Receiver } from '../support/receiver.js';
import { eventually } from '../support/wait.js';

trustReceivers();
const ORG = 'org_00000000000000000000000001';
let db: TestDatabase;
let service: WebhookService;
let egress: ReturnType<typeof createEgress>;
let receiver: Receiver;
let hook: Webhook;
const workers: DeliveryWorker[] = [];
const gates: (() => void)[] = [];
const catalogue = await loadPlans(null);
const { plans } = catalogue;
const principal = { orgId: ORG, plan: plans.business_monthly } as Principal;

function options<Seen extends Pick<Database, 'hints' | 'system'>>(database: Seen) {
  return {
    database,
    egress,
    files: { sign: <T>(_: string, value: T) => value },
    secrets: createSecretBox({ current: 'test secret', previous: null }),
    isUnderstood: () => Promise.resolve(true),
    config: { webhooks: { retryDelaysMs: [0, 10, 10, 10, 10] }, jobs: { retentionDays: 30 } },
    logger: pino({ level: 'silent' }),
  };
}

beforeAll(async () => {
  db = await createTestDatabase();
  await db.database.system.query(
    `INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ($1, 'Acme', 'business_monthly', 'usr_1')`,
    [ORG],
  );
  egress = createEgress({ config: { egress: { allow: ['127.0.0.0/8'] } } });
  service = createWebhookService(options(db.database));
});
afterEach(async () => {
  await receiver.close();
  letGo();
  for (const worker of workers.splice(0)) await worker.close();
  await service.delete(principal, hook.id);
});
afterAll(async () => {
  await egress.close();
  await db.close();
});

/** Requests wait for their answer, in the order in which they came. */
async function holdingReceiver(): Promise<ServerResponse[]> {
  const held: ServerResponse[] = [];
  await open((response) => held.push(response));
  return held;
}

async function open(answer: (response: ServerResponse) => void): Promise<void> {
  receiver = await startReceiver((_, response) => answer(response));
  const body = { name: 'hook', url: receiver.url, events: ['generation.completed'] };
  hook = await service.create({ principal, idempotencyKey: null }, body);
}

const emit = (count = 1, type = 'generation.completed') =>
  db.database.system.query(
    `SELECT penstock_emit('events', $1, penstock_event($3, $1, '{}')) FROM generate_series(1, $2::int)`,
    [ORG, count, type],
  );

type WorkerDatabase = Pick<Database, 'hints' | 'system'>;

function startWorker(database: WorkerDatabase = db.database, more: { maxInFlight?: number } = {}): void {
  const worker = createDeliveryWorker({ ...options(database), ...more });
  workers.push(worker);
  worker.start();
}

/** A process that stands still at its nth statement of these names, until it is let go. */
function slowed(at: { [name: string]: number }): { database: WorkerDatabase; waitsAt: Set<string> } {
  const seen = new Map<string, number>();
  const waitsAt = new Set<string>();
  const gate = new Promise<void>((resolve) => gates.push(resolve));
  const system: Sql = {
    async query(statement, values) {
      const name = typeof statement === 'string' ? '' : statement.name;
      seen.set(name, (seen.get(name) ?? 0) + 1);
      if ((seen.get(name) ?? 0) >= (at[name] ?? Infinity)) {
        waitsAt.add(name);
        await gate;
      }
      return await db.database.system.query(statement, values);
    },
  };
  return { database: { hints: db.database.hints, system }, waitsAt };
}

function letGo(): void {
  for (const open of gates.splice(0)) open();
}

const shown = (): Promise<Webhook> => service.get(principal, hook.id);
const deliveries = async (status?: Delivery['status']): Promise<Delivery[]> =>
  (await service.deliveries(principal, hook.id, { first: 100, ...(status && { status }) })).nodes;

test('a dead receiver gets ten attempts and no eleventh, however many processes and events there are', async () => {
  const held = await holdingReceiver();
  await emit(40);
  for (let started = 0; started < 3; started++) startWorker();
  const answered = new Set<ServerResponse>();
  await eventually(async () => {
    if (held.length < 10) return false;
    for (const response of held) if (!answered.has(response)) response.writeHead(500).end();
    for (const response of held) answered.add(response);
    return !(await shown()).enabled;
  });
  expect(await shown()).toMatchObject({
    consecutiveFailures: 10,
    disabledReason: '10 consecutive failed attempts',
  });
  expect(receiver.requests).toHaveLength(10);
  expect((await deliveries()).flatMap(({ attempts }) => attempts)).toHaveLength(10);
});

test('a success that one process writes late stands before the failures that came after it', async () => {
  const held = await holdingReceiver();
  await emit();
  // Takes this delivery, and nothing more; its outcome is written late.
  const slow = slowed({ webhook_record: 1, webhook_claim: 2 });
  startWorker(slow.database);
  await eventually(() => held.length === 1);
  const [succeeding] = held.splice(0);
  let failures = 0;
  const failAll = async (until: number): Promise<void> => {
    await eventually(() => {
      for (const response of held.splice(0)) response.writeHead(500).end(() => (failures += 1));
      return failures === until;
    });
  };
  await emit();
  startWorker();
  await failAll(5);
  succeeding?.writeHead(200).end();
  await eventually(() => slow.waitsAt.has('webhook_record'));
  await emit();
  // The tenth would be one too many: a process has not said yet how its attempt ended.
  await failAll(9);
  await eventually(async () => (await shown()).consecutiveFailures === 9);
  letGo();
  await failAll(10);
  await eventually(async () => (await shown()).consecutiveFailures === 5);
  expect(await shown()).toMatchObject({ enabled: true, disabledReason: null });
  expect(await deliveries('succeeded')).toHaveLength(1);
  expect(await deliveries('failed')).toHaveLength(2);
});

test('a failure that ended before the webhook was enabled again does not count, whenever it is written', async () => {
  await open((response) => response.writeHead(500).end());
  await emit();
  const slow = slowed({ webhook_record: 1 });
  startWorker(slow.database);
  await eventually(() => slow.waitsAt.has('webhook_record'));
  await service.update(principal, hook.id, { enabled: true });
  letGo();
  // The other four of its five attempts.
  await eventually(async () => (await deliveries('failed')).length === 1);
  expect((await shown()).consecutiveFailures).toBe(4);
});

test('recover leaves an attempt by hand that is under way to its end, and does not send beside it', async () => {
  let hold = false;
  const held: ServerResponse[] = [];
  await open((response) => (hold ? held.push(response) : response.writeHead(500).end()));
  await emit();
  startWorker();
  const [failed] = await eventually(async () => {
    const nodes = await deliveries('failed');
    return nodes.length === 1 && nodes;
  });
  hold = true;
  const byHand = service.retry(principal, hook.id, failed!.id);
  await eventually(() => held.length === 1);
  expect(await service.recover(principal, hook.id, { since: '2020-01-01T00:00:00Z' })).toBe(1);
  // Another event goes its way meanwhile: the worker has looked.
  await emit();
  await eventually(() => held.length === 2);
  for (const response of held) response.writeHead(200).end();
  expect(await byHand).toMatchObject({ id: failed!.id, status: 'succeeded' });
  await eventually(async () => (await deliveries('succeeded')).length === 2);
  expect(receiver.requests).toHaveLength(5 + 2);
});

test('recover sends what a disabled webhook listed and missed, and nothing whose type it began to list later', async () => {
  await open((response) => response.writeHead(204).end());
  startWorker();
  await emit(1, 'generation.started');
  await service.update(principal, hook.id, { enabled: false });
  await emit(1, 'generation.completed');
  await emit(1, 'generation.started');
  const events = ['generation.completed', 'generation.started'];
  await service.update(principal, hook.id, { events, enabled: true });
  expect(await service.recover(principal, hook.id, { since: '2020-01-01T00:00:00Z' })).toBe(1);
  await eventually(() => receiver.requests.length === 1);
  expect(receiver.requests[0]?.headers['x-service-event-type']).toBe('generation.completed');
  expect(await service.recover(principal, hook.id, { since: '2020-01-01T00:00:00Z' })).toBe(0);
});

test('when a cancelled subscription is over, what happens is kept for recover and not delivered', async () => {
  await open((response) => response.writeHead(204).end());
  startWorker();
  const { system } = db.database;
  await storeWebhookPlans(system, catalogue);
  const subscription = (status: 'active' | 'cancelled', ends: string | null) =>
    system.query(
      `UPDATE organizations SET subscription_status = $2, subscription_ends_at = clock_timestamp() + $3::interval WHERE id = $1`,
      [ORG, status, ends],
    );
  await subscription('cancelled', '1 hour');
  await emit();
  await subscription('cancelled', '-1 second');
  await emit();
  expect(await deliveries()).toHaveLength(1);
  await subscription('active', null);
  await eventually(() => receiver.requests.length === 1);
  expect(await service.recover(principal, hook.id, { since: '2020-01-01T00:00:00Z' })).toBe(1);
  await eventually(() => receiver.requests.length === 2);
});

test('receivers that are slow to answer leave room for others, at their own host too', async () => {
  let slow = 0;
  await open((response) => {
    if (response.req.url === '/slow') slow += 1;
    else response.writeHead(204).end();
  });
  const at = (path: string, events: string[]) =>
    service.create(
      { principal, idempotencyKey: null },
      { name: 'hook', url: `${receiver.url}${path}`, events },
    );
  // What waits for them would fill every place.
  const hooks = await Promise.all(Array.from({ length: 18 }, () => at('/slow', ['credits.low'])));
  hooks.push(await at('/quick', ['generation.completed']));
  await emit(8, 'credits.low');
  startWorker(db.database, { maxInFlight: 96 });
  await eventually(() => slow > 40, { what: 'slow receivers with many requests' });
  await emit();
  await eventually(() => receiver.requests.some(({ path }) => path === '/quick'));
  const answered = await db.database.system.query(
    `SELECT 1 FROM webhook_deliveries WHERE event_type = 'credits.low' AND attempts <> '[]'`,
  );
  expect(answered).toEqual([]);
  for (const { id } of hooks) await service.delete(principal, id);
});
