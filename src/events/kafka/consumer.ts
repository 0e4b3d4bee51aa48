import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, EachMessagePayload, Kafka } from 'kafkajs';
import type { Logger } from 'pino';
import type { BusSubscription } from '../events.types.js';
import { disconnect } from './client.js';
import { isTopicUnknown } from './patches.js';

/** One member of a consumer group, kept alive. */
export interface ConsumerOptions {
  kafka: Kafka;
  logger: Logger;
  groupId: string;
  topics: string[];
  /** Named groups start with what is there and keep their offsets; broadcasts hear what comes from now on and keep nothing. Both hear all
   * of a topic that was made again. */
  durable: boolean;
  /** Resolves once the topics exist. */
  ready: Promise<void>;
  /** How far this member is behind on a partition, after each batch. */
  onLag?(topic: string, partition: number, messages: number): void;
  /** Never throws: a throw would make kafkajs replay the batch for ever (ADR 7). */
  onMessage(payload: EachMessagePayload): Promise<void>;
}

/** Bounds a stop: longer than a disconnection, shorter than a connection attempt's whole life. */
const CLOSE_MS = 3_000;

const BACKOFF_MS = [250, 500, 1_000, 2_000];

/**
 * Runs a consumer until it is closed. A consumer that crashed is never restarted by kafkajs itself (its issue 1630): each time a new
 * one is built.
 */
export function superviseConsumer(options: ConsumerOptions): BusSubscription {
  const { kafka, logger, groupId, topics, durable, ready, onMessage } = options;
  const stop = new AbortController();
  /** The broker had no such topic: all that one has which is made in its place is news. */
  let lost = false;

  /** Resolves when the consumer crashed or the subscription was closed. */
  async function runOnce(): Promise<void> {
    const consumer = kafka.consumer({
      groupId,
      allowAutoTopicCreation: false,
      // The least that brokers allow by default: after a broker's crash a new member waits for that of the one before it.
      sessionTimeout: 6_000,
      heartbeatInterval: 1_500,
      maxWaitTimeInMs: 2_000,
      retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 3, restartOnFailure: async () => false },
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics, fromBeginning: durable || lost });
      const crashed = crashOf(consumer, stop.signal);
      consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) =>
        options.onLag?.(payload.topic, payload.partition, Number(payload.offsetLag)),
      );
      await consumer.run({ autoCommit: durable, eachMessage: onMessage });
      lost = isTopicUnknown(await crashed);
    } finally {
      await disconnect(consumer, logger);
    }
  }

  async function supervise(): Promise<void> {
    await Promise.race([ready, aborted(stop.signal)]);
    for (let failures = 0; !stop.signal.aborted;) {
      const began = performance.now();
      try {
        await runOnce();
      } catch (error) {
        lost ||= isTopicUnknown(error);
        logger.info({ err: error, groupId }, 'a Kafka consumer could not run');
      }
      failures = performance.now() - began > 30_000 ? 0 : failures + 1;
      if (stop.signal.aborted) return;
      const delay = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length) - 1] ?? 0;
      await sleep(delay, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  }

  const running = supervise();
  return {
    async close() {
      stop.abort();
      // Connecting to an absent broker may still be under way; it ends by itself, and closes what it opened.
      const bound = sleep(CLOSE_MS, undefined, { ref: false });
      await Promise.race([running, bound]);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** The fault that ended a consumer; none where the subscription was closed. */
function crashOf(consumer: Consumer, signal: AbortSignal): Promise<unknown> {
  const crash = new Promise<unknown>((resolve) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => resolve(payload.error));
  });
  return Promise.race([crash, aborted(signal)]);
}
