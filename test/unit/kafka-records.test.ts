import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { Partitioners } from 'kafkajs';
import type { Message } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { createPartitioner } from '../../src/events/kafka/partition.js';
import { crc32c } from '../../src/events/kafka/crc32c.js';
import { encodeProduce, patchProduce } from '../../src/events/kafka/produce-request.js';
import type { Produce } from '../../src/events/kafka/produce-request.js';

const load = createRequire(import.meta.url);
const PATH = 'kafkajs/src/protocol/requests/produce/v3/request';
type Request = (produce: Produce) => { apiKey: number; encode(): Promise<{ buffer: Buffer }> };

/** kafkajs's own encoder, whatever stands in its place by now. */
function originalRequest(): Request {
  const name = load.resolve(PATH);
  const patched = load.cache[name];
  delete load.cache[name];
  const original = load(PATH) as Request;
  if (patched) load.cache[name] = patched;
  return original;
}

const timestamp = '1790000000000';
const MESSAGES: Message[] = [
  {
    key: 'job_1',
    value: Buffer.from('{}'),
    headers: { 'event-id': 'evt_1', 'event-type': 'job.pending' },
    timestamp,
  },
  { key: null, value: null, timestamp },
  { value: '', headers: {}, timestamp: '1790000009000' },
  {
    key: Buffer.alloc(0),
    value: 'grüße 日本語 🎶',
    headers: { ü: Buffer.from([0, 255]), twice: ['a', 'b'] },
    timestamp,
  },
  ...Array.from({ length: 200 }, (_, i) => ({ key: 'k', value: randomBytes(i), timestamp })),
  { key: 'x'.repeat(200), value: randomBytes(8_192), timestamp: '1790000000001' },
  { key: 'k', value: randomBytes(900_000), timestamp },
];

const producing = (topicData: Produce['topicData']): Produce => ({ acks: -1, timeout: 8_000, topicData });

const PRODUCE: Produce[] = [
  producing([]),
  producing([{ topic: 'penstock.jobs', partitions: [{ partition: 0, messages: MESSAGES }] }]),
  producing([
    {
      topic: 'penstock.jobs',
      partitions: [4, 1].map((partition) => ({ partition, messages: MESSAGES.slice(partition) })),
    },
    { topic: 'événements', partitions: [{ partition: 2, messages: MESSAGES.slice(0, 1), firstSequence: 7 }] },
  ]),
  {
    ...producing([{ topic: 't', partitions: [{ partition: 0, messages: MESSAGES.slice(1, 2) }] }]),
    transactionalId: 'tx',
  },
];

describe('requests for Kafka', () => {
  it('are the bytes that kafkajs makes, for every kind of key, value, header and time', async () => {
    const original = originalRequest();
    for (const produce of PRODUCE) {
      const theirs = await original(produce).encode();
      expect(encodeProduce(produce).buffer.equals(theirs.buffer)).toBe(true);
    }
  });

  it('carry the time of their making where their messages have none', () => {
    const before = Date.now();
    const { buffer } = encodeProduce(
      producing([{ topic: 't', partitions: [{ partition: 0, messages: [{ key: 'k', value: 'v' }] }] }]),
    );
    // 27 bytes stand before the batch, and as many of the batch before its first time.
    const firstTimestamp = Number(buffer.readBigInt64BE(54));
    expect(firstTimestamp).toBeGreaterThanOrEqual(before);
    expect(firstTimestamp).toBeLessThanOrEqual(Date.now());
  });

  it('have the checksum that kafkajs computes, wherever in memory they stand and however long they are', () => {
    const theirs = load('kafkajs/src/protocol/recordBatch/crc32C') as (
      bytes: { buffer: Buffer } | Buffer,
    ) => number;
    const bytes = randomBytes(64);
    for (let from = 0; from < 16; from += 1)
      for (let to = from; to <= bytes.length; to += 1)
        expect(crc32c(bytes.subarray(from, to))).toBe(theirs(bytes.subarray(from, to)) >>> 0);
  });

  it('are made here where kafkajs looks for its own, except compressed ones', async () => {
    patchProduce();
    const patched = load(PATH) as Request;
    const [, produce] = PRODUCE;
    if (!produce) throw new Error('nothing to produce');
    expect(patched(produce).apiKey).toBe(0);
    expect((await patched(produce).encode()).buffer.equals(encodeProduce(produce).buffer)).toBe(true);
    const compressed = { ...produce, compression: 1 };
    expect((await patched(compressed).encode()).buffer.length).toBeLessThan(
      encodeProduce(produce).buffer.length,
    );
    patchProduce();
    expect(load(PATH)).toBe(patched);
  });
});

describe('the partition of a key', () => {
  it('is that of Kafka’s other clients, so that a key stays in its partition', () => {
    const [ours, theirs] = [createPartitioner(), Partitioners.DefaultPartitioner()];
    const partitionMetadata = Array.from({ length: 6 }, (_, partitionId) => ({
      partitionErrorCode: 0,
      partitionId,
      leader: 1,
      replicas: [1],
      isr: [1],
    }));
    const keys = [
      '',
      'é',
      ...Array.from({ length: 64 }, (_, i) => 'job_01kf3w9z'.repeat(6).slice(0, i + 1)),
      ...Array.from({ length: 64 }, (_, i) => randomBytes(i)),
    ];
    for (const key of keys) {
      const args = { topic: 'penstock.jobs', partitionMetadata, message: { key, value: null } };
      expect(ours(args)).toBe(theirs(args));
    }
    const chosen = {
      topic: 'penstock.jobs',
      partitionMetadata,
      message: { key: 'a', value: null, partition: 5 },
    };
    expect(ours(chosen)).toBe(5);
  });
});
