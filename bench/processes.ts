/** Child processes of the benchmark: started, measured through /proc, and all stopped at the end whatever happens. */
import { spawn, type ChildProcess } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const TICKS_PER_SECOND = 100;
/** The flags of `npm start`; the compared programs get them too. */
export const V8_FLAGS = ['--max-semi-space-size=32', '--no-allocation-site-pretenuring'];
const children = new Set<ChildProcess>();

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export interface StartOptions {
  args: string[];
  env?: Record<string, string>;
  /** The target of its stdout and stderr. */
  logFile: string;
  /** Whether it has a channel for messages. */
  talks?: boolean;
}

/** Starts a Node process on this Node. */
export function start({ args, env, logFile, talks = false }: StartOptions): ChildProcess {
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', log, log, ...(talks ? (['ipc'] as const) : [])],
  });
  children.add(child);
  child.on('exit', () => children.delete(child));
  return child;
}

/** Runs a Node process to its end and returns its stdout. */
export async function run(args: string[], env: Record<string, string> = {}): Promise<string> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (part: Buffer) => out.push(part));
  child.stderr.on('data', (part: Buffer) => err.push(part));
  const code = await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  children.delete(child);
  if (code !== 0)
    throw new Error(`${args.join(' ')} ended with ${String(code)}: ${Buffer.concat(err).toString()}`);
  return Buffer.concat(out).toString();
}

/** Waits until the address answers anything but a refused connection, at most 60 s. */
export async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000;
  let status = 0;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} ended with ${child.exitCode}`);
    const response = await fetch(url).catch(() => null);
    await response?.arrayBuffer();
    status = response?.status ?? 0;
    if (status > 0 && status < 500) return;
    await sleep(50);
  }
  throw new Error(`${url} did not answer, or with ${status}`);
}

/** The time in which a program must end by itself. */
const STOP_MS = 20_000;

/** Ends one process and waits for its end. */
export async function stopOne(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(kill);
}

/** Sends SIGTERM, and SIGKILL to processes that still run after 20 s. */
export async function stopAll(): Promise<void> {
  const all = [...children];
  for (const child of all) child.kill('SIGTERM');
  const deadline = Date.now() + STOP_MS;
  while (children.size > 0 && Date.now() < deadline) await sleep(50);
  for (const child of children) child.kill('SIGKILL');
}

function statOf(pid: number | string): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** User and system time of a process so far, milliseconds (fields 14 and 15 of /proc/<pid>/stat). */
export function cpuMs(pid: number): number {
  const fields = statOf(pid);
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/** The same for a process, its live children, and its ended children. */
export function treeCpuMs(pid: number): number {
  const fields = statOf(pid);
  const own = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  const live = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const ticks = live.reduce((sum, name) => {
    try {
      const child = statOf(name);
      return Number(child[1]) === pid ? sum + Number(child[11]) + Number(child[12]) : sum;
    } catch {
      return sum; // It ended between the listing and the reading.
    }
  }, own);
  return (ticks * 1000) / TICKS_PER_SECOND;
}

/** The first line of postmaster.pid, wherever the embedded server keeps it under the data folder. */
export async function postmasterOf(dataDir: string): Promise<number> {
  const files = await readdir(dataDir, { recursive: true });
  const file = files.find((name) => name.endsWith('postmaster.pid'));
  if (file === undefined) throw new Error(`no postmaster.pid under ${dataDir}`);
  return Number((await readFile(join(dataDir, file), 'utf8')).split('\n')[0]);
}
