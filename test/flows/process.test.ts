import { createServer } from 'node:net';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createInstallation, freePort, type Installation } from '../support/installation.js';
import { runToEnd } from '../support/run-to-end.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

describe('a start', () => {
  test('of a checkout that its user may not write to says so in a sentence', async () => {
    const checkout = await mkdtemp(join(tmpdir(), 'penstock-foreign-'));
    await mkdir(join(checkout, 'scripts'));
    await mkdir(join(checkout, 'src'));
    for (const script of ['build.mjs', 'build-pages.mjs', 'sql-files.mjs'])
      await copyFile(new URL(`../../scripts/${script}`, import.meta.url), join(checkout, 'scripts', script));
    await writeFile(join(checkout, 'src/main.ts'), '');
    await chmod(checkout, 0o555);
    // Root may write anywhere: somebody else stands for whoever may not.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const child = spawnSync(process.execPath, [join(checkout, 'scripts/build.mjs')], {
      ...user,
      encoding: 'utf8',
    });
    expect(child.status).toBe(1);
    expect(child.stderr).toMatch(/^The build's folder cannot be written \(EACCES[^\n]*\n$/);
    await chmod(checkout, 0o755);
    await rm(checkout, { recursive: true });
  });

  test('lists every fault of the configuration at once and ends with 1', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-faults-'));
    const providers = join(folder, 'providers.json');
    const twice = { id: 'acme', kind: 'openai-compatible' };
    await writeFile(providers, JSON.stringify({ providers: [twice, twice] }));
    const files = { PROVIDERS_FILE: providers, PLANS_FILE: '/none.json' };
    const { code, stderr } = await runToEnd({ PORT: 'x', ROLE: 'y', EGRESS_ALLOW: 'z', ...files });
    expect(code).toBe(1);
    for (const name of ['PORT', 'ROLE', 'EGRESS_ALLOW', ...Object.keys(files)])
      expect(stderr).toContain(`${name}: `);
    for (const fault of ['occurs twice', 'baseUrl is required']) expect(stderr).toContain(fault);
    await writeFile(providers, JSON.stringify({ defaults: { chat: 'no/such' } }));
    expect((await runToEnd({ PORT: 'x', ...files })).stderr).toContain(
      'PROVIDERS_FILE: defaults.chat: no/such',
    );
    await rm(folder, { recursive: true, force: true });
  });

  test('on a taken port ends with 1 and touches nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-port-'));
    const dataDir = join(folder, 'data');
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await runToEnd({ PORT: String(port), DATA_DIR: dataDir });
    await new Promise((resolve) => taken.close(resolve));
    expect(code).toBe(1);
    expect(stderr).toContain(`Port ${port}`);
    expect(existsSync(dataDir)).toBe(false);
    await rm(folder, { recursive: true, force: true });
  });

  test.skipIf(!existsSync('/proc'))(
    'with a DATA_DIR that cannot be made ends with 1 and says so',
    async () => {
      for (const dataDir of ['/proc/penstock', '/proc/penstock/data', '/dev/null/data']) {
        const { code, stderr } = await runToEnd({ PORT: '0', DATA_DIR: dataDir });
        expect(stderr).toContain(`Cannot use DATA_DIR ${dataDir}: `);
        expect(stderr).toContain('It must be a folder that this user may write to.');
        expect(code).toBe(1);
      }
    },
  );

  test.each(['no-such-host.invalid', '192.0.2.1'])(
    'on a HOST that this machine does not have, %s, ends with 1 and says so',
    async (host) => {
      const { code, stderr } = await runToEnd({ PORT: '0', HOST: host });
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^Cannot listen on port 0 of .* Set HOST to an address of this machine and PORT to a free port\.\n$/,
      );
    },
  );

  test('that fails ends with 1, also where nobody reads its log any more', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-unread-'));
    await mkdir(join(folder, 'data', 'postgres.log'), { recursive: true });
    const env = { PORT: '0', DATA_DIR: join(folder, 'data') };
    const [told, unread] = await Promise.all([runToEnd(env), runToEnd(env, false)]);
    expect(told.stdout).toContain('the start failed');
    expect([told.code, unread.code]).toEqual([1, 1]);
    await rm(folder, { recursive: true, force: true });
  });

  test('a broken PROVIDERS_FILE ends it with 1 and says why', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-file-'));
    const env = { PORT: '0', DATA_DIR: join(folder, 'data'), PROVIDERS_FILE: join(folder, 'none.json') };
    const { code, stderr } = await runToEnd(env);
    expect(code).toBe(1);
    expect(stderr).toContain('PROVIDERS_FILE');
    const both = await runToEnd({ ...env, PLANS_FILE: env.PROVIDERS_FILE, MCP_FILE: env.PROVIDERS_FILE });
    expect(both.code).toBe(1);
    for (const name of ['PROVIDERS_FILE', 'PLANS_FILE', 'MCP_FILE'])
      expect(both.stderr).toContain(`${name}: `);
    expect(existsSync(env.DATA_DIR)).toBe(false);
    await rm(folder, { recursive: true, force: true });
  });
});

