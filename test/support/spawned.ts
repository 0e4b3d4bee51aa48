import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createTestClient, type TestClient } from './client.js';
import { childEnv, freePort, type Installation } from './installation.js';
import { eventually } from './wait.js';

/** The same flags as in `npm start` (docs/adr, 9). */
const FLAGS = ['--max-semi-space-size=32', '--no-allocation-site-pretenuring'];
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const PROBE = new URL('./loop-probe.mjs', import.meta.url).href;
const STOP_LIMIT_MS = 35_000;

/** A real process of an installation, started from `dist/`. */
export interface SpawnedServer extends TestClient {
  origin: string;
  port: number;
  process: ChildProcess;
  pid: number;
  /** Its output on stdout and stderr so far (`TEST_LOG=1` shows it immediately). */
  output(): string;
  /** Sends a signal and waits for the end (not for SIGSTOP and SIGCONT). @returns its exit code, null if a signal ended it */
  signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): Promise<number | null>;
  /** Sends the signal to all processes of its group, like Ctrl-C in a terminal. Needs `ownGroup`. */
  interrupt(): Promise<number | null>;
  pause(): void;
  resume(): void;
  /** Sends SIGTERM and waits for the end. @throws Error if it had to be killed */
  close(): Promise<void>;
}

export interface SpawnOptions {
  ownGroup?: boolean;
  role?: 'all' | 'api' | 'worker';
  env?: Record<string, string>;
  port?: number;
  /** Loads `loop-probe.mjs` first: see `loopHold`. */
  probe?: boolean;
}

/**
 * Starts `node dist/main.js` on an installation and waits until `/readyz` answers 200.
 * @throws Error with its output if it ends before
 */
export async function spawnPenstock(
  installation: Installation,
  options: SpawnOptions = {},
): Promise<SpawnedServer> {
  const port = options.port ?? (await freePort());
  const origin = `http://127.0.0.1:${port}`;
  const env = {
    ...installation.env,
    PUBLIC_URL: origin,
    ROLE: options.role ?? 'all',
    ...options.env,
    PORT: String(port),
  };
  const probed = options.probe === true;
  const flags = probed ? [...FLAGS, `--import=${PROBE}`] : FLAGS;
  const child = spawn(process.execPath, [...flags, MAIN], {
    env: childEnv(env),
    stdio: ['ignore', 'pipe', 'pipe', ...(probed ? (['ipc'] as const) : [])],
    detached: options.ownGroup === true,
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (part: Buffer) => {
      output.push(part.toString());
      if (process.env['TEST_LOG']) process.stderr.write(part);
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const client = createTestClient(origin);
  const signal: SpawnedServer['signal'] = (name) => {
    child.kill(name);
    return ended;
  };
  const server: SpawnedServer = {
    ...client,
    origin,
    port,
    process: child,
    pid: child.pid ?? 0,
    output: () => output.join(''),
    signal,
    interrupt() {
      process.kill(-child.pid!, 'SIGINT');
      return ended;
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async close() {
      await client.close();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      child.kill('SIGCONT');
      const code = await signal('SIGTERM');
      clearTimeout(timer);
      if (code === null)
        throw new Error(`the server did not stop within ${STOP_LIMIT_MS} ms:\n${output.join('')}`);
    },
  };
  await ready(server);
  return server;
}

async function ready(server: SpawnedServer): Promise<void> {
  const { process: child } = server;
  const answered = eventually(
    async () => {
      if (child.exitCode !== null || child.signalCode !== null) return 'ended';
      const response = await server.raw('/readyz', { method: 'GET' });
      await response.body.dump();
      return response.statusCode === 200 ? 'ready' : null;
    },
    { timeoutMs: 60_000, what: 'an answer of /readyz' },
  );
  const outcome = await answered.catch((error: unknown) => error);
  if (outcome === 'ready') return;
  await server.signal('SIGKILL');
  await server.close();
  throw new Error(`the server did not start:\n${server.output()}`, { cause: outcome });
}
