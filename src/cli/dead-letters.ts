import { notFound } from '../contract/errors.js';
import { listDeadLetters, openDeadLetterTopic, recordReplay, replayDeadLetters } from '../events/index.js';
import type { DeadLetterTopic, TopicLetter } from '../events/index.js';
import { print } from './answer.js';
import { withSession } from './session.js';
import type { Session } from './session.js';

/** More than that is not read by a person, and `replay` takes them all without being shown. */
const SHOWN = 1_000;

const idOf = ({ partition, offset }: TopicLetter): string => `topic:${partition}:${offset}`;

/** Null without KAFKA_BROKERS. */
async function withTopic<T>(
  { config, logger }: Session,
  work: (topic: DeadLetterTopic) => Promise<T>,
): Promise<T | null> {
  if (config.kafka === null) return null;
  const topic = await openDeadLetterTopic(config.kafka, logger);
  try {
    return await work(topic);
  } finally {
    await topic.close();
  }
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    // Poison is shown as it is.
    return value;
  }
}

/** `dead-letters list`: the table's first, then the topic's. */
export async function listLetters(): Promise<void> {
  print(
    await withSession(async (session) => {
      const rows = await listDeadLetters(session.database.system, SHOWN);
      const letters = (await withTopic(session, (topic) => topic.list())) ?? [];
      return {
        deadLetters: [
          ...rows.map(({ id, ...row }) => ({ id: `table:${id}`, ...row })),
          ...letters.slice(0, SHOWN).map((letter) => {
            const { topic, key, group, error, value, createdAt } = letter;
            return { id: idOf(letter), topic, key, group, error, event: parsed(value), createdAt };
          }),
        ],
      };
    }),
  );
}

/**
 * `dead-letters replay`: all, or one. One of the topic stays listed, because only the whole can be ticked off.
 * @throws ApiError not_found where there is no letter with the id
 */
export async function replayLetters({ id }: { id?: string }): Promise<void> {
  print(
    await withSession(async (session) => {
      const rowIds = id === undefined ? null : id.startsWith('table:') ? [id.slice(6)] : [];
      const rows = await replayDeadLetters(session.database, rowIds);
      const wanted = (letter: TopicLetter): boolean => id === undefined || idOf(letter) === id;
      const sent = id?.startsWith('table:')
        ? null
        : await withTopic(session, async (topic) => {
            const letters = (await topic.list()).filter(wanted);
            const count = await topic.send(letters);
            if (count > 0) await session.database.transaction((sql) => recordReplay(sql, count));
            if (id === undefined) await topic.done();
            return { found: letters.length, count };
          });
      if (id !== undefined && rows === 0 && !sent?.found) throw notFound('Dead letter not found');
      return { replayed: rows + (sent?.count ?? 0) };
    }),
  );
}
