import { randomBytes } from 'node:crypto';
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { makeRunFolder } from './layout.js';
import type { Layout } from './layout.js';

const START_TIMEOUT_MS = 60_000;
const LOG_LIMIT_BYTES = 10 * 2 ** 20;

/** Kept small: a laptop shares its memory with it. Durability stays PostgreSQL's default. */
const SETTINGS = [
  'listen_addresses=',
  'unix_socket_permissions=0700',
  'max_connections=200',
  'shared_buffers=64MB',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=512MB',
  'io_method=sync',
  'jit=off',
  'max_parallel_workers_per_gather=0',
  'log_min_messages=warning',
  'log_checkpoints=off',
  'TimeZone=UTC',
];

/** initdb's own name for the owner of the cluster and its database. */
export const SERVER_USER = 'penstock';

interface PidFile {
  pid: number;
  ready: boolean;
}

async function readPidFile(layout: Layout): Promise<PidFile | null> {
  const text = await readFile(join(layout.cluster, 'postmaster.pid'), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    },
  );
  const lines = text?.split('\n') ?? [];
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : null;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A pid may have been given to another process (containers count from 1), and a zombie still answers signals: Linux tells them apart. */
async function worksHere(layout: Layout, pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return isAlive(pid);
  try {
    const [folder, cluster, name] = await Promise.all([
      stat(`/proc/${pid}/cwd`),
      stat(layout.cluster),
      readFile(`/proc/${pid}/comm`, 'utf8'),
    ]);
    return folder.ino === cluster.ino && folder.dev === cluster.dev && name.trim() === 'postgres';
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Children of a killed postmaster linger for a moment; the next server must not start beside them. */
async function hasOrphans(layout: Layout): Promise<boolean> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  return (await Promise.all(pids.map((pid) => worksHere(layout, pid)))).includes(true);
}

/** PostgreSQL itself only asks whether some process has the pid, and would refuse to start for ever. */
async function removeStalePidFile(layout: Layout): Promise<void> {
  if (process.platform !== 'linux' || (await hasOrphans(layout))) return;
  await rm(join(layout.cluster, 'postmaster.pid'), { force: true });
}

const DRAFT = '.init-';

/** What first starts that were killed have left. */
async function removeDeadDrafts(layout: Layout): Promise<void> {
  const prefix = `${basename(layout.cluster)}${DRAFT}`;
  for (const name of await readdir(dirname(layout.cluster))) {
    const pid = Number(name.startsWith(prefix) ? name.slice(prefix.length).split('-')[0] : NaN);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    await rm(join(dirname(layout.cluster), name), { recursive: true, force: true });
  }
}

/** Made aside and moved into place, so that of several first starts one wins and none sees half a cluster. */
export async function ensureCluster(layout: Layout): Promise<void> {
  if (existsSync(join(layout.cluster, 'PG_VERSION'))) return;
  await removeDeadDrafts(layout);
  const draft = `${layout.cluster}${DRAFT}${process.pid}-${randomBytes(4).toString('hex')}`;
  await mkdir(draft, { mode: 0o700 });
  if (layout.account) await chown(draft, layout.account.uid, layout.account.gid);
  const folder = layout.clusterArgument === layout.cluster ? draft : layout.clusterArgument;
  const args = [
    '-D',
    folder,
    '-U',
    SERVER_USER,
    '--auth-local=trust',
    '--auth-host=reject',
    '-E',
    'UTF8',
    '--locale=C',
    '--sync-method=fsync',
  ];
  try {
    await promisify(execFile)(join(layout.binaries, 'initdb'), args, {
      ...layout.account,
      cwd: draft,
      env: serverEnvironment(),
    });
    await rename(draft, layout.cluster);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!existsSync(join(layout.cluster, 'PG_VERSION'))) throw error;
  }
}

const serverEnvironment = (): NodeJS.ProcessEnv => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
});

async function openLog(layout: Layout): Promise<{ fd: number; close(): Promise<void> }> {
  const size = await stat(layout.log).then(
    (found) => found.size,
    () => 0,
  );
  return open(layout.log, size > LOG_LIMIT_BYTES ? 'w' : 'a', 0o600);
}

async function launch(layout: Layout, settings: string[]): Promise<ChildProcess> {
  await makeRunFolder(layout);
  const log = await openLog(layout);
  const options = [...SETTINGS, `unix_socket_directories=${layout.run}`, ...settings].flatMap((setting) => [
    '-c',
    setting,
  ]);
  // A session of its own: Ctrl-C in the terminal must not reach PostgreSQL before Penstock has drained.
  const child = spawn(join(layout.binaries, 'postgres'), ['-D', layout.clusterArgument, ...options], {
    ...layout.account,
    cwd: layout.cluster,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: serverEnvironment(),
  });
  child.on('error', () => child.emit('exit', -1, null));
  child.unref();
  await log.close();
  return child;
}

async function logTail(layout: Layout): Promise<string> {
  const text = await readFile(layout.log, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-5).join('\n');
}

/**
 * Starts the server where none runs, adopts a running one, and returns when it takes connections.
 * Several processes may do so at once: PostgreSQL's own lock file lets one of their servers live.
 */
export async function ensureServer(layout: Layout, settings: string[]): Promise<void> {
  let child: ChildProcess | null = null;
  let failures = 0;
  for (const deadline = performance.now() + START_TIMEOUT_MS; performance.now() < deadline; await sleep(20)) {
    const found = await readPidFile(layout);
    if (found !== null && (await worksHere(layout, found.pid))) {
      if (found.ready) return;
      continue;
    }
    if (child !== null) {
      if (child.exitCode === null && child.signalCode === null) continue;
      if (++failures >= 20) break;
      await sleep(200);
    }
    if (found !== null) await removeStalePidFile(layout);
    child = await launch(layout, settings);
  }
  throw new Error(
    `The embedded PostgreSQL does not start; the end of ${layout.log} says:\n${await logTail(layout)}`,
  );
}

/** Waits until the server has gone (someone else stops it). */
export async function awaitStopped(layout: Layout, timeoutMs: number): Promise<boolean> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(20)) {
    const found = await readPidFile(layout);
    if (found === null || !(await worksHere(layout, found.pid))) return true;
  }
  return false;
}
