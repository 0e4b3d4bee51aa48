import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { createInstallation, freePort, type Installation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

const executablePath = findChromium();
const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const APP = `
import { createElement as h, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createPenstock } from '@penstock/client';
import { PenstockProvider, useChat, useJob, useJobs } from '@penstock/client/react';
import { Run } from './examples/agent-run.tsx';
import { Chat as ChatExample } from './examples/chat.tsx';
import { Jobs as JobsExample } from './examples/jobs.tsx';
import { Job as JobExample } from './examples/live-job.tsx';
import { Quota } from './examples/quota.tsx';
import { Upload } from './examples/upload.tsx';

const tokenProvider = () => fetch('/penstock-token').then((answer) => answer.json());
const client = createPenstock({ url: location.hash.slice(1), tokenProvider });
window.client = client;
window.seen = [];

function Job({ id }) {
  const { job, error } = useJob(id);
  if (job) window.seen.push(job.status + ' ' + job.progress);
  return h('p', { id: 'job' }, error?.message ?? job?.status ?? 'loading');
}
function Jobs() {
  const { jobs } = useJobs();
  return h('ol', { id: 'jobs' }, (jobs ?? []).map((job) => h('li', { key: job.id }, job.id + ' ' + job.status)));
}
function Chat() {
  const { messages, send, stop, status } = useChat({ model: 'sandbox/chat-basic' });
  return h('div', { id: 'chat', 'data-status': status },
    h('button', { id: 'send', onClick: () => send('Of weirs @sandbox{"tokens":60,"chunk_ms":50}') }, 'Send'),
    h('button', { id: 'endless', onClick: () => send('Of weirs @sandbox{"tokens":2000,"chunk_ms":50}') }, 'Send much'),
    h('button', { id: 'stop', onClick: stop }, 'Stop'),
    messages.map(({ role, content }, at) => h('p', { key: at, className: role }, content)));
}
function App() {
  const [id, setId] = useState();
  const start = async () => setId((await client.mutate.generateImage({ input: { prompt: 'A weir @sandbox{"delay_ms":4000}' }, async: true })).job.id);
  return h('main', null, h('button', { id: 'start', onClick: start }, 'Start'), h(Job, { id }), h(Jobs), h(Chat));
}
/** Every example, on a run and a job of their own. */
function Examples() {
  const [ids, setIds] = useState({});
  const start = async () => {
    const { job } = await client.mutate.generateImage({ input: { prompt: 'A weir' }, async: true });
    const agent = await client.mutate.createAgent({ input: { name: 'Keeper', systemPrompt: 'Be short.' } });
    const run = await client.mutate.runAgent({ id: agent.id, input: { input: 'Hello' } });
    setIds({ job: job.id, run: run.id });
  };
  const shown = { run: ids.run && h(Run, { id: ids.run }), job: ids.job && h(JobExample, { id: ids.job }), chat: h(ChatExample), jobs: h(JobsExample), quota: h(Quota), upload: h(Upload) };
  return h('main', null, h('button', { id: 'start', onClick: start }, 'Start'),
    Object.entries(shown).map(([name, node]) => h('section', { key: name, id: name }, node)));
}
const isExamples = location.search === '?examples';
createRoot(document.body).render(h(PenstockProvider, { client }, isExamples ? h(Examples) : h(App)));
`;

/** An app of its own with the packed client in it, as a team would install it. @returns its bundle */
async function buildApp(folder: string): Promise<string> {
  const { stdout } = await run(
    'npm',
    ['pack', '--workspace', 'client', '--pack-destination', folder, '--json'],
    {
      cwd: ROOT,
    },
  );
  const packed = JSON.parse(stdout) as Record<string, { filename: string }> | { filename: string }[];
  const [{ filename }] = Object.values(packed) as [{ filename: string }];
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'app', private: true, type: 'module' }),
  );
  const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const peers = ['react', 'react-dom', 'graphql'].map((name) => `${name}@${dependencies[name]}`);
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--legacy-peer-deps=false'];
  await run('npm', ['install', ...options, join(folder, filename), ...peers], { cwd: folder });
  const filter = (path: string) => !path.endsWith('tsconfig.json');
  await cp(join(ROOT, 'client/examples'), join(folder, 'examples'), { recursive: true, filter });
  await writeFile(join(folder, 'app.js'), APP);
  const build = await rolldown({
    input: join(folder, 'app.js'),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  });
  const { output } = await build.generate({ format: 'iife' });
  await build.close();
  return output[0].code;
}

