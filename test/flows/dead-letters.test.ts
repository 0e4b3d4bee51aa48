import { Kafka, logLevel } from 'kafkajs';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKafkaBus } from '../../src/events/index.js';
import type { KafkaSettings } from '../../src/events/index.js';
import { newId } from '../../src/contract/ids.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { startKafka } from '../support/kafka.js';
import { eventually } from '../support/wait.js';

interface Listing {
  deadLetters: { id: string; topic: string; group: string; error: string; event: { id: string } }[];
}

const kafka = await startKafka();
const logger = pino({ level: 'silent' });
let plain: Installation;
beforeAll(async () => {
  plain = await createInstallation();
});
afterAll(async () => {
  await plain.close();
  await kafka?.stop();
});

test('dead letters of an installation without Kafka are listed, and a replay puts them back into the outbox', async () => {
  const event = {
    id: newId('evt'),
    type: 'generation.failed',
    orgId: 'org_x',
    timestamp: '2026-01-01T00:00:00.000Z',
    data: {},
  };
  await plain.sql(
    `INSERT INTO dead_letters (topic, key, consumer_group, event, error) VALUES ('events', 'org_x', 'fan-out', $1::jsonb, 'Error: no')`,
    [JSON.stringify(event)],
  );
  const { deadLetters } = await plain.cli<Listing & Record<string, unknown>>('dead-letters', 'list');
  expect(deadLetters).toMatchObject([
    { topic: 'events', group: 'fan-out', error: 'Error: no', event: { id: event.id } },
  ]);
  expect(await plain.cli('dead-letters', 'replay', '--id', deadLetters[0]!.id)).toEqual({ replayed: 1 });
  expect(await plain.cli('dead-letters', 'list')).toEqual({ deadLetters: [] });
  const rows = await plain.sql<{ key: string; event: object }>('SELECT key, event FROM outbox');
  expect(rows).toEqual([{ key: 'org_x', event }]);
});

test('an id that is none is refused, and so is one that no letter has', async () => {
  await expect(plain.cli('dead-letters', 'replay', '--id', "1' OR true")).rejects.toThrow(/must be an id/);
  for (const id of ['table:77', 'topic:0:77'])
    await expect(plain.cli('dead-letters', 'replay', '--id', id)).rejects.toThrow(/Dead letter not found/);
});

describe.skipIf(kafka === null)('with Kafka', () => {
  test('a message that a handler could not take is listed with its reason, sent again to its topic, and then gone from the list', async () => {
    const brokers = kafka!.brokers;
    const config: KafkaSettings = { brokers, prefix: 'letters', ssl: false, sasl: null };
    const env = { KAFKA_BROKERS: brokers.join(','), KAFKA_PREFIX: 'letters' };
    const installation = await createInstallation({ env });
    const bus = createKafkaBus({ config, logger });
    const seen: string[] = [];
    let broken = true;
    try {
      await bus.subscribe({ topics: ['jobs'], group: 'strict' }, ({ event }) => {
        seen.push(event.id);
        if (broken) throw new Error('not today');
      });
      const event = {
        id: newId('evt'),
        type: 'job.progress',
        sequence: 1,
        orgId: 'org_a',
        timestamp: new Date().toISOString(),
        data: {},
      };
      await eventually(async () => {
        await bus.publish([{ topic: 'jobs', key: 'job_1', event }]);
        return true;
      });
      const list = () => installation.cli<Listing & Record<string, unknown>>('dead-letters', 'list');
      const { deadLetters } = await eventually(
        async () => {
          const listing = await list();
          return listing.deadLetters.length > 0 && listing;
        },
        { timeoutMs: 40_000, everyMs: 500 },
      );
      expect(deadLetters).toMatchObject([
        {
          id: expect.stringMatching(/^topic:\d+:\d+$/),
          topic: 'letters.jobs',
          group: 'strict',
          error: 'Error: not today',
          event: { id: event.id },
        },
      ]);
      broken = false;
      // What somebody else put there has nowhere to go, and is in nobody's way.
      const stranger = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer();
      await stranger.connect();
      for (let partition = 0; partition < 3; partition++)
        await stranger.send({ topic: 'letters.dead-letter', messages: [{ value: 'x', partition }] });
      await stranger.disconnect();
      const before = seen.length;
      expect(await installation.cli('dead-letters', 'replay')).toEqual({ replayed: 1 });
      await eventually(() => seen.length > before);
      expect(seen.at(-1)).toBe(event.id);
      expect(await list()).toEqual({ deadLetters: [] });
    } finally {
      await bus.close();
      await installation.close();
    }
  }, 120_000);
});
