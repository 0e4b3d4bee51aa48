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
  /**
   * Named groups start at the oldest message and commit offsets; broadcasts start at the newest and commit nothing. Both read a topic that was
   * created again from its beginning.
   */
  durable: boolean;
  /** Resolves once the topics exist. */
  ready: Promise<void>;
  /** Reports this member's lag on a partition, after each batch. */
  onLag?(topic: string, partition: number, messages: number): void;
  /** Never throws: a throw would make kafkajs replay the batch for ever (ADR 7). */
  onMessage(payload: EachMessagePayload): Promise<void>;
}

/** The time limit of a stop: longer than a disconnection, shorter than a complete connection attempt. */
const CLOSE_MS = 3_000;

const BACKOFF_MS = [250, 500, 1_000, 2_000];

/**
 * Runs a consumer until it is closed. A consumer that crashed is never restarted by kafkajs itself (its issue 1630): each time a new
 * one is built.
 */
export function superviseConsumer(options: ConsumerOptions): BusSubscription {
  const { kafka, logger, groupId, topics, durable, ready, onMessage } = options;
  const stop = new AbortController();
  /** The broker had lost the topic: every message of the new topic is unread. */
  let lost = false;

  /** Resolves when the consumer crashed or the subscription was closed. */
  async function runOnce(): Promise<void> {
    const consumer = kafka.consumer({
      groupId,
      allowAutoTopicCreation: false,
      // The minimum that brokers allow by default: after a crash a new member waits until the old member's session has timed out.
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
      // A connection attempt to a missing broker may still run; it ends and cleans up by itself.
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

/** The error that ended a consumer; undefined if the subscription was closed. */
function crashOf(consumer: Consumer, signal: AbortSignal): Promise<unknown> {
  const crash = new Promise<unknown>((resolve) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => resolve(payload.error));
  });
  return Promise.race([crash, aborted(signal)]);
}