describe('with an embedded database', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'penstock-demo-'));
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  test('the Demo key is shown at the first start only, and works', async () => {
    const installation = { env: { DATA_DIR: dataDir, LOG_LEVEL: 'warn' } } as unknown as Installation;
    const first = await spawnPenstock(installation);
    const key = await eventually(() => /sk_[0-9a-f]{64}/.exec(first.output())?.[0]);
    expect(first.output()).toContain(`curl -s http://127.0.0.1:${first.port}/api/v1/chat/completions`);
    const quota = await first.rest('GET', '/quota', { key });
    expect(quota.body).toMatchObject({ plan: { code: 'business_monthly' } });
    await first.close();
    // An address to be pasted, also of IPv6, where this machine has it.
    const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
      all?.some(({ family }) => family === 'IPv6'),
    );
    const [HOST, shown] = hasIpv6 ? ['::', '[::]'] : ['0.0.0.0', '0.0.0.0'];
    const second = await spawnPenstock(installation, { env: { HOST } });
    await eventually(() => second.output().includes(`running at http://${shown}:${second.port}`));
    expect((await second.rest('GET', '/quota', { key })).status).toBe(200);
    expect(second.output()).not.toMatch(/sk_[0-9a-f]{64}/);
    await second.close();
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
  }, 90_000);
});

describe('a stop', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await createInstallation();
  });
  afterAll(() => installation.close());

  test('under load resets no POST, finishes streams, and ends with 0', async () => {
    const server = await spawnPenstock(installation);
    const { key } = await installation.createOrg({ plan: 'cli_team' });
    const agent = new Agent({ connections: 16 });
    const faults: unknown[] = [];
    let refused = 0;
    const post = async () => {
      for (;;) {
        try {
          const answer = await request(`${server.origin}/api/v1/chat/completions`, {
            dispatcher: agent,
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello @sandbox{"tokens":2}' }] }),
          });
          await answer.body.dump();
        } catch (error) {
          if ((error as { code?: string }).code === 'ECONNREFUSED') return void refused++;
          faults.push(error);
          return;
        }
      }
    };
    const streaming = server.events('POST', '/chat/completions', {
      key,
      body: {
        stream: true,
        messages: [{ role: 'user', content: 'Hello @sandbox{"tokens":40,"chunk_ms":50}' }],
      },
    });
    const { events } = await streaming;
    await events.next();
    const load = Array.from({ length: 16 }, post);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const ended = server.signal('SIGTERM');
    let last = '';
    for await (const event of events) last = event.data;
    await Promise.all(load);
    expect(await ended).toBe(0);
    expect(faults).toEqual([]);
    expect(refused).toBe(16);
    expect(last).toBe('[DONE]');
    expect(server.output()).not.toContain('unhandled rejection');
    await agent.close();
    await server.close();
  }, 90_000);

  test('while a job runs gives it back, and a synchronous caller is told to ask again', async () => {
    const server = await spawnPenstock(installation, { role: 'api' });
    const { key } = await installation.createOrg();
    const waiting = server.rest('POST', '/images/generations', { key, body: { prompt: 'a dam' } });
    await eventually(
      async () => (await server.rest<{ jobs: unknown[] }>('GET', '/jobs', { key })).body.jobs.length > 0,
    );
    const ended = server.signal('SIGTERM');
    const answer = await waiting;
    expect(answer).toMatchObject({ status: 503, body: { error: 'Still processing' } });
    expect(answer.headers).toMatchObject({ 'retry-after': expect.stringMatching(/^\d+$/) as string });
    expect(answer.headers['x-job-id']).toMatch(/^job_/);
    expect(await ended).toBe(0);
    await server.close();
  }, 90_000);

  test('by Ctrl-C, which reaches its children too, fails no job', async () => {
    const own = await createInstallation();
    const server = await spawnPenstock(own, { role: 'all', ownGroup: true });
    const { key } = await own.createOrg();
    const body = { prompt: 'a river', duration_seconds: 10 };
    const made = await Promise.all(
      [1, 2, 3].map(() =>
        server.rest<{ id: string }>('POST', '/videos/generations?async=true', { key, body }),
      ),
    );
    const states = async () =>
      (await own.sql<{ status: string }>('SELECT status FROM jobs')).map((job) => job.status);
    await eventually(async () => (await states()).includes('processing'), { everyMs: 10 });
    await sleep(200);
    expect(await server.interrupt()).toBe(0);
    expect(await states()).not.toContain('failed');
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200]);
    await server.close();
    await own.close();
  }, 90_000);

  test('answers long polls with the job as it is, and is not held by them', async () => {
    const server = await spawnPenstock(installation, { role: 'api' });
    const { key } = await installation.createOrg();
    const { body: job } = await server.rest('POST', '/images/generations?async=true', {
      key,
      body: { prompt: 'a dam' },
    });
    const polled = server.rest('GET', `/jobs/${String(job['id'])}?poll=true`, { key });
    await sleep(300);
    const began = performance.now();
    const ended = server.signal('SIGTERM');
    expect(await polled).toMatchObject({
      status: 200,
      headers: { connection: 'close' },
      body: { status: 'pending' },
    });
    expect(await ended).toBe(0);
    expect(performance.now() - began).toBeLessThan(10_000);
    await server.close();
  }, 90_000);

  test('by Ctrl-C under npm, which comes twice, lets streams end as any other', async () => {
    const { server, events } = await streamOf(installation, '@sandbox{"tokens":20,"chunk_ms":50}');
    void server.signal('SIGINT');
    await eventually(() => isStopping(server), { everyMs: 2 });
    const ended = server.signal('SIGINT');
    let last = '';
    for await (const event of events) last = event.data;
    expect(last).toBe('[DONE]');
    expect(await ended).toBe(0);
    await server.close();
  }, 90_000);

  test('a second signal, a second later, ends it at once', async () => {
    const { server, events } = await streamOf(installation, '@sandbox{"tokens":500,"chunk_ms":100}');
    void server.signal('SIGTERM');
    await eventually(() => refuses(server.port));
    await sleep(1_000);
    expect(await server.signal('SIGTERM')).toBe(1);
    await events.return(undefined).catch(() => undefined);
    await server.close();
  }, 90_000);
});

