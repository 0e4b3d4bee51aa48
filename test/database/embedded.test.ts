import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { bundle } from '../../scripts/build.mjs';

// Real processes, each with a start of its own, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const root = resolve(import.meta.dirname, '../..');
let bundles: string;
let dataDir: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  await mkdir(join(root, 'dist'), { recursive: true });
  bundles = await mkdtemp(join(root, 'dist', '.test-'));
  await bundle(['test/support/embedded-user.ts'], bundles);
});
afterAll(() => rm(bundles, { recursive: true, force: true }));
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'penstock-embedded-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await expect.poll(processesOfCluster, { timeout: 15_000 }).toEqual([]);
  await rm(dataDir, { recursive: true, force: true });
});

/** Names of the processes that work in the cluster's folder: the server's, and its keeper. */
async function processesOfCluster(): Promise<string[]> {
  const cluster = await stat(join(dataDir, 'postgres')).catch(() => null);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const names = await Promise.all(
    pids.map(async (pid) => {
      const folder = await stat(`/proc/${pid}/cwd`).catch(() => null);
      if (cluster === null || folder?.ino !== cluster.ino || folder.dev !== cluster.dev) return null;
      return (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim();
    }),
  );
  return names.filter((name): name is string => name !== null && name !== 'sleep');
}

const serverPid = async (): Promise<number> =>
  Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);

interface User {
  url: string;
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

async function startUser(): Promise<User> {
  const child = spawn(process.execPath, [join(bundles, 'embedded-user.js'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    url: chunk.toString().trim(),
    async kill(signal) {
      const exit = once(child, 'exit') as Promise<[number | null]>;
      child.kill(signal);
      return (await exit)[0];
    },
  };
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test('first starts at the same moment share one server, and the last of its users stops it', async () => {
  const users = await Promise.all([startUser(), startUser(), startUser()]);
  const pid = await serverPid();
  expect(new Set(users.map((user) => user.url)).size).toBe(1);
  expect(await users[0]?.kill('SIGTERM')).toBe(0);
  expect(await users[1]?.kill('SIGTERM')).toBe(0);
  expect(await serverPid()).toBe(pid);
  expect(await query(users[2]?.url ?? '', 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  expect(await users[2]?.kill('SIGTERM')).toBe(0);
  expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
  await expect.poll(processesOfCluster).toEqual([]);
});

test('the server outlives the SIGKILL of the process that started it, and the next user adopts it', async () => {
  const first = await startUser();
  const second = await startUser();
  const pid = await serverPid();
  await query(first.url, 'CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)');
  await first.kill('SIGKILL');
  const third = await startUser();
  expect(await serverPid()).toBe(pid);
  expect(await query(third.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
  await second.kill('SIGTERM');
  expect(await third.kill('SIGTERM')).toBe(0);
});

test('nothing is left running after the SIGKILL of the last user, and what was committed is there at the next start', async () => {
  const user = await startUser();
  await query(user.url, 'CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)');
  await user.kill('SIGKILL');
  await expect.poll(processesOfCluster, { timeout: 10_000 }).toEqual([]);
  const next = await startUser();
  expect(await query(next.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
});

test.each([25, 50, 110])(
  'a start finds its server while the last user of another is still stopping it (told %i ms after)',
  async (delayMs) => {
    const first = await startUser();
    const [second] = await Promise.all([startUser(), sleep(delayMs).then(() => first.kill('SIGTERM'))]);
    expect(await query(second.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  },
);

test('a killed server and a pid file that names another process do not keep the next start from working', async () => {
  const user = await startUser();
  process.kill(await serverPid(), 'SIGKILL');
  await user.kill('SIGKILL');
  const next = await startUser();
  expect(await query(next.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
});

test('a keeper that was killed is replaced, so that still nothing is left running', async () => {
  const user = await startUser();
  await query(user.url, 'SELECT 1');
  const pids = await readdir('/proc');
  const keepers = await Promise.all(
    pids
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
        const run = new URL(user.url).searchParams.get('host') ?? '';
        return line.startsWith('/bin/sh\0') && line.includes(run) ? Number(pid) : null;
      }),
  );
  const found = keepers.filter((pid) => pid !== null);
  expect(found).toHaveLength(1);
  process.kill(found[0] ?? 0, 'SIGKILL');
  await expect.poll(processesOfCluster).not.toContain('sh');
  await expect.poll(processesOfCluster, { timeout: 15_000 }).toContain('sh'); // the user looks every 5 s
  await user.kill('SIGKILL');
  await expect.poll(processesOfCluster, { timeout: 10_000 }).toEqual([]);
});
