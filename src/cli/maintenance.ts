import { recordChange } from '../audit/index.js';
import type { AuditAction, AuditFields } from '../audit/index.js';
import { loadConfig } from '../config/index.js';
import { migrate, useEmbeddedPostgres } from '../database/index.js';
import { createTopics } from '../events/index.js';
import { createCliLogger, withSession } from './session.js';

/** What was done to the installation itself, once it is done: no transaction of the database holds it. */
const record = (action: AuditAction, after: AuditFields): Promise<void> =>
  withSession(({ database }) =>
    database.transaction((sql) => recordChange(sql, { orgId: null, action, subject: { id: null }, after })),
  );

/** @returns names of the migrations that were applied now */
export async function runMigrations(): Promise<{ applied: string[] }> {
  const applied = await applyMigrations();
  if (applied.length > 0) await record('database_migrated', { applied });
  return { applied };
}

async function applyMigrations(): Promise<string[]> {
  const { database, dataDir } = loadConfig();
  const logger = createCliLogger();
  if (database.url !== null) return await migrate({ url: database.url, logger });
  const embedded = await useEmbeddedPostgres({ dataDir, logger });
  try {
    return await migrate({ url: embedded.url, logger });
  } finally {
    await embedded.release();
  }
}

/** @throws Error without KAFKA_BROKERS */
export async function createKafkaTopics(): Promise<{ topics: string[] }> {
  const { kafka } = loadConfig();
  if (kafka === null) throw new Error('KAFKA_BROKERS is not set');
  const topics = await createTopics(kafka, createCliLogger());
  if (topics.length > 0) await record('topics_created', { topics });
  return { topics };
}
