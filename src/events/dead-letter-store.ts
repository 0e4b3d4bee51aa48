import type { Logger } from 'pino';
import { notFound } from '../contract/errors.js';
import type { Database } from '../database/index.js';
import { listDeadLetters, recordReplay, replayDeadLetters } from './dead-letters.js';
import type { Replayed, TableDeadLetter } from './dead-letters.js';
import type { KafkaSettings } from './kafka/client.js';
import { openDeadLetterTopic } from './kafka/dead-letter-topic.js';
import type { DeadLetterTopic, TopicDeadLetter } from './kafka/dead-letter-topic.js';

/** An event that a consumer could not handle, wherever it is kept. */
export interface DeadLetter {
  /** `table:<row>` or `topic:<partition>:<offset>`. */
  id: string;
  topic: string;
  key: string;
  group: string;
  error: string;
  /** As it was sent, where that is not JSON. */
  event: unknown;
  createdAt: Date | string;
}

/** All dead letters of the installation: those of the table, and with Kafka those of its topic. */
export interface DeadLetterStore {
  /** The table's first, then the topic's; at most 1,000 of each. */
  list(): Promise<DeadLetter[]>;
  /**
   * Sends all letters again, or one. One of the topic stays listed, because only the whole can be ticked off.
   * @param id absent: all
   * @returns how many were sent, and the first of them; at most 1,000 of the table and of the topic
   * @throws ApiError not_found where there is no letter with the id
   */
  replay(id?: string): Promise<Replayed<DeadLetter>>;
}

/** More than that is not read by a person. `replay` sends the others, too. */
const SHOWN = 1_000;

const idOf = ({ partition, offset }: TopicDeadLetter): string => `topic:${partition}:${offset}`;

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    // Poison is shown as it is.
    return value;
  }
}

const ofTable = ({ id, topic, key, group, error, event, createdAt }: TableDeadLetter): DeadLetter => ({
  id: `table:${id}`,
  ...{ topic, key, group, error, event, createdAt },
});

function toLetter(letter: TopicDeadLetter): DeadLetter {
  const { topic, key, group, error, value, createdAt } = letter;
  return { id: idOf(letter), topic, key, group, error, event: parsed(value), createdAt };
}

const ROW = /^table:(\d{1,18})$/;

/** @see DeadLetterStore */
export function createDeadLetterStore(options: {
  database: Pick<Database, 'system' | 'transaction'>;
  /** Null without KAFKA_BROKERS. */
  kafka: KafkaSettings | null;
  logger: Logger;
}): DeadLetterStore {
  const { database, kafka, logger } = options;
  const withTopic = async <T>(work: (topic: DeadLetterTopic) => Promise<T>): Promise<T | null> => {
    if (kafka === null) return null;
    const topic = await openDeadLetterTopic(kafka, logger);
    try {
      return await work(topic);
    } finally {
      await topic.close();
    }
  };
  const replayTopic = (id?: string) =>
    withTopic(async (topic) => {
      const letters = (await topic.list()).filter((letter) => id === undefined || idOf(letter) === id);
      const sent = await topic.send(letters);
      if (sent.length > 0) await database.transaction((sql) => recordReplay(sql, sent.length));
      if (id === undefined) await topic.done();
      return { found: letters.length, replayed: sent.length, letters: sent.slice(0, SHOWN).map(toLetter) };
    });
  return {
    async list() {
      const rows = await listDeadLetters(database.system, SHOWN);
      const letters = (await withTopic((topic) => topic.list())) ?? [];
      return [...rows.map(ofTable), ...letters.slice(0, SHOWN).map(toLetter)];
    },
    async replay(id) {
      const row = id === undefined ? undefined : ROW.exec(id)?.[1];
      const ids = id === undefined ? null : row === undefined ? [] : [row];
      const rows = await replayDeadLetters(database, ids, SHOWN);
      const sent = row === undefined ? await replayTopic(id) : null;
      if (id !== undefined && rows.replayed === 0 && !sent?.found) throw notFound('Dead letter not found');
      return {
        replayed: rows.replayed + (sent?.replayed ?? 0),
        letters: [...rows.letters.map(ofTable), ...(sent?.letters ?? [])],
      };
    },
  };
}
