import type { Logger } from 'pino';
import type { Database } from '../database/database.types.js';
import { deliver, deliverBroadcast, reasonOf } from './deliver.js';
import type { BusHandler, RetryState } from './deliver.js';
import type { Bus, BusMessage, Topic } from './events.types.js';
import { DEAD_LETTER } from './event.queries.js';

interface Subscriber {
  topics: ReadonlySet<Topic>;
  group: string | null;
  handler: BusHandler;
  retryState: RetryState;
}

/**
 * The bus without Kafka. A named group's messages are handled in the process whose relay claimed them: run a relay only where every
 * group has subscribed (roles `all` and `worker`), and subscribe before it starts. A broadcast reaches the subscribers of this process
 * only; other processes hear of changes by hints (`job_event`, `run_event`: ids only) and read them from the database.
 *
 * `publish` resolves once every named group has taken its messages or they are among the dead letters (table `dead_letters`), and
 * rejects where neither could be done: the relay then keeps the rows.
 */
export function createInProcessBus(options: { database: Pick<Database, 'system'>; logger: Logger }): Bus {
  const { database, logger } = options;
  const subscribers = new Set<Subscriber>();

  const deadLetter = async (message: BusMessage, group: string, error: unknown): Promise<void> => {
    logger.error({ err: error, eventId: message.event.id, group }, 'an event went to the dead letters');
    const { topic, key, event } = message;
    const values = [topic, key, group, JSON.stringify(event), reasonOf(error)];
    await database.system.query(DEAD_LETTER, values);
  };

  /** Order within a key holds because a group takes its messages one after the other. */
  async function feed(subscriber: Subscriber, messages: BusMessage[]): Promise<void> {
    const { group, handler, topics, retryState } = subscriber;
    for (const message of messages) {
      if (!topics.has(message.topic)) continue;
      if (group === null) await deliverBroadcast(message, handler, logger);
      else
        await deliver({
          message,
          handler,
          retryState,
          deadLetter: (error) => deadLetter(message, group, error),
        });
    }
  }

  return {
    async publish(messages) {
      await Promise.all([...subscribers].map((subscriber) => feed(subscriber, messages)));
    },
    async subscribe({ topics, group }, handler) {
      const subscriber = { topics: new Set(topics), group, handler, retryState: { exhausted: false } };
      subscribers.add(subscriber);
      return {
        async close() {
          subscribers.delete(subscriber);
        },
      };
    },
    async close() {
      subscribers.clear();
    },
  };
}
