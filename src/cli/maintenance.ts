import { loadConfig } from '../config/index.js';
import { migrate, useEmbeddedPostgres } from '../database/index.js';
import { createTopics } from '../events/index.js';
import { createCliLogger } from './session.js';

/** @returns names of the migrations that were applied now */
export async function runMigrations(): Promise<{ applied: string[] }> {
  const { database, dataDir } = loadConfig();
  const logger = createCliLogger();
  if (database.url !== null) return { applied: await migrate({ url: database.url, logger }) };
  const embedded = await useEmbeddedPostgres({ dataDir, logger });
  try {
    return { applied: await migrate({ url: embedded.url, logger }) };
  } finally {
    await embedded.release();
  }
}

/** @throws Error without KAFKA_BROKERS */
export async function makeTopics(): Promise<{ topics: string[] }> {
  const { kafka } = loadConfig();
  if (kafka === null) throw new Error('KAFKA_BROKERS is not set');
  return { topics: await createTopics(kafka, createCliLogger()) };
}
