import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { Partitioners } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { createPartitioner } from '../../src/events/kafka/partition.js';
import { encodeRecord, patchRecords } from '../../src/events/kafka/record.js';
import type { KafkaRecord } from '../../src/events/kafka/record.js';

const load = createRequire(import.meta.url);
const PATH = 'kafkajs/src/protocol/recordBatch/record/v0';

/** kafkajs's own encoder, whatever stands in its place by now. */
function originalEncoder(): (record: KafkaRecord) => { buffer: Buffer } {
  const name = load.resolve(PATH);
  const patched = load.cache[name];
  delete load.cache[name];
  const original = load(PATH) as ReturnType<typeof originalEncoder>;
  if (patched) load.cache[name] = patched;
  return original;
}

const RECORDS: KafkaRecord[] = [
  { key: 'job_1', value: Buffer.from('{}'), headers: { 'event-id': 'evt_1', 'event-type': 'job.pending' } },
  { key: null, value: null },
  { value: '', headers: {} },
  {
    key: Buffer.alloc(0),
    value: 'grüße 日本語 🎶',
    headers: { ü: Buffer.from([0, 255]), twice: ['a', 'b'] },
  },
  { key: 'k', value: randomBytes(63), offsetDelta: 63, timestampDelta: 64 },
  { key: 'k', value: randomBytes(64), offsetDelta: 8191, timestampDelta: 2 ** 31 },
  { key: 'x'.repeat(200), value: randomBytes(8_192), offsetDelta: 8192, timestampDelta: 2 ** 40 },
  { key: 'k', value: randomBytes(900_000), offsetDelta: 2 ** 21, timestampDelta: -1 },
];

describe('records for Kafka', () => {
  it('are the bytes that kafkajs makes, for every kind of key, value and header', () => {
    const original = originalEncoder();
    for (const record of RECORDS)
      expect(encodeRecord(record).buffer.equals(original(record).buffer)).toBe(true);
  });

  it('stand where kafkajs looks for its own', () => {
    patchRecords();
    expect(load(PATH)).toBe(encodeRecord);
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
