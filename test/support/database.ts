import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import { entities } from '../../src/boot/entities.js';
import type { Config } from '../../src/config/index.js';
import { loadConfig } from '../../src/config/index.js';
import { createDatabase } from '../../src/database/index.js';
import type { Database } from '../../src/database/index.js';

/** Migrated once for each run; every test file's database is a copy of it. */
export const TEMPLATE_DATABASE = 'penstock_template';

export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** The database of one test file. */
export interface TestDatabase {
  /** A value for `DATABASE_URL` of a real process. */
  url: string;
  database: Database;
  config: Config;
  close(): Promise<void>;
}

/** Runs one statement on a server's own database. */
export async function onServer(serverUrl: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** An empty, migrated database without a connection to it. */
export async function cloneDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const server = inject('databaseServer');
  const name = `penstock_test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE_DATABASE} STRATEGY FILE_COPY`);
  return {
    url: databaseUrl(server, name),
    drop: () => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** @param env further variables of the configuration */
export async function createTestDatabase(env: Record<string, string> = {}): Promise<TestDatabase> {
  const clone = await cloneDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'penstock-test-'));
  const config = loadConfig({
    DATABASE_URL: clone.url,
    PUBLIC_URL: 'http://127.0.0.1:4000',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'silent',
    ...env,
  });
  const database = await createDatabase({ config, logger: pino({ level: config.logLevel }), entities });
  return {
    url: clone.url,
    database,
    config,
    async close() {
      await database.close();
      await clone.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
