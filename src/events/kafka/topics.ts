import type { Admin } from 'kafkajs';
import type { Logger } from 'pino';
import type { Topic } from '../events.types.js';
import { createKafkaClient, disconnect } from './client.js';
import type { KafkaSettings } from './client.js';

/** Partitions of a topic that we create; so at most this many consumers of a group share its messages. */
const PARTITIONS = 6;

const TOPICS: readonly Topic[] = ['jobs', 'agents', 'responses', 'events', 'usage'];

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
 * Creates missing topics (`topics create`, the start of every process with Kafka, and when a topic is found missing). Topics are never created by
 * their first message (kafkajs issue 1520). The broker's default replication applies. Returns the names of all topics once all accept messages,
 * or, with a warning, when one still does not.
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

/** A new leader may not serve its partition yet. Once it answers a query for offsets, it accepts messages. */
async function untilServed(admin: Admin, names: string[]): Promise<void> {
  for (const name of names) await admin.fetchTopicOffsets(name);
}
