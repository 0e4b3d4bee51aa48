import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createInProcessBus, createRelay } from '../../src/events/index.js';
import type { Bus, BusMessage, EventEnvelope, Relay } from '../../src/events/index.js';
import { createOutbox } from '../../src/events/outbox.js';
import { newId } from '../../src/contract/ids.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { eventually, inParallel } from '../support/wait.js';

const logger = pino({ level: 'silent' });
let test: TestDatabase;
const relays: Relay[] = [];

beforeAll(async () => {
  test = await createTestDatabase();
});
beforeEach(() => test.database.system.query('DELETE FROM outbox'));
afterEach(async () => {
  await Promise.all(relays.splice(0).map((relay) => relay.close()));
});
afterAll(() => test.close());

function openRelay(bus: Pick<Bus, 'publish'>, options: { leaseMs?: number; batchSize?: number } = {}): Relay {
  const relay = createRelay({
    database: test.database,
    bus,
    logger,
    pollMs: 50,
    maxBackoffMs: 50,
    ...options,
  });
  relays.push(relay);
  relay.start();
  return relay;
}

function envelope(sequence: number, data: EventEnvelope['data'] = {}): EventEnvelope {
  return {
    id: newId('evt'),
    type: 'job.progress',
    sequence,
    orgId: 'org_a',
    timestamp: new Date().toISOString(),
    data,
  };
}

const emit = (key: string, event: EventEnvelope) =>
  test.database.system.query('SELECT penstock_emit($1, $2, $3)', ['jobs', key, JSON.stringify(event)]);

const outboxSize = async (): Promise<number> =>
  (await test.database.system.query('SELECT 1 FROM outbox')).length;

