import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SETTING_NAMES } from '../../src/config/index.js';
import { NATIVE_PROVIDERS } from '../../src/providers/native/registry.js';

const START = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'env-file-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A start that its configuration ends: nothing is opened. */
async function run(
  env: Record<string, string>,
  args: string[] = [START],
): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 20_000,
  });
  let stderr = '';
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { code, stderr };
}

test('a start reads .env of its folder; what the environment sets wins; ENV_FILE names another file, or none', async () => {
  await writeFile(join(folder, '.env'), 'PORT=many\nLOG_LEVEL=loud\n');
  const both = await run({});
  expect(both.code).toBe(1);
  expect(both.stderr).toContain('PORT: must be a whole number');
  expect(both.stderr).toContain('LOG_LEVEL: must be one of');
  const won = await run({ PORT: '0' });
  expect(won.stderr).not.toContain('PORT:');
  expect(won.stderr).toContain('LOG_LEVEL: must be one of');
  const none = await run({ ENV_FILE: '' });
  expect(none.stderr).not.toMatch(/PORT:|LOG_LEVEL:/);
  expect(none.stderr).toContain('PUBLIC_URL: is required with DATABASE_URL');
  await writeFile(join(folder, 'other.env'), 'SYNC_TIMEOUT_MS=soon\n');
  const other = await run({ ENV_FILE: 'other.env' });
  expect(other.stderr).toContain('SYNC_TIMEOUT_MS: must be a whole number');
  expect(other.stderr).not.toContain('LOG_LEVEL:');
});

test('a file that was named and is not there ends the start', async () => {
  const { code, stderr } = await run({ ENV_FILE: 'absent.env' });
  expect(code).toBe(1);
  expect(stderr).toContain('absent.env');
});

test('the command line reads it too', async () => {
  await writeFile(join(folder, '.env'), 'DATABASE_POOL_SIZE=none\n');
  const { code, stderr } = await run({}, [CLI, 'org', 'list']);
  expect(code).toBe(1);
  expect(stderr).toContain('DATABASE_POOL_SIZE: must be a whole number');
});

test('.env.example names every setting and every provider’s variables, and nothing else', async () => {
  const text = await readFile(new URL('../../.env.example', import.meta.url), 'utf8');
  const named = [...text.matchAll(/^# ([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name);
  const providers = NATIVE_PROVIDERS.flatMap(({ variables }) => variables);
  expect([...new Set(named)]).toHaveLength(named.length);
  expect(named.sort()).toEqual([...SETTING_NAMES, ...providers].sort());
});
