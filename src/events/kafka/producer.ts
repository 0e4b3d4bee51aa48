import type { Kafka, Message, Producer, TopicMessages } from 'kafkajs';
import type { Logger } from 'pino';
import { disconnect } from './client.js';
import { createPartitioner } from './partition.js';

/** Sends in order, acknowledged by all in-sync replicas. */
export interface KafkaProducer {
  /** @throws where the broker is away or refuses; nothing or a part may then have been written. */
  send(topicMessages: TopicMessages[]): Promise<void>;
  close(): Promise<void>;
}

/** One request in flight keeps the order; the idempotent producer is not used (kafkajs issue 598): consumers deduplicate by event id. */
export function createKafkaProducer(kafka: Kafka, logger: Logger): KafkaProducer {
  let connected: Promise<Producer> | null = null;

  async function connect(): Promise<Producer> {
    const producer = kafka.producer({
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      createPartitioner,
    });
    try {
      await producer.connect();
    } catch (error) {
      await disconnect(producer, logger);
      throw error;
    }
    return producer;
  }

  /** After an error the next send makes a new producer: a half-open connection may never notice that its broker is back. */
  async function discard(failed: Promise<Producer>): Promise<void> {
    if (connected === failed) connected = null;
    const producer = await failed.catch(() => null);
    if (producer) await disconnect(producer, logger);
  }

  return {
    async send(topicMessages) {
      const current = (connected ??= connect());
      try {
        const producer = await current;
        await producer.sendBatch({ topicMessages, acks: -1, timeout: 8_000 });
      } catch (error) {
        await discard(current);
        throw error;
      }
    },
    async close() {
      if (connected) await discard(connected);
    },
  };
}

/** Groups messages by topic, keeping their order within each. */
export function byTopic(messages: { topic: string; message: Message }[]): TopicMessages[] {
  const topics = new Map<string, Message[]>();
  for (const { topic, message } of messages) {
    const of = topics.get(topic);
    if (of) of.push(message);
    else topics.set(topic, [message]);
  }
  return [...topics].map(([topic, list]) => ({ topic, messages: list }));
}