/** A server of its own, in the middle of a streamed answer. */
async function streamOf(installation: Installation, content: string) {
  const server = await spawnPenstock(installation);
  const { key } = await installation.createOrg();
  const body = { stream: true, messages: [{ role: 'user', content }] };
  const { events } = await server.events('POST', '/chat/completions', { key, body });
  await events.next();
  return { server, events };
}

async function isStopping(server: SpawnedServer): Promise<boolean> {
  const answer = await server.raw('/readyz', { method: 'GET' });
  await answer.body.dump();
  return answer.statusCode === 503;
}

async function refuses(port: number): Promise<boolean> {
  try {
    const answer = await request(`http://127.0.0.1:${port}/healthz`);
    await answer.body.dump();
    return false;
  } catch {
    return true;
  }
}

test('SIGHUP reads PLANS_FILE and PROVIDERS_FILE again, and keeps the previous version if the new one has an error', async () => {
  const plans = (burst: number) => ({ plans: { free: { rate: { rpm: burst, burst } } } });
  const installation = await createInstallation({ plans: plans(10), providers: {} });
  const server = await spawnPenstock(installation, { env: { LOG_LEVEL: 'info' } });
  const { key } = await installation.createOrg({ plan: 'free' });
  const { key: caller } = await installation.createOrg();
  const limit = async () => (await server.rest('GET', '/quota', { key })).headers['x-ratelimit-limit'];
  expect(await limit()).toBe('10');
  const file = installation.env['PLANS_FILE'] ?? '';
  await writeFile(file, JSON.stringify(plans(20)));
  server.process.kill('SIGHUP');
  await eventually(async () => (await limit()) === '20', { everyMs: 200 });
  await writeFile(file, '{"plans": {"nonsense": {}}}');
  server.process.kill('SIGHUP');
  await eventually(() => server.output().includes('the previous version stays in force'));
  expect(await limit()).toBe('20');

  const chat = () =>
    server.rest('POST', '/chat/completions', {
      key: caller,
      body: { messages: [{ role: 'user', content: 'hi' }] },
    });
  expect((await chat()).status).toBe(200);
  const providers = installation.env['PROVIDERS_FILE'] ?? '';
  await writeFile(providers, '{"sandbox": false, "nonsense": 1}');
  server.process.kill('SIGHUP');
  await eventually(() => server.output().includes('PROVIDERS_FILE has an error'));
  expect((await chat()).status).toBe(200);
  await writeFile(providers, '{"sandbox": false}');
  server.process.kill('SIGHUP');
  await eventually(async () => (await chat()).body['error'] === 'model is required', { everyMs: 200 });
  const listed = await server.rest<{ data: { id: string }[] }>('GET', '/models', { key: caller });
  expect(listed.body.data.filter(({ id }) => id.startsWith('sandbox/'))).toEqual([]);
  await server.close();
  await installation.close();
}, 90_000);

test('two servers of one folder do not disturb each other', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'penstock-two-'));
  const installation = { env: { DATA_DIR: dataDir, LOG_LEVEL: 'warn' } } as unknown as Installation;
  const [one, two] = [
    await spawnPenstock(installation),
    await spawnPenstock(installation, { port: await freePort() }),
  ];
  const key = /sk_[0-9a-f]{64}/.exec(one.output())?.[0] ?? '';
  expect(await one.signal('SIGTERM')).toBe(0);
  expect((await two.rest('GET', '/quota', { key })).status).toBe(200);
  await one.close();
  await two.close();
  await rm(dataDir, { recursive: true, force: true });
}, 90_000);
