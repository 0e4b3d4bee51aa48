import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import type { IHeaders } from 'kafkajs';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createKafkaBus, createRelay, createTopics } from '../../src/events/index.js';
import type { Bus, BusMessage, EventEnvelope, Relay } from '../../src/events/index.js';
import { newId } from '../../src/contract/ids.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { startKafka } from '../support/kafka.js';
import type { TestKafka } from '../support/kafka.js';
import { eventually } from '../support/wait.js';

const kafka = await startKafka();
// A broker is killed and started again.
vi.setConfig({ testTimeout: 90_000 });
const logger = pino({ level: process.env['TEST_LOG'] ?? 'silent' });

let prefixes = 0;
/** Topics and groups of one test's own. */
const settings = (broker: TestKafka) => ({
  brokers: broker.brokers,
  prefix: `penstock${++prefixes}`,
  ssl: false,
  sasl: null,
});

function event(sequence: number, data: Record<string, unknown> = {}): EventEnvelope {
  const timestamp = new Date().toISOString();
  return { id: newId('evt'), type: 'job.progress', sequence, orgId: 'org_a', timestamp, data };
}

describe.skipIf(kafka === null)('events through Kafka', () => {
  const broker = kafka as TestKafka;
  let test: TestDatabase;
  const open: (Bus | Relay)[] = [];

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterEach(async () => {
    for (const it of open.splice(0).reverse()) await it.close();
  });
  afterAll(async () => {
    await test.close();
    await broker.stop();
  });

  /** Makes the topics and waits until every partition answers: a new one refuses what comes before it has its leader. */
  async function topicsOf(config: ReturnType<typeof settings>): Promise<void> {
    const names = await createTopics(config, logger);
    const admin = new Kafka({ brokers: config.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    try {
      for (const name of names) await eventually(() => admin.fetchTopicOffsets(name));
    } finally {
      await admin.disconnect();
    }
  }

  function openBus(config: ReturnType<typeof settings>): Bus {
    const bus = createKafkaBus({ config, logger });
    open.push(bus);
    return bus;
  }

  function openRelay(bus: Bus): void {
    const relay = createRelay({ database: test.database, bus, logger });
    open.push(relay);
    relay.start();
  }

  const emit = (key: string, envelope: EventEnvelope) =>
    test.database.system.query('SELECT penstock_emit($1, $2, $3)', ['jobs', key, JSON.stringify(envelope)]);

  /** The sequences of each key, in order of first arrival. */
  function sequencesOf(messages: BusMessage[]): Map<string, number[]> {
    const seen = new Set<string>();
    const sequences = new Map<string, number[]>();
    for (const { key, event } of messages) {
      if (seen.has(event.id)) continue;
      seen.add(event.id);
      sequences.set(key, [...(sequences.get(key) ?? []), event.sequence ?? 0]);
    }
    return sequences;
  }

  /** What stands on a topic, as any consumer of Kafka sees it. */
  async function readTopic(topic: string, count: number) {
    const client = new Kafka({ brokers: broker.brokers, logLevel: logLevel.NOTHING });
    const consumer = client.consumer({ groupId: newId('grp') });
    const found: { key: string; value: string; headers: Record<string, string> }[] = [];
    const text = (headers: IHeaders = {}) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ message }) => {
        found.push({
          key: String(message.key),
          value: String(message.value),
          headers: text(message.headers),
        });
      },
    });
    await eventually(() => found.length >= count, { what: `${count} messages on ${topic}` });
    await consumer.disconnect();
    return found;
  }

  it('carries every row of the outbox once, with key, value and headers, in order within a key', async () => {
    const config = settings(broker);
    const bus = openBus(config);
    const received: BusMessage[] = [];
    await bus.subscribe({ topics: ['jobs'], group: 'fan-out' }, (message) => void received.push(message));
    openRelay(bus);
    const keys = Array.from({ length: 20 }, () => newId('job'));
    for (let sequence = 1; sequence <= 20; sequence++) {
      await Promise.all(keys.map((key) => emit(key, event(sequence, { id: key, note: 'mühle' }))));
    }
    await eventually(() => new Set(received.map(({ event }) => event.id)).size === 400);
    const expected = Array.from({ length: 20 }, (_, index) => index + 1);
    for (const key of keys) expect(sequencesOf(received).get(key)).toEqual(expected);

    const [first] = await readTopic(`${config.prefix}.jobs`, 400);
    const value = JSON.parse(first?.value ?? '') as EventEnvelope;
    expect(value).toMatchObject({
      type: 'job.progress',
      sequence: 1,
      orgId: 'org_a',
      data: { id: first?.key, note: 'mühle' },
    });
    expect(first?.headers).toEqual({ 'event-id': value.id, 'event-type': 'job.progress' });
    await eventually(async () => (await test.database.system.query('SELECT 1 FROM outbox')).length === 0);
  });

  it('shares a group’s messages among its members, and gives a broadcast to every process', async () => {
    const config = settings(broker);
    await topicsOf(config);
    const [a, b] = [openBus(config), openBus(config)];
    const grouped: BusMessage[] = [];
    const broadcast: [BusMessage[], BusMessage[]] = [[], []];
    for (const [index, bus] of [a, b].entries()) {
      await bus.subscribe({ topics: ['jobs'], group: 'hooks' }, (message) => void grouped.push(message));
      await bus.subscribe(
        { topics: ['jobs'], group: null },
        (message) => void broadcast[index]?.push(message),
      );
    }
    // A broadcast hears what comes after it has joined: send until both do.
    await eventually(
      async () => {
        await a.publish([{ topic: 'jobs', key: 'probe', event: event(0) }]);
        return broadcast.every((messages) => messages.length > 0);
      },
      { everyMs: 200 },
    );
    const messages = Array.from({ length: 100 }, (_, index) => ({
      topic: 'jobs' as const,
      key: `k${index % 10}`,
      event: event(index),
    }));
    await a.publish(messages);
    const ids = new Set(messages.map(({ event }) => event.id));
    const arrived = (list: BusMessage[]) =>
      list.filter(({ event }) => ids.has(event.id)).map(({ event }) => event.id);
    await eventually(() => [grouped, ...broadcast].every((list) => new Set(arrived(list)).size === 100));
    for (const list of [grouped, ...broadcast]) expect(arrived(list)).toHaveLength(100);
  });

  it('loses nothing and keeps the order through a SIGKILL of the broker and its return', async () => {
    const bus = openBus(settings(broker));
    const received: BusMessage[] = [];
    await bus.subscribe({ topics: ['jobs'], group: 'fan-out' }, (message) => void received.push(message));
    openRelay(bus);
    const keys = Array.from({ length: 8 }, () => newId('job'));
    let last = 0;
    const send = async (rounds: number) => {
      for (let round = 0; round < rounds; round++) {
        last++;
        await Promise.all(keys.map((key) => emit(key, event(last, { filler: 'x'.repeat(500) }))));
      }
    };
    await send(20);
    await eventually(() => received.length >= 80);
    const sending = send(60);
    await broker.kill();
    await sending;
    await send(60);
    const waiting = await test.database.system.query('SELECT 1 FROM outbox');
    expect(waiting.length).toBeGreaterThan(0);
    await broker.restart();
    await send(20);
    const expected = Array.from({ length: last }, (_, index) => index + 1);
    const complete = () =>
      [...sequencesOf(received).values()].filter((list) => list.length === last).length === 8;
    await eventually(complete, { timeoutMs: 30_000, what: 'the arrival of every event' });
    for (const key of keys) expect(sequencesOf(received).get(key)).toEqual(expected);
    await eventually(async () => (await test.database.system.query('SELECT 1 FROM outbox')).length === 0);
  });

  it('puts what a handler cannot take, and what is no event, on the dead-letter topic, and goes on', async () => {
    const config = settings(broker);
    await topicsOf(config);
    const bus = openBus(config);
    const received: number[] = [];
    await bus.subscribe({ topics: ['events'], group: 'hooks' }, ({ event }) => {
      if (event.sequence === 2) throw new Error('indigestible');
      received.push(event.sequence ?? 0);
    });
    const producer = new Kafka({ brokers: broker.brokers, logLevel: logLevel.NOTHING }).producer();
    await producer.connect();
    await producer.send({
      topic: `${config.prefix}.events`,
      messages: [{ key: 'k', value: '{"no": "event"' }],
    });
    await producer.disconnect();
    const events = [1, 2, 3].map((sequence) => event(sequence));
    await bus.publish(events.map((envelope) => ({ topic: 'events', key: 'k', event: envelope })));
    await eventually(() => received.length === 2, { timeoutMs: 20_000 });
    expect(received).toEqual([1, 3]);
    const letters = await readTopic(`${config.prefix}.dead-letter`, 2);
    expect(letters[0]).toMatchObject({
      key: 'k',
      value: '{"no": "event"',
      headers: { topic: `${config.prefix}.events`, group: 'hooks' },
    });
    expect(letters[1]?.headers).toMatchObject({ 'event-id': events[1]?.id, error: 'Error: indigestible' });
  });

  it('makes the topics again where a broker has lost them, and every consumer hears what waited', async () => {
    const config = settings(broker);
    const names = await createTopics(config, logger);
    const bus = openBus(config);
    const taken: BusMessage[] = [];
    const heard: BusMessage[] = [];
    await bus.subscribe({ topics: ['jobs'], group: 'fan-out' }, (message) => void taken.push(message));
    await bus.subscribe({ topics: ['jobs'], group: null }, (message) => void heard.push(message));
    openRelay(bus);
    let sequence = 0;
    // A broadcast hears what comes after it began.
    await eventually(
      async () => {
        await emit('k', event(++sequence));
        return heard.length > 0 && taken.length > 0;
      },
      { everyMs: 100 },
    );
    const waiting = sequence + 1;
    await eventually(() => sequencesOf(taken).get('k')?.length === sequence);
    const admin = new Kafka({ brokers: broker.brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: names });
    await eventually(async () => !(await admin.listTopics()).some((name) => names.includes(name)));
    await admin.disconnect();
    while (sequence < waiting + 7) await emit('k', event(++sequence));
    const expected = Array.from({ length: sequence }, (_, index) => index + 1);
    await eventually(() => sequencesOf(taken).get('k')?.length === sequence, { timeoutMs: 30_000 });
    expect(sequencesOf(taken).get('k')).toEqual(expected);
    await eventually(() => sequencesOf(heard).get('k')?.at(-1) === sequence, { timeoutMs: 30_000 });
    expect(sequencesOf(heard).get('k')?.slice(-8)).toEqual(expected.slice(-8));
  });

  it('cuts a message over 900 kB down to one that fits', async () => {
    const config = settings(broker);
    await topicsOf(config);
    const bus = openBus(config);
    const big = event(1, {
      id: 'job_big',
      inputParams: { prompt: 'p' },
      outputData: { text: 'x'.repeat(1_200_000) },
    });
    const huge = event(2, {
      id: 'job_big',
      inputParams: { prompt: 'p'.repeat(2_000_000) },
      outputData: null,
    });
    const many = Array.from({ length: 40 }, (_, index) => event(3 + index, { text: 'y'.repeat(100_000) }));
    await bus.publish(
      [big, huge, ...many].map((envelope) => ({ topic: 'jobs', key: 'job_big', event: envelope })),
    );
    const found = (await readTopic(`${config.prefix}.jobs`, 42)).map(
      ({ value }) => JSON.parse(value) as EventEnvelope,
    );
    expect(found.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 42 }, (_, index) => index + 1),
    );
    expect(found[0]?.data).toEqual({
      id: 'job_big',
      inputParams: { prompt: 'p' },
      outputData: null,
      truncated: true,
    });
    expect(found[1]?.data).toMatchObject({ id: 'job_big', outputData: null, truncated: true });
  });

  it('arms no timer on an idle connection', async () => {
    const bus = openBus(settings(broker));
    await bus.subscribe({ topics: ['jobs', 'events'], group: 'idle' }, () => undefined);
    await eventually(async () => {
      await bus.publish([{ topic: 'jobs', key: 'k', event: event(1) }]);
      return true;
    });
    const { prototype } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as {
      prototype: Record<'checkPendingRequests' | 'fulfillRequest', (...values: unknown[]) => void>;
    };
    const { checkPendingRequests, fulfillRequest } = prototype;
    let checks = 0;
    let answers = 0;
    prototype.checkPendingRequests = function counted(...values) {
      checks++;
      checkPendingRequests.apply(this, values);
    };
    prototype.fulfillRequest = function counted(...values) {
      answers++;
      fulfillRequest.apply(this, values);
    };
    await sleep(1_500);
    Object.assign(prototype, { checkPendingRequests, fulfillRequest });
    // Each answer looks at the queue once. Unpatched, timers do so hundreds of times a second on each connection.
    expect(checks - answers).toBeLessThan(10);
  });
});

describe('a cluster that is not there', () => {
  it('delays neither start nor stop; events wait in the outbox', async () => {
    const test = await createTestDatabase();
    const bus = createKafkaBus({
      config: { brokers: ['127.0.0.1:9'], prefix: 'absent', ssl: false, sasl: null },
      logger,
    });
    const subscription = await bus.subscribe({ topics: ['jobs'], group: 'x' }, () => undefined);
    const relay = createRelay({ database: test.database, bus, logger });
    relay.start();
    await test.database.system.query('SELECT penstock_emit($1, $2, $3)', [
      'jobs',
      'k',
      JSON.stringify(event(1)),
    ]);
    await expect(bus.publish([{ topic: 'jobs', key: 'k', event: event(1) }])).rejects.toThrow();
    await relay.close();
    expect(await test.database.system.query('SELECT 1 FROM outbox')).toHaveLength(1);
    await subscription.close();
    await bus.close();
    await test.close();
  });
});
