import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { sanitised, startRecorder, type Recorder } from '../support/recording.js';
import { scriptedModel } from '../support/scripted-model.js';
import { startPenstock, type TestServer } from '../support/server.js';

/**
 * Real clients, installed by `npm run clients`, against a scripted model behind Penstock: each calls a tool and ends with what the tool said.
 * RECORD_SESSIONS=1 keeps what Codex and Claude Code sent as the fixtures of `test/v1/recorded-sessions.test.ts`.
 */
const INSTALLED = fileURLToPath(new URL('../../.cache/clients', import.meta.url));
const PROGRAMS = fileURLToPath(new URL('../clients/programs', import.meta.url));
const FIXTURES = fileURLToPath(new URL('../support/fixtures/sessions', import.meta.url));
const PYTHON = join(INSTALLED, 'python', 'bin', 'python');

const isRequired = process.env['REQUIRE_CLIENTS'] === '1';
const isInstalled = existsSync(join(INSTALLED, '.installed-package-lock.json'));
const hasPython = existsSync(join(INSTALLED, '.installed-requirements.txt'));
if (!isInstalled && !isRequired) console.warn('clients.test.ts: skipped, `npm run clients` was not run');
else if (!hasPython) console.warn('clients.test.ts: the Python clients are skipped, they are not installed');

const MAKE = 'echo high-tide > made.txt && cat made.txt';

let server: TestServer;
let upstream: FakeUpstream;
let recorder: Recorder;
let key: string;

beforeAll(async () => {
  if (!isInstalled && !isRequired) return;
  expect(isInstalled, 'the clients are not installed: npm run clients').toBe(true);
  await cp(PROGRAMS, join(INSTALLED, 'programs'), { recursive: true });
  upstream = await startFakeUpstream();
  upstream.always(
    scriptedModel([
      { name: 'look_up', args: { place: 'Lisbon' } },
      { name: 'exec_command', args: { cmd: MAKE } },
      { name: 'shell_command', args: { command: MAKE } },
      { name: 'Bash', args: { command: MAKE, description: 'Makes the file' } },
    ]),
  );
  const provider = { kind: 'openai-compatible', baseUrl: upstream.baseUrl, apiKey: 'k' };
  const model = { type: 'chat', tier: 'basic', upstreamId: 'm', contextWindow: 200_000 };
  server = await startPenstock({
    providers: {
      providers: [
        { id: 'acme', ...provider, models: [{ id: 'acme/chat', ...model }] },
        {
          id: 'nat',
          ...provider,
          dialects: ['responses', 'messages'],
          models: [{ id: 'nat/chat', ...model }],
        },
      ],
    },
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg());
  recorder = await startRecorder(server.origin);
});
afterAll(async () => {
  await recorder?.close();
  await server?.close();
  await upstream?.close();
});
beforeEach(() => {
  if (recorder === undefined) return;
  upstream.requests.length = 0;
  recorder.requests.length = 0;
});

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end, with no more of this process's environment than it needs to start. */
function run(
  program: string,
  args: string[],
  { env = {}, cwd }: { env?: Record<string, string>; cwd?: string },
) {
  return new Promise<Ended>((resolve) => {
    const base = { PATH: process.env['PATH'] ?? '', NO_COLOR: '1' };
    const options = { env: { ...base, ...env }, cwd, timeout: 120_000, maxBuffer: 64 << 20 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : ((error.code as number | undefined) ?? null), stdout, stderr });
    });
    child.stdin?.end();
  });
}

interface Told {
  way: string;
  text?: string;
  fault?: string;
  calls: string[];
}

