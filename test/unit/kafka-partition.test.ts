import { randomBytes } from 'node:crypto';
import { Partitioners } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { createPartitioner } from '../../src/events/kafka/partition.js';

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
