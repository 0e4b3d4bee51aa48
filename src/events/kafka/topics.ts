import type { Admin } from 'kafkajs';
import type { Logger } from 'pino';
import type { Topic } from '../events.types.js';
import { createKafkaClient, disconnect } from './client.js';
import type { KafkaSettings } from './client.js';

/** Partitions of a topic that we make: the most consumers of a group that share its work. */
const PARTITIONS = 6;

const TOPICS: readonly Topic[] = ['jobs', 'agents', 'events'];

/** `penstock.jobs` … */
export function topicName(prefix: string, topic: Topic | 'dead-letter'): string {
  return `${prefix}.${topic}`;
}

/** The topic that a Kafka topic's name stands for. */
export function topicOf(prefix: string, name: string): Topic {
  const topic = TOPICS.find((candidate) => topicName(prefix, candidate) === name);
  if (!topic) throw new Error(`not one of our topics: ${name}`);
  return topic;
}

/**
 * Makes the topics that do not exist yet (`topics create`, the start of every process with Kafka, and whoever misses one); never by the first message
 * (kafkajs issue 1520). The broker's default replication holds. Answers every topic's name, once all of them take
 * messages or, with a warning, one does not.
 */
export async function createTopics(settings: KafkaSettings, logger: Logger): Promise<string[]> {
  const admin = createKafkaClient(settings, logger).admin();
  const names = [...TOPICS, 'dead-letter' as const].map((topic) => topicName(settings.prefix, topic));
  try {
    await admin.connect();
    const existing = new Set(await admin.listTopics());
    const topics = names.filter((name) => !existing.has(name));
    if (topics.length > 0) {
      const made = topics.map((topic) => ({ topic, numPartitions: PARTITIONS }));
      await admin.createTopics({ topics: made, waitForLeaders: true, timeout: 10_000 });
    }
    await untilServed(admin, names).catch((error: unknown) =>
      logger.warn({ err: error }, 'not every Kafka partition is served; its messages wait'),
    );
    return names;
  } finally {
    await disconnect(admin, logger);
  }
}

/** A leader that was named may not serve its partition yet. It tells the offsets from when on it takes messages. */
async function untilServed(admin: Admin, names: string[]): Promise<void> {
  for (const name of names) await admin.fetchTopicOffsets(name);
}