describe('the relay', () => {
  it('publishes rows that commit late, which a reader of `id > last` would lose', async () => {
    const published: number[] = [];
    openRelay({
      publish: async (messages) => void published.push(...messages.map(({ event }) => event.sequence ?? 0)),
    });
    const late = Promise.withResolvers<void>();
    const slow = test.database.transaction(async (sql) => {
      await sql.query('SELECT penstock_emit($1, $2, $3)', ['jobs', 'slow', JSON.stringify(envelope(1))]);
      await late.promise;
    });
    await sleep(20);
    for (let sequence = 2; sequence <= 20; sequence++) await emit('quick', envelope(sequence));
    await eventually(() => published.length === 19);
    late.resolve();
    await slow;
    await eventually(() => published.length === 20);
    expect(published.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    await eventually(async () => (await outboxSize()) === 0);
  });

  it('keeps the order within a key, and publishes each row once, however many relays there are', async () => {
    const order = new Map<string, number[]>();
    let parallel = 0;
    const bus = {
      async publish(messages: BusMessage[]) {
        parallel++;
        await sleep(Math.random() * 10);
        for (const { key, event } of messages)
          order.set(key, [...(order.get(key) ?? []), event.sequence ?? 0]);
        parallel--;
      },
    };
    for (let index = 0; index < 4; index++) openRelay(bus, { batchSize: 7 });
    const keys = Array.from({ length: 25 }, () => newId('job'));
    await inParallel(keys, 8, async (key) => {
      for (let sequence = 1; sequence <= 20; sequence++) await emit(key, envelope(sequence));
    });
    await eventually(async () => (await outboxSize()) === 0 && parallel === 0);
    for (const key of keys)
      expect(order.get(key)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  it('loses nothing while the bus refuses, and goes on when it takes again', async () => {
    let away = true;
    const published: number[] = [];
    openRelay({
      async publish(messages) {
        if (away) throw new Error('no broker');
        published.push(...messages.map(({ event }) => event.sequence ?? 0));
      },
    });
    for (let sequence = 1; sequence <= 30; sequence++) await emit('k', envelope(sequence));
    expect(await outboxSize()).toBe(30);
    away = false;
    await eventually(() => published.length === 30);
    expect(published).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
  });

  it('takes over the rows of a relay that died, once its lease is over, and none before', async () => {
    const dead = createOutbox(test.database, 'rly_dead');
    for (let sequence = 1; sequence <= 3; sequence++) await emit('k', envelope(sequence));
    const claimed = await dead.take({ limit: 2, leaseMs: 400, published: [], held: [] });
    expect(claimed.map(({ event }) => event.sequence)).toEqual([1, 2]);
    const alive = createOutbox(test.database, 'rly_alive');
    // Not even the third: while somebody publishes, nobody else does.
    expect(await alive.take({ limit: 10, leaseMs: 400, published: [], held: [] })).toEqual([]);
    const rest = await eventually(async () => {
      const rows = await alive.take({ limit: 10, leaseMs: 400, published: [], held: [] });
      return rows.length > 0 && rows;
    });
    expect(rest.map(({ event }) => event.sequence)).toEqual([1, 2, 3]);
  });

  it('signs file references when it publishes, not when they are written', async () => {
    const published: BusMessage[] = [];
    const bus = { publish: async (messages: BusMessage[]) => void published.push(...messages) };
    const render = ({ orgId, data }: EventEnvelope) => ({ ...data, url: `signed for ${orgId}` });
    const relay = createRelay({ database: test.database, bus, logger, render, pollMs: 50 });
    relays.push(relay);
    relay.start();
    await emit('k', envelope(1, { url: { $file: 'file_x.png' } }));
    await eventually(() => published.length === 1);
    expect(published[0]?.event.data).toEqual({ url: 'signed for org_a' });
  });
});

describe('the bus without Kafka', () => {
  it('keeps what a group’s handler cannot take among the dead letters, and goes on', async () => {
    const bus = createInProcessBus({ database: test.database, logger });
    const taken: number[] = [];
    await bus.subscribe({ topics: ['jobs'], group: 'hooks' }, ({ event }) => {
      if (event.sequence === 1) throw new Error('indigestible');
      taken.push(event.sequence ?? 0);
    });
    openRelay(bus);
    const bad = envelope(1);
    await emit('k', bad);
    await emit('k', envelope(2));
    await eventually(() => taken.length === 1);
    const letters = await test.database.system.query(
      'SELECT topic, consumer_group, event, error FROM dead_letters',
    );
    expect(letters).toEqual([
      { topic: 'jobs', consumer_group: 'hooks', event: bad, error: 'Error: indigestible' },
    ]);
    await bus.close();
  });

  it('calls a handler again after a passing fault', async () => {
    const bus = createInProcessBus({ database: test.database, logger });
    let calls = 0;
    await bus.subscribe({ topics: ['jobs'], group: 'hooks' }, () => {
      if (++calls < 3) throw new Error('the database is away');
    });
    await bus.publish([{ topic: 'jobs', key: 'k', event: envelope(1) }]);
    expect(calls).toBe(3);
  });

  it('does not let a broadcast handler’s fault reach anyone', async () => {
    const bus = createInProcessBus({ database: test.database, logger });
    const heard: number[] = [];
    await bus.subscribe({ topics: ['jobs'], group: null }, () => {
      throw new Error('broken subscriber');
    });
    const subscription = await bus.subscribe({ topics: ['jobs', 'events'], group: null }, ({ event }) => {
      heard.push(event.sequence ?? 0);
    });
    await bus.publish([{ topic: 'jobs', key: 'k', event: envelope(1) }]);
    await bus.publish([{ topic: 'agents', key: 'k', event: envelope(2) }]);
    await subscription.close();
    await bus.publish([{ topic: 'jobs', key: 'k', event: envelope(3) }]);
    expect(heard).toEqual([1]);
  });
});

describe('event ids made in SQL', () => {
  it('are ULIDs of now: unique, of the form that the product makes itself', async () => {
    const rows = await test.database.system.query<{ id: string }>(
      'SELECT penstock_event_id() AS id FROM generate_series(1, 2000)',
    );
    const ids = rows.map(({ id }) => id);
    expect(new Set(ids).size).toBe(2_000);
    for (const id of ids) expect(id).toMatch(/^evt_[0-9a-hjkmnp-tv-z]{26}$/);
    // The first seven characters of the time change every half minute.
    expect(newId('evt', Date.now() - 40_000) < (ids[0] ?? '')).toBe(true);
    expect(newId('evt', Date.now() + 40_000) > (ids.at(-1) ?? '')).toBe(true);
  });
});
