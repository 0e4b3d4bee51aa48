/** The database for a part of the benchmark: the embedded server, as in an installation on one machine. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { loadConfig, type Config } from '../src/config/index.js';
import { newId } from '../src/contract/ids.js';
import { createDatabase, useEmbeddedPostgres, type Database } from '../src/database/index.js';

export const silent = pino({ level: 'silent' });

export interface BenchDatabase {
  /** The owner's URL, for peers with their own connections. */
  url: string;
  config: Config;
  database: Database;
}

/** Runs work on a migrated database in its own folder, and removes the folder. @param entities of services that administer people */
export async function withDatabase<T>(
  use: (bench: BenchDatabase) => Promise<T>,
  entities: Parameters<typeof createDatabase>[0]['entities'] = [],
): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), 'penstock-bench-data-'));
  try {
    const embedded = await useEmbeddedPostgres({ dataDir, logger: silent });
    const config = loadConfig({
      DATABASE_URL: embedded.url,
      PUBLIC_URL: 'http://127.0.0.1:4000',
      DATA_DIR: dataDir,
      ...(process.env['KAFKA_BROKERS'] ? { KAFKA_BROKERS: process.env['KAFKA_BROKERS'] } : {}),
    });
    const database = await createDatabase({ config, logger: silent, entities });
    try {
      return await use({ url: embedded.url, config, database });
    } finally {
      await database.close();
      await embedded.release();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** An organisation on a paid plan with an allowance that nothing here uses up. */
export async function addOrganisation(database: Database, orgId: string): Promise<void> {
  await database.system.query(
    `WITH org AS (
       INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ($1, $1, 'business_monthly', $2) RETURNING id)
     INSERT INTO users (id, org_id, kind) SELECT $2, id, 'service' FROM org`,
    [orgId, newId('usr')],
  );
  await database.system.query('SELECT penstock_balance_open($1, 1, $2)', [
    orgId,
    Array.from({ length: 9 }, () => 1_000_000_000_000),
  ]);
}
