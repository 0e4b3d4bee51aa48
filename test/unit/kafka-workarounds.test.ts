/** What docs/adr/0007 says of kafkajs, held where a broker's behaviour would not show it. */
import type { ConsumerConfig, Kafka, ProducerBatch, ProducerConfig } from 'kafkajs';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { disconnect } from '../../src/events/index.js';
import { superviseConsumer } from '../../src/events/kafka/consumer.js';
import { createKafkaProducer } from '../../src/events/kafka/producer.js';
import { eventually } from '../support/wait.js';

const logger = pino({ level: 'silent' });

test('a publication asks all replicas, one request at a time, uncompressed, and never makes a topic', async () => {
  const configs: ProducerConfig[] = [];
  const batches: ProducerBatch[] = [];
  const kafka = {
    producer(config: ProducerConfig) {
      configs.push(config);
      return {
        connect: async () => undefined,
        disconnect: async () => undefined,
        sendBatch: async (batch: ProducerBatch) => void batches.push(batch),
      };
    },
  } as unknown as Kafka;
  const producer = createKafkaProducer(kafka, logger);
  await producer.send([{ topic: 't', messages: [{ value: 'v' }] }]);
  await producer.close();
  expect(configs).toEqual([
    expect.objectContaining({ allowAutoTopicCreation: false, maxInFlightRequests: 1 }),
  ]);
  expect(configs[0]).not.toHaveProperty('idempotent');
  expect(batches).toEqual([expect.objectContaining({ acks: -1 })]);
  expect(batches[0]).not.toHaveProperty('compression');
});

test('after a fault the next publication goes through a new producer', async () => {
  let made = 0;
  const kafka = {
    producer() {
      const nth = (made += 1);
      return {
        connect: async () => undefined,
        disconnect: async () => undefined,
        sendBatch: async () => {
          if (nth === 1) throw new Error('half open');
        },
      };
    },
  } as unknown as Kafka;
  const producer = createKafkaProducer(kafka, logger);
  await expect(producer.send([])).rejects.toThrow('half open');
  await producer.send([]);
  await producer.close();
  expect(made).toBe(2);
});

test('a consumer that crashed is never restarted by the library: a new one takes its place', async () => {
  const configs: ConsumerConfig[] = [];
  const ended: number[] = [];
  const kafka = {
    consumer(config: ConsumerConfig) {
      const nth = configs.push(config);
      let crash: (event: object) => void = () => undefined;
      return {
        events: { CRASH: 'crash', END_BATCH_PROCESS: 'end' },
        on(event: string, listener: (event: object) => void) {
          if (event === 'crash') crash = listener;
        },
        connect: async () => undefined,
        subscribe: async () => undefined,
        run: async () => {
          if (nth === 1) setImmediate(() => crash({ payload: { error: new Error('crash') } }));
        },
        disconnect: async () => void ended.push(nth),
      };
    },
  } as unknown as Kafka;
  const subscription = superviseConsumer({
    kafka,
    logger,
    groupId: 'g',
    topics: ['t'],
    durable: true,
    ready: Promise.resolve(),
    onMessage: async () => undefined,
  });
  await eventually(() => configs.length === 2);
  expect(await configs[0]!.retry?.restartOnFailure?.(new Error('crash'))).toBe(false);
  expect(configs[0]).toMatchObject({ allowAutoTopicCreation: false });
  await subscription.close();
  expect(ended).toEqual([1, 2]);
});

test('a disconnection that never ends is not waited for', async () => {
  await disconnect({ disconnect: () => new Promise(() => undefined) }, logger);
});
