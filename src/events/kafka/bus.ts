import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EachMessagePayload, Kafka, TopicMessages } from 'kafkajs';
import type { Logger } from 'pino';
import { deliver, deliverBroadcast } from '../deliver.js';
import type { BusHandler, RetryState } from '../deliver.js';
import type { Bus, BusMessage, BusSubscription, Topic } from '../events.types.js';
import { createKafkaClient } from './client.js';
import type { KafkaSettings } from './client.js';
import { superviseConsumer } from './consumer.js';
import { createDeadLetters } from './dead-letters.js';
import type { DeadLetters } from './dead-letters.js';
import { isTopicUnknown } from './patches.js';
import { decode, encode, inRequests } from './message.js';
import { byTopic, createKafkaProducer } from './producer.js';
import type { KafkaProducer } from './producer.js';
import { createTopics, topicName, topicOf } from './topics.js';

/** How long a publication waits for the topics of a process that has just started. */
const READY_MS = 3_000;

/** After a broker lost its topics, they are created again only after this time, so that every consumer notices the loss and drops its positions. */
const AWAY_MS = 1_500;

/**
 * The bus on Kafka. Nothing here waits for the broker: topics are made in the background, consumers join when it is there, and a
 * `publish` that it does not take rejects, so that the relay keeps the rows.
 */
export function createKafkaBus(options: {
  config: KafkaSettings;
  logger: Logger;
  /** Reports the lag of a consumer of this process; `group` is `broadcast` for broadcast consumers. */
  onLag?: LagListener;
}): Bus {
  const logger = options.logger.child({ component: 'kafka' });
  return new KafkaBus(options.config, logger, options.onLag ?? (() => undefined));
}

export type LagListener = (at: { group: string; topic: string; partition: number }, messages: number) => void;

interface Subscriber {
  group: string | null;
  handler: BusHandler;
  retryState: RetryState;
}

class KafkaBus implements Bus {
  private readonly kafka: Kafka;
  private readonly producer: KafkaProducer;
  private readonly deadLetters: DeadLetters;
  private readonly subscriptions = new Set<BusSubscription>();
  private readonly stop = new AbortController();
  private ready: Promise<void>;

  constructor(
    private readonly config: KafkaSettings,
    private readonly logger: Logger,
    private readonly onLag: LagListener,
  ) {
    const { signal } = this.stop;
    this.kafka = createKafkaClient(config, logger);
    this.producer = createKafkaProducer(this.kafka, logger);
    const topic = topicName(config.prefix, 'dead-letter');
    const producer = { send: (messages: TopicMessages[]) => this.send(messages) };
    this.deadLetters = createDeadLetters({ producer, topic, logger, signal });
    this.ready = this.createTopics();
  }

  async publish(messages: BusMessage[]): Promise<void> {
    // While a topic is being created, sending succeeds for some partitions only, and a repetition duplicates those messages.
    const bound = sleep(READY_MS, 'late', { ref: false });
    if ((await Promise.race([this.ready, bound])) === 'late') throw new Error('the topics are not there yet');
    for (const request of inRequests(messages.map(encode))) {
      const named = request.map(({ topic, message }) => ({ topic: this.name(topic), message }));
      await this.send(byTopic(named));
    }
  }

  async subscribe(
    options: { topics: Topic[]; group: string | null },
    handler: BusHandler,
  ): Promise<BusSubscription> {
    const { topics, group } = options;
    const subscriber: Subscriber = { group, handler, retryState: { exhausted: false } };
    const subscription = superviseConsumer({
      kafka: this.kafka,
      logger: this.logger,
      groupId: `${this.config.prefix}.${group ?? `broadcast.${randomUUID()}`}`,
      topics: topics.map((topic) => this.name(topic)),
      durable: group !== null,
      ready: this.ready,
      onLag: (topic, partition, messages) =>
        this.onLag({ group: group ?? 'broadcast', topic, partition }, messages),
      onMessage: (payload) => this.handle(payload, subscriber),
    });
    this.subscriptions.add(subscription);
    return {
      close: async () => {
        this.subscriptions.delete(subscription);
        await subscription.close();
      },
    };
  }

  async close(): Promise<void> {
    this.stop.abort();
    await Promise.all([...this.subscriptions].map((subscription) => subscription.close()));
    this.subscriptions.clear();
    await this.producer.close();
  }

  /** A broker that lost its disk has no topics: they are created again, and the sending is repeated. */
  private async send(messages: TopicMessages[]): Promise<void> {
    try {
      await this.producer.send(messages);
    } catch (error) {
      if (isTopicUnknown(error)) this.ready = this.createTopics(AWAY_MS);
      throw error;
    }
  }

  private name(topic: Topic): string {
    return topicName(this.config.prefix, topic);
  }

  private async createTopics(awayMs = 0): Promise<void> {
    const { signal } = this.stop;
    await sleep(awayMs, undefined, { signal }).catch(() => undefined);
    for (let delay = 250; !signal.aborted; delay = Math.min(delay * 2, 2_000)) {
      try {
        await createTopics(this.config, this.logger);
        return;
      } catch (error) {
        if (delay === 250)
          this.logger.warn({ err: error }, 'Kafka does not answer yet; the topics will be created later');
        await sleep(delay, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  private async handle(payload: EachMessagePayload, subscriber: Subscriber): Promise<void> {
    const { group, handler, retryState } = subscriber;
    const keep = async (error: unknown): Promise<void> => {
      if (group !== null) await this.deadLetters.keep(payload, group, error);
    };
    let message: BusMessage;
    try {
      const key = payload.message.key?.toString('utf8') ?? '';
      message = {
        topic: topicOf(this.config.prefix, payload.topic),
        key,
        event: decode(payload.message.value),
      };
    } catch (error) {
      return keep(error);
    }
    if (group === null) return deliverBroadcast(message, handler, this.logger);
    const beat = (): Promise<void> =>
      payload.heartbeat().catch((error: unknown) => this.logger.debug({ err: error }, 'no heartbeat'));
    await deliver({ message, handler, retryState, deadLetter: keep, beat });
  }
}
