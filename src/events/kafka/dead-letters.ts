import { setTimeout as sleep } from 'node:timers/promises';
import type { EachMessagePayload } from 'kafkajs';
import type { Logger } from 'pino';
import { reasonOf } from '../deliver.js';
import type { KafkaProducer } from './producer.js';

/** Stores messages that a named group's handler could not handle, with their origin and the error. */
export interface DeadLetters {
  /** Waits for the broker without limit: resolving before the write would lose the message. */
  keep(payload: EachMessagePayload, group: string, error: unknown): Promise<void>;
}

/** @param options `topic` is the dead-letter topic's whole name; `signal` fires when the process stops. */
export function createDeadLetters(options: {
  producer: Pick<KafkaProducer, 'send'>;
  topic: string;
  logger: Logger;
  signal: AbortSignal;
}): DeadLetters {
  const { producer, logger, signal } = options;
  return {
    async keep(payload, group, error) {
      const { topic, partition, message } = payload;
      const { offset } = message;
      logger.error({ err: error, topic, partition, offset, group }, 'an event went to the dead letters');
      const source = { topic, partition: String(partition), offset, group, error: reasonOf(error) };
      const letter = { key: message.key, value: message.value, headers: { ...message.headers, ...source } };
      while (!signal.aborted) {
        try {
          return await producer.send([{ topic: options.topic, messages: [letter] }]);
        } catch (fault) {
          logger.warn({ err: fault }, 'dead letters cannot be sent until Kafka answers');
          await payload.heartbeat().catch((beat: unknown) => logger.debug({ err: beat }, 'no heartbeat'));
          await sleep(1_000, undefined, { signal }).catch(() => undefined);
        }
      }
      // The only error that a handler throws: the offset must not be committed, and this process is stopping and will not retry.
      throw new Error('stopped before the dead letter was written');
    },
  };
}
