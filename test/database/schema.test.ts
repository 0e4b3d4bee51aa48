import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject, it, onTestFinished } from 'vitest';
import { MIGRATION_NAMES } from '../../migrations/names.js';
import { dumpSchema } from '../../scripts/schema-dump.mjs';
import { includesOf } from '../../scripts/sql-files.mjs';
import { BUCKETS } from '../../src/contract/words.js';
import { cloneDatabase, databaseUrl, onServer } from '../support/database.js';

const FOLDER = join(import.meta.dirname, '../../migrations');
const read = (path: string): Promise<string> => readFile(join(FOLDER, path), 'utf8');

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

async function migrated(): Promise<pg.Client> {
  const { url, drop } = await cloneDatabase();
  onTestFinished(drop);
  return connect(url);
}

async function empty(): Promise<pg.Client> {
  const server = inject('databaseServer');
  const name = `penstock_test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  onTestFinished(() => onServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  return connect(databaseUrl(server, name));
}

/** The files of `current/`, in the order in which migrations came to have them. */
async function sources(): Promise<string[]> {
  const texts = await Promise.all(MIGRATION_NAMES.map((name) => read(`${name}.sql`)));
  const paths = texts.flatMap(includesOf).map((path) => path.replace(/^replaced\/\w+\//, 'current/'));
  return [...new Set(paths)];
}

/** Runs files in the order in which they can be run: what needs a later one waits for it. */
async function runAll(client: pg.Client, files: readonly string[]): Promise<void> {
  let waiting = files;
  for (;;) {
    const failed: { file: string; error: unknown }[] = [];
    for (const file of waiting)
      await client.query(await read(file)).catch((error: unknown) => failed.push({ file, error }));
    if (failed.length === 0) return;
    if (failed.length === waiting.length) throw failed[0]?.error;
    waiting = failed.map(({ file }) => file);
  }
}

it('migrations/schema.sql is the schema that the migrations make', async () => {
  expect(await dumpSchema(await migrated()), 'run `npm run migrations` and commit it').toBe(
    await read('schema.sql'),
  );
});

it('what the migrations make, table by table and function by function, is what migrations/current says', async () => {
  const client = await empty();
  await runAll(client, await sources());
  const said = await dumpSchema(client, { sortColumns: true });
  expect(await dumpSchema(await migrated(), { sortColumns: true })).toBe(said);
});

it('the database has the buckets of the code, in the same order', async () => {
  const { rows } = await (await migrated()).query('SELECT penstock_bucket_names() AS names');
  expect(rows).toEqual([{ names: [...BUCKETS] }]);
});