describe.skipIf(!isInstalled && !isRequired).each(['acme/chat', 'nat/chat'])(
  'a tool loop with %s',
  (model) => {
    const programs = [
      ['openai.mjs', 4],
      ['anthropic.mjs', 2],
      ['ai-sdk.mjs', 6],
      ['openai-agents.mjs', 4],
      ['langchain.mjs', 6],
      ...(hasPython ? [['makers.py', 6] as const] : []),
    ] as const;

    it.each(programs)('comes to its end in every way of %s', async (program, ways) => {
      const env = { PENSTOCK_ORIGIN: server.origin, PENSTOCK_KEY: key, PENSTOCK_MODEL: model };
      const runtime = program.endsWith('.py') ? PYTHON : process.execPath;
      const { stdout, stderr } = await run(runtime, [join(INSTALLED, 'programs', program)], { env });
      const told = stdout
        .split('\n')
        .filter((line) => line.startsWith('{"way"'))
        .map((line) => JSON.parse(line) as Told);
      expect(
        told.map(({ way }) => way),
        stderr,
      ).toHaveLength(ways);
      expect(told.filter(({ fault }) => fault !== undefined)).toEqual([]);
      for (const { way, text, calls } of told) {
        expect([way, text]).toEqual([way, expect.stringContaining('High tide at Lisbon is at noon.')]);
        expect([way, calls]).toEqual([way, ['Lisbon']]);
      }
    });

    /** A home and a project of the client's own. */
    async function inFolders(
      work: (folders: { home: string; project: string }) => Promise<void>,
    ): Promise<void> {
      const folder = await mkdtemp(join(tmpdir(), 'penstock-client-'));
      const [home, project] = [join(folder, 'home'), join(folder, 'project')];
      await mkdir(home);
      await mkdir(project);
      try {
        await work({ home, project });
        expect(await readFile(join(project, 'made.txt'), 'utf8')).toBe('high-tide\n');
      } finally {
        await rm(folder, { recursive: true, force: true, maxRetries: 3 });
      }
    }

    async function keep(name: string, folders: { home: string; project: string }): Promise<void> {
      if (process.env['RECORD_SESSIONS'] !== '1' || model !== 'acme/chat') return;
      const words = {
        [folders.project]: '/home/user/project',
        [folders.home]: '/home/user',
        [recorder.origin]: 'http://127.0.0.1:4000',
        [key]: 'sk_sanitised',
      };
      const session = sanitised({ client: name, requests: recorder.requests }, words);
      await mkdir(FIXTURES, { recursive: true });
      await writeFile(join(FIXTURES, `${name}.json`), `${JSON.stringify(session, null, 1)}\n`);
    }

    it('comes to its end in Codex', async () => {
      await inFolders(async (folders) => {
        const config = [
          `model = "${model}"`,
          'model_provider = "penstock"',
          '[model_providers.penstock]',
          'name = "Penstock"',
          `base_url = "${recorder.origin}/v1"`,
          'env_key = "PENSTOCK_KEY"',
          'wire_api = "responses"',
        ];
        await writeFile(join(folders.home, 'config.toml'), config.join('\n'));
        const cli = join(INSTALLED, 'node_modules', '@openai', 'codex', 'bin', 'codex.js');
        const args = ['exec', '--json', '--skip-git-repo-check', '-s', 'danger-full-access', 'Make made.txt'];
        const env = { HOME: folders.home, CODEX_HOME: folders.home, PENSTOCK_KEY: key };
        const ended = await run(process.execPath, [cli, ...args], { env, cwd: folders.project });
        expect([ended.code, ended.stderr.slice(-2000)]).toEqual([0, expect.anything()]);
        expect(ended.stdout).toContain('"type":"turn.completed"');
        expect(ended.stdout).toMatch(/The tool said: .*high-tide/);
        expect(recorder.statusesOf('/v1/')).toEqual(new Set([200]));
        await keep('codex', folders);
      });
    });

    it('comes to its end in Claude Code', async () => {
      await inFolders(async (folders) => {
        const cli = join(INSTALLED, 'node_modules', '@anthropic-ai', 'claude-code', 'cli-wrapper.cjs');
        const args = ['-p', 'Make made.txt', '--output-format', 'json', '--allowedTools', 'Bash'];
        const env = {
          HOME: folders.home,
          CLAUDE_CONFIG_DIR: folders.home,
          ANTHROPIC_BASE_URL: recorder.origin,
          ANTHROPIC_AUTH_TOKEN: key,
          ANTHROPIC_MODEL: model,
          ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        };
        const ended = await run(process.execPath, [cli, ...args], { env, cwd: folders.project });
        expect([ended.code, ended.stderr.slice(-2000), ended.stdout.slice(-2000)]).toEqual([
          0,
          expect.anything(),
          expect.stringMatching(/The tool said: .*high-tide/),
        ]);
        expect(recorder.statusesOf('/v1/')).toEqual(new Set([200]));
        await keep('claude-code', folders);
      });
    });
  },
);
