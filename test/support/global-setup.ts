import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import pg from 'pg';
import { pino } from 'pino';
import { migrate, useEmbeddedPostgres } from '../../src/database/index.js';
import { TEMPLATE_DATABASE, databaseUrl } from './database.js';

/** Durability is off, because tests may lose their data in a power failure. */
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'max_connections=500', 'shared_buffers=128MB'];

interface Provider {
  provide(key: 'databaseServer', url: string): void;
}

declare module 'vitest' {
  interface ProvidedContext {
    databaseServer: string;
  }
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE_DATABASE} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  } finally {
    await client.end();
  }
  await migrate({ url: databaseUrl(serverUrl, TEMPLATE_DATABASE), logger: pino({ level: 'silent' }) });
}

/** The folder of files in memory on Linux. Every test file's database has about 400 new files, which a disk writes up to ten times more slowly. */
const IN_MEMORY = '/dev/shm';
const ENOUGH_BYTES = 4 * 1024 ** 3;

async function dataParent(): Promise<string> {
  const space = await statfs(IN_MEMORY).catch(() => null);
  return space !== null && space.bavail * space.bsize >= ENOUGH_BYTES ? IN_MEMORY : tmpdir();
}

/** One PostgreSQL for the whole run: `TEST_DATABASE_URL` (a server where databases may be created), else an embedded one. */
export async function setup({ provide }: Provider): Promise<() => Promise<void>> {
  const given = process.env['TEST_DATABASE_URL'];
  if (given !== undefined) {
    await makeTemplate(given);
    provide('databaseServer', given);
    return () => Promise.resolve();
  }
  const dataDir = await mkdtemp(join(await dataParent(), 'penstock-tests-'));
  const embedded = await useEmbeddedPostgres({
    dataDir,
    logger: pino({ level: 'silent' }),
    settings: SETTINGS,
  });
  await makeTemplate(embedded.url);
  provide('databaseServer', embedded.url);
  return async () => {
    await embedded.release();
    await rm(dataDir, { recursive: true, force: true });
  };
}
