import { execFile } from 'node:child_process';
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { checkMigrations, keepReleased, release } from '../../scripts/migrations.mjs';

const BASELINE = '0001_schema.sql';
const SOURCE = 'current/metering/windows.sql';

/** A released copy of the migrations in a repository of its own. */
async function copied(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-migrations-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(import.meta.dirname, '../../migrations'), folder, { recursive: true });
  await release(folder);
  const git = (...args: string[]) =>
    promisify(execFile)('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: folder,
    });
  await git('init', '-q');
  await git('add', '.');
  await git('commit', '-qm', 'released');
  return folder;
}

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(file, 'utf8');
  expect(change(text)).not.toBe(text);
  await writeFile(file, change(text));
}

const faultsOf = async (folder: string): Promise<string> => (await checkMigrations(folder)).faults.join('\n');
const changeWindows = (folder: string) =>
  edit(join(folder, SOURCE), (text) => text.replace('fresh int := p_wanted;', 'fresh int := p_wanted + 0;'));

async function addMigration(folder: string, sql: string): Promise<void> {
  await writeFile(join(folder, '0002_more.sql'), sql);
  await edit(join(folder, 'names.ts'), (text) => text.replace("'0001_schema'", "'0001_schema', '0002_more'"));
}

it('the migrations as they are have no fault', async () => {
  expect(await checkMigrations()).toEqual({ faults: [] });
});

it('a released migration that was edited fails the check, which says what to do', async () => {
  const folder = await copied();
  await appendFile(join(folder, BASELINE), '\nDROP TABLE files;\n');
  expect(await faultsOf(folder)).toMatch(/0001_schema\.sql was released, and its text is another now.*later/);
  await expect(keepReleased(folder)).rejects.toThrow('has been edited itself');
});

it('so does one that is gone', async () => {
  const folder = await copied();
  await rm(join(folder, BASELINE));
  await edit(join(folder, 'names.ts'), (text) => text.replace("'0001_schema'", ''));
  expect(await faultsOf(folder)).toContain('0001_schema.sql was released and is gone: put it back');
});

it('a changed source keeps its released text for the released migration, and must come by a later one', async () => {
  const folder = await copied();
  await changeWindows(folder);
  expect(await faultsOf(folder)).toContain('npm run migrations');
  await keepReleased(folder);
  expect(await readFile(join(folder, BASELINE), 'utf8')).toContain(
    '\\ir replaced/0001_schema/metering/windows.sql\n',
  );
  expect(await faultsOf(folder)).toBe(
    `migrations/${SOURCE} was changed, and the last migration that has it (0001_schema) has its text of then: name it in a later migration by the line \`\\ir ${SOURCE}\``,
  );
  await addMigration(folder, `\\ir ${SOURCE}\n`);
  expect(await faultsOf(folder)).toBe('');
});

it('a comment of a released source may be mended', async () => {
  const folder = await copied();
  await edit(join(folder, SOURCE), (text) => `-- More about it.\n\n${text}`);
  expect(await faultsOf(folder)).toBe('');
});

it('a migration takes functions and triggers from their sources, and says none itself', async () => {
  const folder = await copied();
  await addMigration(
    folder,
    `CREATE OR  REPLACE function penstock_x() RETURNS int LANGUAGE sql AS 'SELECT 1';\ncreate trigger t BEFORE INSERT ON files EXECUTE FUNCTION x();\n`,
  );
  const faults = await faultsOf(folder);
  expect(faults).toContain('CREATE OR REPLACE function penstock_x belongs into a file of migrations/current');
  expect(faults).toContain('create trigger t belongs into');
});

it('a source that no migration has is a fault', async () => {
  const folder = await copied();
  await writeFile(join(folder, 'current/files/new.sql'), 'CREATE TABLE new (id text);\n');
  expect(await faultsOf(folder)).toContain('migrations/current/files/new.sql is in no migration');
});

it('a migration that names.ts does not list is a fault', async () => {
  const folder = await copied();
  await writeFile(join(folder, '0002_more.sql'), 'SELECT 1;\n');
  expect(await faultsOf(folder)).toContain('names.ts does not list the files');
});
