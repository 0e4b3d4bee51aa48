import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, IHeaders, Kafka, KafkaMessage } from 'kafkajs';
import type { Logger } from 'pino';
import { createKafkaClient, disconnect } from './client.js';
import type { KafkaSettings } from './client.js';
import { createKafkaProducer } from './producer.js';
import { topicName } from './topics.js';

/** A message that a consumer could not handle, as the dead-letter topic stores it. */
export interface TopicDeadLetter {
  partition: number;
  offset: string;
  /** The full name of the topic that it came from. */
  topic: string;
  key: string;
  group: string;
  error: string;
  value: string;
  /** ISO 8601. */
  createdAt: string;
  message: KafkaMessage;
}

/** The dead-letter topic for an operator. A consumer group of its own has the offsets up to which letters were replayed. */
export interface DeadLetterTopic {
  /** Letters that were not replayed yet, oldest first within a partition. */
  list(): Promise<TopicDeadLetter[]>;
  /** Sends letters to the topics that they came from, with their keys and headers. @returns those that were sent; a letter without a topic is skipped */
  send(letters: TopicDeadLetter[]): Promise<TopicDeadLetter[]>;
  /** Marks all letters that `list` returned as replayed. */
  done(): Promise<void>;
  close(): Promise<void>;
}

const READ_MS = 30_000;
/** Headers that the dead letter added. */
const ADDED = ['topic', 'partition', 'offset', 'group', 'error'];

const text = (headers: IHeaders | undefined, name: string): string => {
  const value = headers?.[name];
  return (Array.isArray(value) ? value[0] : value)?.toString() ?? '';
};

function toLetter(partition: number, message: KafkaMessage): TopicDeadLetter {
  const { headers, key, value, offset, timestamp } = message;
  return {
    partition,
    offset,
    topic: text(headers, 'topic'),
    key: key?.toString() ?? '',
    group: text(headers, 'group'),
    error: text(headers, 'error'),
    value: value?.toString() ?? '',
    createdAt: new Date(Number(timestamp)).toISOString(),
    message,
  };
}

interface Range {
  partition: number;
  /** First that was not replayed. */
  from: bigint;
  /** One after the last. */
  to: bigint;
}

async function rangesOf(admin: Admin, groupId: string, topic: string): Promise<Range[]> {
  const ends = await admin.fetchTopicOffsets(topic);
  const [kept] = await admin.fetchOffsets({ groupId, topics: [topic] });
  return ends.map(({ partition, low, high }) => {
    const committed = kept?.partitions.find((one) => one.partition === partition)?.offset ?? '-1';
    const from = BigInt(committed) > BigInt(low) ? BigInt(committed) : BigInt(low);
    return { partition, from, to: BigInt(high) };
  });
}

export async function openDeadLetterTopic(settings: KafkaSettings, logger: Logger): Promise<DeadLetterTopic> {
  const kafka = createKafkaClient(settings, logger);
  const admin = kafka.admin();
  await admin.connect();
  const producer = createKafkaProducer(kafka, logger);
  const topic = topicName(settings.prefix, 'dead-letter');
  const groupId = `${settings.prefix}.dead-letters`;
  let ranges: Range[] = [];
  return {
    async list() {
      ranges = await rangesOf(admin, groupId, topic);
      return await read({ kafka, admin, topic, ranges, logger, groupId: `${groupId}.${randomUUID()}` });
    },
    async send(letters) {
      const sent: TopicDeadLetter[] = [];
      for (const letter of letters) {
        const { topic: to, partition, offset, message } = letter;
        if (to === '') {
          logger.warn({ partition, offset }, 'a dead letter has no topic that it could be sent to');
          continue;
        }
        const headers = Object.fromEntries(
          Object.entries(message.headers ?? {}).filter(([name]) => !ADDED.includes(name)),
        );
        const { key, value } = message;
        await producer.send([{ topic: to, messages: [{ key, value, headers }] }]);
        sent.push(letter);
      }
      return sent;
    },
    async done() {
      const partitions = ranges.map(({ partition, to }) => ({ partition, offset: String(to) }));
      if (partitions.length > 0) await admin.setOffsets({ groupId, topic, partitions });
    },
    async close() {
      await producer.close();
      await disconnect(admin, logger);
    },
  };
}

interface Reading {
  kafka: Kafka;
  admin: Admin;
  topic: string;
  ranges: Range[];
  groupId: string;
  logger: Logger;
}

/** Reads the ranges with a group that exists only for that. @throws Error where they do not come in time */
async function read({ kafka, admin, topic, ranges, groupId, logger }: Reading): Promise<TopicDeadLetter[]> {
  const missing = new Map(
    ranges.filter(({ from, to }) => from < to).map((range) => [range.partition, range]),
  );
  if (missing.size === 0) return [];
  const letters: TopicDeadLetter[] = [];
  const consumer = kafka.consumer({ groupId, allowAutoTopicCreation: false, maxWaitTimeInMs: 500 });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    const complete = new Promise<void>((resolve) => {
      void consumer.run({
        autoCommit: false,
        async eachMessage({ partition, message }) {
          const range = missing.get(partition);
          const offset = BigInt(message.offset);
          if (range === undefined || offset < range.from) return;
          if (offset < range.to) letters.push(toLetter(partition, message));
          if (offset >= range.to - 1n) missing.delete(partition);
          if (missing.size === 0) resolve();
        },
      });
    });
    const late = sleep(READ_MS, 'late', { ref: false });
    if ((await Promise.race([complete, late])) === 'late')
      throw new Error('the dead letters could not be read in time');
  } finally {
    await disconnect(consumer, logger);
    await admin.deleteGroups([groupId]).catch((error: unknown) => logger.debug({ err: error }, 'group left'));
  }
  return letters.sort((a, b) => a.partition - b.partition || Number(BigInt(a.offset) - BigInt(b.offset)));
}
