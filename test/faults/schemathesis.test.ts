import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstallation } from '../support/installation.js';
import type { Installation } from '../support/installation.js';
import { spawnPenstock } from '../support/spawned.js';
import type { SpawnedServer } from '../support/spawned.js';

const fromRoot = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Where `.ci/run` puts it, or on the path. */
async function findProgram(): Promise<string | null> {
  const folders = [fromRoot('.cache/schemathesis/bin'), ...(process.env['PATH'] ?? '').split(delimiter)];
  for (const folder of folders) {
    const program = join(folder, 'schemathesis');
    const isThere = await access(program).then(
      () => true,
      () => false,
    );
    if (isThere) return program;
  }
  if (process.env['REQUIRE_SCHEMATHESIS'] === '1')
    throw new Error('REQUIRE_SCHEMATHESIS=1, but schemathesis is not here');
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
  server = await spawnPenstock(installation);
  ({ key } = await installation.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await server?.close();
  await installation?.close();
});

test.skipIf(program === null)(
  'schemathesis finds nothing that the description and its configuration do not tell',
  { timeout: 1_200_000 },
  async () => {
    // One worker: on two, Python 3.11's own parser fails now and then.
    const flags = [
      '--checks',
      'all',
      '--phases',
      'examples,coverage',
      '--workers',
      '1',
      '--seed',
      '1',
      '--no-color',
    ];
    const asCaller = ['-H', `Authorization: Bearer ${key}`];
    const command = [
      '--config-file',
      fromRoot('schemathesis.toml'),
      'run',
      `${server.origin}/api/v1/openapi.json`,
    ];
    const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
      const options = { cwd: installation.dataDir, maxBuffer: 100_000_000, timeout: 1_100_000 };
      execFile(program!, [...command, ...asCaller, ...flags], options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : (error.code ?? error.signal), output: stdout + stderr }),
      );
    });
    expect(code, output).toBe(0);
    expect(output).toMatch(/^\s*\d{3,} generated, \d{3,} passed/m);
  },
);
