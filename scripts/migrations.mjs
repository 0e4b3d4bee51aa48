/**
 * Migrations and what follows from them (migrations/README.md).
 *
 *   node scripts/migrations.mjs           keeps the released text of what was changed since, and writes migrations/schema.sql
 *   node scripts/migrations.mjs release   the same, and from now on every migration is released: its text never changes again
 *
 * `npm run check` calls {@link checkMigrations}.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withMigratedDatabase } from './migrated-database.mjs';
import { dumpSchema } from './schema-dump.mjs';
import { expand, includesOf, listSql, withoutIncludes } from './sql-files.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MIGRATIONS = join(root, 'migrations');
const NAME = /^\d{4}_\w+\.sql$/;
/** What a later migration must not say in its own words, because its text is in `current/`. */
const REFERRED = /CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE|TRIGGER)\s+\w+/gi;
/** A file that can run once only. Later migrations change what it made by ALTER, and a test compares the outcomes. */
const RUNS_ONCE = /^CREATE (?:UNLOGGED )?(?:TABLE|TYPE|SEQUENCE)\b/m;

/** The same text without the comments and blank lines of its first column: those may be mended at any time. */
const essence = (text) =>
  text
    .split('\n')
    .filter((line) => !/^--|^\s*$/.test(line))
    .join('\n');

const checksum = (text) => createHash('sha256').update(essence(text)).digest('hex');

/** `{name, text}` of each migration, in their order. */
async function readMigrations(folder) {
  const files = (await readdir(folder)).filter((file) => NAME.test(file)).sort();
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace(/\.sql$/, ''),
      text: await readFile(join(folder, file), 'utf8'),
    })),
  );
}

const readIn = (folder) => (path) => readFile(join(folder, path), 'utf8');

async function readReleased(folder) {
  const text = await readFile(join(folder, 'released.json'), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return '{}';
    throw error;
  });
  return JSON.parse(text);
}

/** The file of `current/` whose text, then or now, an included file is. */
const currentOf = (path) => path.replace(/^replaced\/\w+\//, 'current/');

/** Released migrations whose text is another now. */
async function changedReleases(folder, migrations) {
  const changed = [];
  for (const [name, released] of Object.entries(await readReleased(folder))) {
    const migration = migrations.find((one) => one.name === name);
    const text = migration && (await expand(migration.text, readIn(folder)));
    if (text === undefined || checksum(text) !== released) changed.push({ name, released, migration });
  }
  return changed;
}

/** Every file of `current/` is brought by a migration, as it is now. */
async function staleSources(folder, migrations) {
  const last = new Map();
  for (const { name, text } of migrations)
    for (const path of includesOf(text)) last.set(currentOf(path), { name, path });
  const faults = [];
  for (const file of await listSql(join(folder, 'current'))) {
    const source = `current/${file}`;
    const use = last.get(source);
    if (use === undefined)
      faults.push(`migrations/${source} is in no migration: name it in one by the line \`\\ir ${source}\``);
    else if (use.path !== source && !RUNS_ONCE.test(await readIn(folder)(source)))
      faults.push(
        `migrations/${source} was changed, and the last migration that has it (${use.name}) has its text of then: name it in a later migration by the line \`\\ir ${source}\``,
      );
  }
  return faults;
}

/** @returns {Promise<{faults: string[]}>} released text that changed; text that no migration brings. */
export async function checkMigrations(folder = MIGRATIONS) {
  const migrations = await readMigrations(folder);
  const listed = [...(await readFile(join(folder, 'names.ts'), 'utf8')).matchAll(/'(\d{4}_\w+)'/g)].map(
    ([, name]) => name,
  );
  const faults = [];
  if (listed.join() !== migrations.map(({ name }) => name).join())
    faults.push('migrations/names.ts does not list the files of migrations/ in their order');
  for (const { name, migration } of await changedReleases(folder, migrations))
    faults.push(
      migration === undefined
        ? `migrations/${name}.sql was released and is gone: put it back`
        : `migrations/${name}.sql was released, and its text is another now. If you changed a file of migrations/current, run \`npm run migrations\`: it keeps the released text, and the new one comes by a later migration. If you edited the migration itself, undo that and write a later one (migrations/README.md).`,
    );
  for (const { name, text } of migrations)
    for (const [words] of withoutIncludes(text).matchAll(REFERRED))
      faults.push(
        `migrations/${name}.sql: ${words.replace(/\s+/g, ' ')} belongs into a file of migrations/current, which the migration names by \`\\ir\``,
      );
  faults.push(...(await staleSources(folder, migrations)));
  return { faults };
}

async function git(folder, ...args) {
  const { stdout } = await promisify(execFile)('git', args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/** Reads files of a revision. */
const readAt = (folder, revision) => (path) => git(folder, 'show', `${revision}:./${path}`);

/** How to read the files as they were when the migration had its released text. */
async function readerOfRelease(folder, { name, released }) {
  const revisions = (await git(folder, 'rev-list', 'HEAD', '--', '.')).split('\n').filter(Boolean);
  for (const revision of revisions) {
    const read = readAt(folder, revision);
    const text = await read(`${name}.sql`)
      .then((migration) => expand(migration, read))
      .catch(() => undefined);
    if (text !== undefined && checksum(text) === released) return read;
  }
  throw new Error(`No revision of migrations/${name}.sql has the released text`);
}

/** Puts the released text of files that were changed since into `replaced/`, where the released migrations then find it. */
export async function keepReleased(folder = MIGRATIONS) {
  for (const one of await changedReleases(folder, await readMigrations(folder))) {
    const { name, released, migration } = one;
    if (migration === undefined)
      throw new Error(`migrations/${name}.sql was released and is gone: put it back`);
    const before = await readerOfRelease(folder, one);
    const kept = new Map();
    for (const path of includesOf(migration.text).filter((included) => included.startsWith('current/'))) {
      const text = await before(path).catch(() => undefined); // a line that was added later
      const now = await readIn(folder)(path).catch(() => '');
      if (text !== undefined && essence(text) !== essence(now))
        kept.set(path.replace(/^current\//, `replaced/${name}/`), text);
    }
    let { text } = migration;
    for (const path of kept.keys())
      text = text.replace(`\\ir ${path.replace(`replaced/${name}/`, 'current/')}\n`, `\\ir ${path}\n`);
    const read = async (path) => kept.get(path) ?? (await readIn(folder)(path));
    if (checksum(await expand(text, read)) !== released)
      throw new Error(`migrations/${name}.sql was released and has been edited itself: undo that`);
    for (const [path, original] of kept) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), original);
    }
    await writeFile(join(folder, `${name}.sql`), text);
  }
}

/** From now on every migration is released. */
export async function release(folder = MIGRATIONS) {
  const released = {};
  for (const { name, text } of await readMigrations(folder))
    released[name] = checksum(await expand(text, readIn(folder)));
  await writeFile(join(folder, 'released.json'), `${JSON.stringify(released, null, 2)}\n`);
}

/** The schema that the migrations make. */
async function renderSchema() {
  const { default: pg } = await import('pg');
  return await withMigratedDatabase(async ({ url }) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return await dumpSchema(client);
    } finally {
      await client.end();
    }
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await keepReleased();
  if (process.argv.includes('release')) await release();
  await writeFile(join(MIGRATIONS, 'schema.sql'), await renderSchema());
  const { faults } = await checkMigrations();
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
