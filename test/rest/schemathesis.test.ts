import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstallation } from '../support/installation.js';
import type { Installation } from '../support/installation.js';
import { spawnPenstock } from '../support/spawned.js';
import type { SpawnedServer } from '../support/spawned.js';

// The short run has a fixed choice of cases. The long one has all cases, and then others by chance for so many seconds of each kind:
//   SCHEMATHESIS_SECONDS=600 npx vitest run test/rest/schemathesis.test.ts

const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const SECONDS = process.env['SCHEMATHESIS_SECONDS'];

/** Where `npm run clients` puts it, or on the path. */
async function findProgram(): Promise<string | null> {
  const folders = [fromRoot('.cache/clients/python/bin'), ...(process.env['PATH'] ?? '').split(delimiter)];
  for (const folder of folders) {
    const program = join(folder, 'schemathesis');
    const isThere = await access(program).then(
      () => true,
      () => false,
    );
    if (isThere) return program;
  }
  if (process.env['REQUIRE_CLIENTS'] === '1')
    throw new Error('REQUIRE_CLIENTS=1, but schemathesis is not here');
  return null;
}

const MUCH = 1_000_000;
const KINDS = ['image_generations', 'image_edits', 'video_seconds', 'stt_seconds', 'music_tracks'];
const BUCKETS = ['credits', 'tts_chars', 'agent_runs', ...KINDS];
const WINDOWS = ['chat', 'image', 'image_edit', 'video', 'tts', 'stt', 'music'];
const of = <Value>(names: string[], value: Value) => Object.fromEntries(names.map((name) => [name, value]));

const program = await findProgram();
let installation: Installation;
let server: SpawnedServer;
let key: string;

beforeAll(async () => {
  if (program === null) return;
  installation = await createInstallation({
    plans: {
      plans: {
        business_monthly: {
          limits: of(BUCKETS, MUCH),
          rate: { rpm: MUCH, burst: MUCH },
          maxPendingJobs: 10_000,
          webhooks: { max: 10_000, customHeaders: true },
          agents: {
            maxAgents: 10_000,
            maxTools: 7,
            maxIterations: 20,
            maxKnowledgeFiles: 1000,
            maxKnowledgeFileMb: 25,
          },
        },
      },
      endpointLimits: of(WINDOWS, { limit: MUCH, windowSeconds: 60 }),
    },
  });
  // Its calls come from as many addresses: test/support/schemathesis_hooks.py.
  server = await spawnPenstock(installation, { env: { TRUST_PROXY: '127.0.0.1' } });
  ({ key } = await installation.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await server?.close();
  await installation?.close();
});

/** Runs it against an address of the server. @returns its exit code, and what it says */
function tryOut(path: string, phases: string): Promise<{ code: unknown; output: string }> {
  const command = ['--config-file', fromRoot('schemathesis.toml'), 'run'];
  const asCaller = [`${server.origin}${path}/openapi.json`, '-H', `Authorization: Bearer ${key}`];
  const what = ['--checks', 'all', '--phases', phases];
  // One worker: on two, Python 3.11's own parser fails now and then.
  const how = ['--workers', '1', '--seed', '1', '--no-color'];
  // Few examples of each operation, again and again, until the time is over.
  const howLong = phases === WHOLE ? [] : ['--max-examples', '5', '--max-time', String(SECONDS)];
  const hooks = { SCHEMATHESIS_HOOKS: fromRoot('test/support/schemathesis_hooks.py') };
  const env = { ...process.env, ...hooks, SCHEMATHESIS_SHORT: SECONDS === undefined ? '1' : '0' };
  const options = { cwd: installation.dataDir, env, maxBuffer: 100_000_000 };
  return new Promise((resolve) => {
    execFile(
      program!,
      [...command, ...asCaller, ...what, ...how, ...howLong],
      options,
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : (error.code ?? error.signal), output: stdout + stderr }),
    );
  });
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

async function countOperations(path: string): Promise<number> {
  const { paths } = (await (await fetch(`${server.origin}${path}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  return Object.values(paths)
    .flatMap((item) => Object.keys(item))
    .filter((method) => METHODS.includes(method)).length;
}

const numberIn = (output: string, pattern: RegExp) => Number(pattern.exec(output)?.[1] ?? 0);

const WHOLE = 'examples,coverage';
/** What comes by chance depends on how far a machine gets: it is for those who ask for it. */
const PHASES = [WHOLE, ...(SECONDS === undefined ? [] : ['fuzzing', 'stateful'])];
const FACES = [
  { path: '/api/v1', cases: 1500 },
  { path: '/v1', cases: 1000 },
];

test.skipIf(program === null).concurrent.each(FACES)(
  'schemathesis finds nothing at $path that the description and its configuration do not tell',
  { timeout: 2_000 * Number(SECONDS ?? 0) + 600_000 },
  async ({ path, cases }) => {
    const operations = await countOperations(path);
    for (const phases of PHASES) {
      const { code, output } = await tryOut(path, phases);
      expect(code, output).toBe(0);
      const tried = numberIn(output, /^\s*(\d+) generated, \d+ passed/m);
      expect(tried, output).toBeGreaterThanOrEqual(phases === WHOLE ? cases : 1);
      if (phases === WHOLE) expect(numberIn(output, /^\s*Tested: (\d+)/m), output).toBe(operations);
    }
  },
);