describe.skipIf(executablePath === null)('the client in a browser, on a page of another origin', () => {
  let installation: Installation;
  let penstock: SpawnedServer;
  let browser: TestBrowser;
  let team: Server;
  let origin: string;
  let folder: string;
  let port: number;
  let key: string;
  let tokens = 0;
  const start = () => spawnPenstock(installation, { port, env: { CORS_ORIGINS: origin } });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-app-'));
    const code = await buildApp(folder);
    installation = await createInstallation();
    port = await freePort();
    // The team's own server: it serves the page, and asks for tokens with the key that browsers never see.
    team = createServer((request, response) => {
      if (request.url === '/app.js') return void response.end(code);
      if (request.url !== '/penstock-token')
        return void response
          .setHeader('content-type', 'text/html')
          .end('<!doctype html><link rel="icon" href="data:,"><body><script src="app.js"></script>');
      tokens += 1;
      fetch(`${penstock.origin}/api/v1/client-tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        // Short, so that it is renewed while the page lives.
        body: JSON.stringify({ scopes: ['chat', 'image', 'usage', 'agents'], ttl_seconds: 40 }),
      })
        .then(async (answer) => {
          const { token, client_token: made } = (await answer.json()) as {
            token: string;
            client_token: { expires_at: string };
          };
          response.end(JSON.stringify({ token, expiresAt: made.expires_at }));
        })
        .catch(() => response.writeHead(503).end());
    });
    await new Promise<void>((resolve) => team.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(team.address() as AddressInfo).port}`;
    penstock = await start();
    ({ key } = await installation.createOrg({
      plan: 'business_monthly',
      scopes: ['chat', 'image', 'usage', 'agents', 'tokens'],
    }));
    browser = await startBrowser(executablePath ?? '');
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await penstock?.close();
    team?.closeAllConnections();
    if (team !== undefined) await new Promise((resolve) => team.close(resolve));
    await installation?.close();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  test('jobs and a chat go on through a kill of the server, each state once, for one charge', async () => {
    const { page } = await browser.open(`${origin}/#${penstock.origin}`);
    await page.locator('#start').click();
    await page.locator('#send').click();
    await expect.poll(() => page.locator('#jobs li').count(), { timeout: 20_000 }).toBe(1);
    await page.locator('#chat .assistant').waitFor();
    const begun = await page.locator('#chat .assistant').innerText();
    await penstock.signal('SIGKILL');
    await penstock.close();
    await installation.sql(`UPDATE responses SET lease_until = now() WHERE worker_id IS NOT NULL`);
    await installation.sql(`UPDATE jobs SET lease_until = now() WHERE worker_id IS NOT NULL`);
    penstock = await start();
    await expect.poll(() => page.locator('#job').innerText(), { timeout: 60_000 }).toBe('completed');
    await expect
      .poll(() => page.locator('#chat').getAttribute('data-status'), { timeout: 60_000 })
      .toMatch(/^(?:ready|error)$/);
    const said = await page.locator('#chat .assistant').innerText();
    expect(said.startsWith(begun)).toBe(true);
    const seen = (await page.evaluate('window.seen')) as string[];
    const ranks = seen.map((state) =>
      ['pending', 'processing', 'completed'].indexOf(state.split(' ')[0] ?? ''),
    );
    // Its worker was killed, so that it may wait once more; but what has ended stays so.
    const end = ranks.indexOf(2);
    expect(ranks.slice(end)).toEqual(ranks.slice(end).map(() => 2));
    await eventually(async () => (await page.locator('#jobs li').innerText()).endsWith('completed'));
    expect(tokens).toBeGreaterThan(0);
    const charges = await installation.sql<{ kind: string }>(
      `SELECT kind FROM usage_ledger WHERE state = 'settled' AND kind <> 'period' ORDER BY kind`,
    );
    expect(charges.map(({ kind }) => kind)).toEqual(['chat', 'image']);
    await page.close();
  }, 150_000);

  test('each example shows what it is for, and an upload goes on through a kill of the server', async () => {
    const { page, faults } = await browser.open(`${origin}/?examples#${penstock.origin}`);
    await page.locator('#start').click();
    await page.locator('#job p', { hasText: 'completed 100 %' }).waitFor();
    await page.locator('#run li', { hasText: 'completed' }).waitFor();
    await page.locator('#jobs li', { hasText: 'completed' }).first().waitFor();
    await page.locator('#quota li', { hasText: 'image_generations' }).waitFor();
    await page.locator('#chat input').fill('Of weirs');
    await page.locator('#chat button').click();
    await page.locator('#chat p', { hasText: 'assistant: ' }).waitFor();
    expect(faults).toEqual([]);

    // Slow enough that there is a middle.
    const network = await page.context().newCDPSession(page);
    const conditions = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 3_000_000 };
    await network.send('Network.enable');
    await network.send('Network.emulateNetworkConditions', conditions);
    const buffer = Buffer.alloc(12_000_000);
    buffer.write('\x89PNG\r\n\x1a\n', 'latin1');
    const file = { name: 'weir.png', mimeType: 'image/png', buffer };
    await page.locator('#upload input').setInputFiles(file);
    const progress = () => page.locator('#upload progress').getAttribute('value');
    await expect
      .poll(async () => Number(await progress()), { timeout: 20_000, interval: 20 })
      .toBeGreaterThan(0.05);
    await penstock.signal('SIGKILL');
    await penstock.close();
    expect(Number(await progress())).toBeLessThan(1);
    penstock = await start();
    await expect
      .poll(() => page.locator('#upload').innerText(), { timeout: 60_000 })
      .toMatch(/^\s*file:file_/);
    const reference = (await page.locator('#upload').innerText()).trim();
    const [stored] = await installation.sql<{ size_bytes: string; finished: boolean }>(
      `SELECT f.size_bytes, u.finished_at IS NOT NULL AS finished FROM uploads u JOIN files f ON f.id = u.file_id WHERE u.file_id = '${reference.slice('file:'.length)}'`,
    );
    expect(stored).toEqual({ size_bytes: String(buffer.length), finished: true });
    await page.close();
  }, 150_000);

  test('the button that stops a chat stops it at the server: what was said stays, and is all that is charged', async () => {
    const { page, faults } = await browser.open(`${origin}/#${penstock.origin}`);
    await page.locator('#endless').click();
    await page.locator('#chat .assistant').waitFor();
    await page.locator('#stop').click();
    expect(await page.locator('#chat').getAttribute('data-status')).toBe('ready');
    const said = await page.locator('#chat .assistant').innerText();
    const [record] = await eventually(async () => {
      const rows = await installation.sql<{ status: string; output: number }>(
        `SELECT l.status, l.tokens[4] AS output FROM responses r JOIN usage_ledger l ON l.operation_id = 'op_' || substr(r.id, 6)
         WHERE r.status = 'cancelled' AND l.state = 'settled'`,
      );
      return rows.length === 1 && rows;
    });
    expect(record!.status).toBe('cancelled');
    expect(Number(record!.output)).toBeLessThan(2000);
    expect(await page.locator('#chat .assistant').innerText()).toBe(said);
    expect(faults).toEqual([]);
    await page.close();
  }, 60_000);
});
