import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createAuthenticator, createPeopleService, createPlanCatalogue } from '../../src/access/index.js';
import { bundle } from '../../scripts/build.mjs';
import { pino } from 'pino';
import type { Check } from '../../src/cli/doctor.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import { startPenstock } from '../support/server.js';

// Real processes, each with a start of its own, on a machine that may be busy.
vi.setConfig({ testTimeout: 90_000 });

const root = resolve(import.meta.dirname, '../..');
let bundles: string;
let db: TestDatabase;

interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

function run(env: Record<string, string>, args: string[]): Promise<Run> {
  const { PATH = '' } = process.env;
  return new Promise((done) => {
    execFile(
      process.execPath,
      [join(bundles, 'cli.js'), ...args],
      { env: { PATH, ...env } },
      (error, stdout, stderr) =>
        done({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
}

const environment = (): Record<string, string> => ({
  DATABASE_URL: db.url,
  PUBLIC_URL: 'http://127.0.0.1:4000',
  DATA_DIR: db.config.dataDir,
});

const cli = (...args: string[]): Promise<Run> => run(environment(), args);

async function answer<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await cli(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as T;
}

async function refusal(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr;
}

beforeAll(async () => {
  await mkdir(join(root, 'dist'), { recursive: true });
  bundles = await mkdtemp(join(root, 'dist', '.test-'));
  await bundle(['src/cli.ts'], bundles);
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.close();
  await rm(bundles, { recursive: true, force: true });
});

test('an organisation is made, shown, listed, moved to another plan and cancelled, by id and by name', async () => {
  const made = await answer('org', 'create', '--name', 'Acme', '--plan', 'pro_monthly');
  expect(made).toEqual({
    id: expect.stringMatching(/^org_/) as string,
    name: 'Acme',
    plan: 'pro_monthly',
    entitled: true,
    periodEnd: expect.stringMatching(/^\d{4}-.*Z$/) as string,
  });
  const empty = { usedBytes: 0, fileBytes: 0, files: 0, answerBytes: 0, answers: 0 };
  expect(await answer('org', 'show', '--org', 'Acme')).toEqual({
    ...made,
    storage: { ...empty, limitBytes: 10_240 * 1_048_576 },
  });
  expect(await answer('org', 'list')).toEqual({ orgs: [made] });
  expect(await answer('org', 'plan', '--org', String(made['id']), '--plan', 'cli_team')).toEqual({
    ...made,
    plan: 'cli_team',
  });
  expect(await answer('org', 'cancel', '--org', 'Acme')).toEqual({ ...made, plan: 'cli_team' });
});

test('a member gets a link to the dashboard, under the public address; who is unknown gets none', async () => {
  await answer('org', 'create', '--name', 'Team', '--plan', 'free');
  await answer('member', 'add', '--org', 'Team', '--email', 'Ann@example.com', '--role', 'admin');
  const given = await answer<{ url: string }>('member', 'link', '--email', 'ann@Example.com');
  expect(given).toMatchObject({ email: 'ann@example.com', expiresAt: expect.any(String) as string });
  const [page, token] = given.url.split('#link=');
  expect(page).toMatch(/^http:.*\/dashboard$/);
  const people = createPeopleService({ database: db.database });
  expect(await people.link(token)).toMatchObject({ email: 'ann@example.com' });
  const unknown = await cli('member', 'link', '--email', 'bob@example.com');
  expect([unknown.code, unknown.stdout]).toEqual([1, '']);
  expect(unknown.stderr).toContain('Person not found');
});

test('a budget is made, listed and deleted; one that cannot be is refused', async () => {
  await answer('org', 'create', '--name', 'Thrifty', '--plan', 'free');
  const create = ['budget', 'create', '--org', 'Thrifty', '--name', 'Each user', '--scope', 'endUser'];
  const money = ['--unit', 'usd', '--limit', '0.50', '--period', 'day'];
  const made = await answer(...create, ...money, '--subject', '*', '--soft', '--thresholds', '0.9,1');
  expect(made).toMatchObject({
    ...{ name: 'Each user', scope: 'endUser', subject: '*', unit: 'usd', limit: '0.5', period: 'day' },
    ...{ spent: '0', reserved: '0', remaining: null, hard: false, thresholds: [0.9, 1] },
  });
  expect(await answer('budget', 'list', '--org', 'Thrifty')).toEqual({ budgets: [made] });
  expect(await refusal(...create, ...money)).toContain('subject must name an end user');
  expect(
    await refusal(...create, '--subject', '*', '--unit', 'eur', '--limit', '1', '--period', 'day'),
  ).toContain('unit must be one of usd, credits');
  expect(await refusal(...create, ...money, '--thresholds', 'half')).toContain('must be numbers');
  const id = String(made['id']);
  expect(await answer('budget', 'delete', '--id', id)).toEqual({ id });
  expect(await refusal('budget', 'delete', '--id', id)).toContain('Budget not found');
});

test('a key is shown once, works for its scopes, and is revoked', async () => {
  await answer('org', 'create', '--name', 'Keys', '--plan', 'free');
  const all = await answer<{ scopes: string[] }>(
    'key',
    'create',
    '--org',
    'Keys',
    '--name',
    'a',
    '--scopes',
    'all',
  );
  expect(all.scopes).toContain('webhooks');
  const expires = '2030-01-31T00:00:00.000Z';
  const made = await answer<{ id: string; key: string }>(
    ...['key', 'create', '--org', 'Keys', '--name', 'b', '--scopes', 'usage,chat', '--expires', expires],
  );
  expect(made).toEqual({ id: made.id, key: made.key, scopes: ['chat', 'usage'], expiresAt: expires });
  const authenticator = createAuthenticator({
    database: db.database,
    plans: await createPlanCatalogue(null),
    logger: pino({ level: 'silent' }),
  });
  expect(await authenticator.authenticate(`Bearer ${made.key}`)).toMatchObject({ keyId: made.id });
  const revoked = await answer('key', 'revoke', '--id', made.id);
  await expect
    .poll(() => authenticator.authenticate(`Bearer ${made.key}`).catch((error: Error) => error.message))
    .toBe('Invalid or missing API key');
  await authenticator.close();
  const { keys } = await answer<{ keys: Record<string, unknown>[] }>('key', 'list', '--org', 'Keys');
  expect(keys[1]).toEqual({
    id: made.id,
    name: 'b',
    prefix: made.key.slice(0, 11),
    scopes: ['chat', 'usage'],
    expiresAt: expires,
    revokedAt: revoked['revokedAt'],
    lastUsedAt: expect.any(String) as string,
    createdBy: 'command line',
  });
  expect(JSON.stringify(keys)).not.toContain(made.key.slice(11));
});

test('units are added and what is used is set, as GET /quota shows it; both stand in the ledger', async () => {
  await answer('org', 'create', '--name', 'Quotas', '--plan', 'pro_monthly');
  const topUp = ['org', 'top-up', '--org', 'Quotas', '--bucket', 'music_tracks', '--amount', '2.5'];
  expect(await answer(...topUp)).toEqual({ remaining: 22.5, limit: 22.5, used: 0, usage_percent: 0 });
  const set = ['quota', 'set', '--org', 'Quotas', '--bucket', 'credits', '--used', '150'];
  expect(await answer(...set)).toEqual({ remaining: 50, limit: 200, used: 150, usage_percent: 75 });
  const { records } = await answer<{ records: Record<string, unknown>[] }>(
    ...['usage', '--org', 'Quotas', '--since', '2020-01-01'],
  );
  expect(
    records.map(({ operation, state, amounts, granted }) => ({ operation, state, amounts, granted })),
  ).toEqual([
    { operation: 'adjustment', state: 'settled', amounts: { credits: 150 }, granted: {} },
    { operation: 'top_up', state: 'settled', amounts: {}, granted: { music_tracks: 2.5 } },
  ]);
  expect(await answer('usage', '--org', 'Quotas', '--since', '2999-01-01T00:00:00Z')).toEqual({
    records: [],
  });
});

test.each([
  [['org', 'show', '--org', 'Nobody'], 'Organization not found'],
  [['org', 'create', '--name', 'X', '--plan', 'gold'], 'must be one of free'],
  [['org', 'create', '--plan', 'free'], '--name'],
  [['key', 'create', '--org', 'Quotas', '--name', 'k', '--scopes', 'chat,root'], 'must be one of chat'],
  [['key', 'create', '--org', 'Quotas', '--name', 'k', '--scopes', 'all', '--expires', 'soon'], 'ISO 8601'],
  [['usage', '--org', 'Quotas', '--since', '2027-02-30'], 'ISO 8601'],
  [['key', 'revoke', '--id', 'key_unknown'], 'API key not found'],
  [['org', 'top-up', '--org', 'Quotas', '--bucket', 'credits', '--amount', '1.005'], 'two decimals'],
  [['org', 'top-up', '--org', 'Quotas', '--bucket', 'credits', '--amount', '1.5'], 'must be whole'],
  [['quota', 'set', '--org', 'Quotas', '--bucket', 'credits', '--used', '50.5'], 'must be whole'],
  ...['9999999999999', '1000000000000.01', '9'.repeat(400)].map((amount): [string[], string] => [
    ['org', 'top-up', '--org', 'Quotas', '--bucket', 'stt_seconds', '--amount', amount],
    'must be at most 1000000000000',
  ]),
  [['org', 'top-up', '--org', 'Quotas', '--bucket', 'chat_tokens', '--amount', '1'], 'chat_tokens'],
  [['quota', 'set', '--org', 'Quotas', '--bucket', 'gold', '--used', '1'], 'must be one of credits'],
  [['nonsense'], 'unknown command'],
])('%j is refused on standard error', async (args, reason) => {
  expect(await refusal(...args)).toContain(reason);
});

test.runIf(existsSync('/dev/full'))(
  'an answer that cannot be written fails in a sentence; one that nobody reads to its end does not',
  async () => {
    const env = { DATABASE_URL: db.url, PUBLIC_URL: 'http://127.0.0.1:4000', DATA_DIR: db.config.dataDir };
    const shell = (script: string): Promise<Run> =>
      new Promise((done) => {
        const command = `"${process.execPath}" "${join(bundles, 'cli.js')}" org list`;
        execFile('sh', ['-c', script.replace('$CLI', command)], { env }, (error, stdout, stderr) =>
          done({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
        );
      });
    const full = await shell('$CLI > /dev/full');
    expect(full.code).toBe(1);
    expect(full.stderr).toMatch(/^error: the result could not be written: .*\n$/);
    expect(await shell('($CLI; echo $? >&2) | true')).toMatchObject({ code: 0, stderr: '0\n' });
  },
);

test('every fault of the configuration is told, and nothing is touched', async () => {
  const { code, stdout, stderr } = await run({ PORT: 'x', ROLE: 'y', DATABASE_URL: db.url }, ['org', 'list']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  for (const name of ['PORT', 'ROLE', 'PUBLIC_URL']) expect(stderr).toContain(`${name}: `);
});

test('the doctor says what a start would find', async () => {
  const report = await answer<{ ok: boolean; checks: { name: string; ok: boolean }[] }>('doctor');
  expect(report.ok).toBe(true);
  expect(report.checks.map(({ name }) => name)).toEqual([
    'database',
    'files',
    'kafka',
    'plans',
    'mcp',
    'providers',
  ]);
});

test('the doctor names what is broken and fails', async () => {
  const broken = {
    DATABASE_URL: 'postgresql://127.0.0.1:1/x',
    PUBLIC_URL: 'http://127.0.0.1:1',
    KAFKA_BROKERS: '127.0.0.1:1',
    MCP_FILE: '/nowhere.json',
  };
  const { code, stdout } = await run(
    { ...broken, PLANS_FILE: '/nowhere.json', DATA_DIR: db.config.dataDir },
    ['doctor'],
  );
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: { name: string; ok: boolean }[] };
  expect({ code, ok }).toEqual({ code: 1, ok: false });
  const failed = checks.filter((check) => !check.ok).map(({ name }) => name);
  expect(failed).toEqual(['database', 'files', 'kafka', 'plans', 'mcp']);
});

test('a doctor with another environment says so, and the processes that run stay ready', async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const server = await startPenstock({ role: 'api', env: { SIGNING_SECRET: 'the first' } });
  const { SIGNING_SECRET, ...env } = server.installation.env;
  const statuses = new Set<number>();
  const look = async (): Promise<number> => {
    const { statusCode, body } = await server.raw('/readyz', { method: 'GET' });
    await body.dump();
    return statusCode;
  };
  const watch = setInterval(
    () =>
      void look()
        .catch(() => 0)
        .then((status) => statuses.add(status)),
    50,
  );
  try {
    const store = { FILES_URL: 's3://bucket/files', S3_ENDPOINT: `http://127.0.0.1:${port}` };
    const keys = { S3_ACCESS_KEY_ID: 'a', S3_SECRET_ACCESS_KEY: 'b' };
    const strangers: Record<string, string>[] = [{}, { SIGNING_SECRET: 'another' }];
    for (const stranger of strangers) {
      const { code, stdout } = await run({ ...env, ...store, ...keys, ...stranger }, ['doctor']);
      const { checks } = JSON.parse(stdout) as { checks: Check[] };
      expect({ code, files: checks.find(({ name }) => name === 'files') }).toEqual({
        code: 1,
        files: { name: 'files', ok: false, detail: 'another process runs with a different SIGNING_SECRET' },
      });
    }
    const own: Record<string, string>[] = [
      { SIGNING_SECRET: String(SIGNING_SECRET) },
      { SIGNING_SECRET: 'the next', SIGNING_SECRET_PREVIOUS: String(SIGNING_SECRET) },
    ];
    for (const secrets of own) expect((await run({ ...env, ...secrets }, ['doctor'])).code).toBe(0);
    expect([...statuses]).toEqual([200]);
    const kept = await server.installation.sql('SELECT signing_secret FROM installation');
    expect(kept).toEqual([{ signing_secret: null }]);
  } finally {
    clearInterval(watch);
    await server.close();
    silent.closeAllConnections();
    silent.close();
  }
});

test("the doctor asks each provider of the file and of the environment with the key as that provider's calls carry it", async () => {
  const upstream = await startNativeUpstream();
  const folder = await mkdtemp(join(tmpdir(), 'penstock-doctor-'));
  const origin = upstream.origin;
  const carries: Record<string, (headers: IncomingHttpHeaders) => unknown> = {
    'anthropic/v1/models': (headers) => headers['x-api-key'],
    'google/v1beta/models': (headers) => headers['x-goog-api-key'],
    'elevenlabs/v1/models': (headers) => headers['xi-api-key'],
    'deepgram/v1/projects': ({ authorization }) => authorization?.replace(/^Token /, ''),
    'assemblyai/v2/transcript': ({ authorization }) => authorization,
    'fal/models': ({ authorization }) => authorization?.replace(/^Key /, ''),
    'openai/v1/models': ({ authorization }) => authorization?.replace(/^Bearer /, ''),
    'groq/v1/models': ({ authorization }) => authorization?.replace(/^Bearer /, ''),
  };
  for (const [path, keyOf] of Object.entries(carries))
    upstream.on(path, ({ headers }) =>
      keyOf(headers) === 'right' ? { body: { data: [] } } : { status: path.startsWith('google') ? 400 : 401 },
    );
  const entry = (id: string, base: string, apiKey = 'right') => ({
    id,
    kind: id,
    baseUrl: `${origin}/${base}`,
    apiKey,
  });
  const kinds = [
    entry('anthropic', 'anthropic/v1'),
    entry('google', 'google/v1beta', 'wrong'),
    entry('elevenlabs', 'elevenlabs'),
    entry('deepgram', 'deepgram'),
    entry('assemblyai', 'assemblyai', 'wrong'),
    entry('fal', 'fal'),
    entry('mistral', 'nothing/here'),
  ];
  try {
    const file = join(folder, 'providers.json');
    await writeFile(file, JSON.stringify({ providers: kinds }));
    const keys = {
      OPENAI_API_KEY: 'wrong',
      OPENAI_BASE_URL: `${origin}/openai/v1`,
      GROQ_API_KEY: 'right',
      GROQ_BASE_URL: `${origin}/groq/v1`,
    };
    const { code, stdout } = await run({ ...environment(), PROVIDERS_FILE: file, ...keys }, ['doctor']);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; detail: string }[] };
    const asked = checks.filter(({ name }) => name.startsWith('provider '));
    const told = Object.fromEntries(
      asked.map(({ name, detail }) => [name.slice(9), detail.replace(/^\S+ /, '')]),
    );
    expect(told).toEqual({
      anthropic: 'answers',
      google: 'rejects the key (400)',
      elevenlabs: 'answers',
      deepgram: 'answers',
      assemblyai: 'rejects the key (401)',
      fal: 'answers',
      mistral: 'answers (404 to GET /models; that does not show whether the key is valid)',
      openai: 'rejects the key (401)',
      groq: 'answers',
    });
    expect(asked.filter(({ ok }) => !ok).map(({ name }) => name.slice(9))).toEqual([
      'google',
      'assemblyai',
      'openai',
    ]);
    expect(code).toBe(1);
  } finally {
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test('without a server it starts the embedded PostgreSQL itself, for two commands at once, and leaves none running', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'penstock-cli-'));
  try {
    const made = await Promise.all(
      ['One', 'Two'].map((name) =>
        run({ DATA_DIR: dataDir }, ['org', 'create', '--name', name, '--plan', 'free']),
      ),
    );
    expect(made.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
      { code: 0, stderr: '' },
      { code: 0, stderr: '' },
    ]);
    const listed = await run({ DATA_DIR: dataDir }, ['org', 'list']);
    expect((JSON.parse(listed.stdout) as { orgs: unknown[] }).orgs).toHaveLength(2);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
