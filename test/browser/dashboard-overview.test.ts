import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMemberService } from '../../src/access/index.js';
import { makeAgent, runAgent } from '../support/agents.js';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { createInstallation, freePort, type Installation, type TestOrg } from '../support/installation.js';
import { PASSWORD } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const executablePath = findChromium();
const VIEWS = [
  '',
  'playground',
  'jobs',
  'agents',
  'models',
  'usage',
  'requests',
  'webhooks',
  'settings/keys',
  'settings/budgets',
  'settings/members',
  'settings/plan',
  'settings/audit',
  'settings/password',
  'nowhere',
];
const FIRST_LOAD = 150_000;

interface Violation {
  id: string;
  nodes: { html: string }[];
}

describe.skipIf(executablePath === null)('the views of the dashboard', () => {
  let installation: Installation;
  let server: TestServer;
  let browser: TestBrowser;
  let org: TestOrg;
  let page: Page;
  let faults: string[];
  let axe: string;
  let port: number;
  /** Several, since each may make so many pictures a minute. */
  let keys: string[];
  let calls = 0;
  /** Names of the GraphQL operations that the page has asked for over HTTP. */
  const asked: string[] = [];

  const start = () => startPenstock({ installation, port });
  const image = async (prompt: string): Promise<string> => {
    const response = await fetch(`${server.baseUrl}/images/generations?async=true`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys[calls++ % keys.length]}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ prompt, size: '512x512' }),
    });
    const { id } = (await response.json()) as { id: string };
    expect(response.status, id).toBe(200);
    return id;
  };
  /** The views of an agent that has run. */
  async function agentViews(): Promise<string[]> {
    const agent = await makeAgent(server, org.key, { tools: ['web_search'] });
    const { runId } = await runAgent(server, org.key, agent, { input: 'Search the web for weirs' });
    const tabs = ['settings', 'knowledge', 'memories'].map((tab) => `agents/${agent}?tab=${tab}`);
    return [`agents/${agent}`, `agents/${agent}/${runId}`, ...tabs];
  }
  async function show(view: string): Promise<void> {
    await page.evaluate(`location.hash = '#/${view}'`);
    await page.locator('main h1').waitFor();
    await expect.poll(() => page.locator('main .loading').count(), { timeout: 15_000 }).toBe(0);
  }

  beforeAll(async () => {
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    installation = await createInstallation();
    port = await freePort();
    server = await start();
    org = await server.createOrg({ name: 'Waterworks' });
    keys = (await Promise.all([1, 2, 3, 4].map(() => server.createKey(org.orgId)))).map(({ key }) => key);
    browser = await startBrowser(executablePath ?? '');
    await createMemberService({ database: server.services.database }).add(
      org.orgId,
      'eva@waterworks.example',
      'owner',
    );
    const { token } = await server.services.people.createLink('eva@waterworks.example');
    ({ page, faults } = await browser.open(`${server.origin}/dashboard#link=${token}`));
    page.on('request', (request) => {
      const name = /(?:query|mutation) (\w+)/.exec(request.postData() ?? '')?.[1];
      if (name !== undefined) asked.push(name);
    });
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByLabel('Repeat it').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set password and sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await installation?.close();
  }, 60_000);

  test('an organisation that has not called yet is shown how, with the right address', async () => {
    await page.getByRole('heading', { name: 'Make the first call' }).waitFor();
    for (const tab of ['curl', 'openai, node', 'openai, python', 'GraphQL']) {
      await page.getByRole('tab', { name: tab }).click();
      const text = await page.getByRole('region', { name: `${tab} snippet` }).innerText();
      expect(text).toContain(server.origin);
    }
  });

  test('the first load is small, packed and kept for ever', async () => {
    const fresh = await browser.browser.newPage();
    const sizes: number[] = [];
    const assets: Record<string, string>[] = [];
    fresh.on('response', (response) => {
      if (response.url().includes('/assets/')) assets.push(response.headers());
    });
    fresh.on('requestfinished', async (request) => {
      const { responseBodySize } = await request.sizes();
      sizes.push(responseBodySize);
    });
    const cookies = await page.context().cookies();
    await fresh.context().addCookies(cookies);
    await fresh.goto(`${server.origin}/dashboard`, { waitUntil: 'networkidle' });
    await fresh.getByRole('heading', { name: 'Overview' }).waitFor();
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThanOrEqual(FIRST_LOAD);
    const hashed = assets.filter((headers) => headers['content-type']?.includes('javascript'));
    for (const headers of hashed) {
      expect(headers['cache-control']).toContain('immutable');
      expect(headers['content-encoding']).toBe('br');
    }
    await fresh.close();
  });

  test('the overview asks each document once, and shows its figures before the socket is open', async () => {
    const context = await browser.browser.newContext();
    await context.addCookies(await page.context().cookies());
    const fresh = await context.newPage();
    await fresh.routeWebSocket(/graphql/, () => undefined);
    const documents: string[] = [];
    fresh.on('request', (request) => {
      if (request.url().endsWith('/graphql')) documents.push(request.postData() ?? '');
    });
    await fresh.goto(`${server.origin}/dashboard`);
    await fresh.locator('.buckets strong').first().waitFor();
    await fresh.getByText('No jobs yet').waitFor();
    const asking = ['query IsOperator', 'query Attention', 'query UsageSummary'];
    expect(asking.map((name) => documents.filter((text) => text.includes(name)).length)).toEqual([1, 1, 1]);
    await context.close();
  });

  test('a backlog of jobs is told in order, each once, and no quota is asked for', async () => {
    await show('jobs');
    asked.length = 0;
    const ids: string[] = [];
    for (let at = 0; at < 30; at++) ids.push(await image(`Weir ${at}`));
    const failing = await image('A dam @sandbox{"fail":"no luck"}');
    await expect.poll(() => page.getByText('completed').count(), { timeout: 60_000 }).toBeGreaterThan(20);
    const shown = () =>
      page
        .locator('main tbody a[href*="/jobs/"]')
        .evaluateAll((links: { href: string }[]) => links.map(({ href }) => href.split('/').at(-1)));
    const stored = async () =>
      (await installation.sql<{ id: string }>('SELECT id FROM jobs ORDER BY created_at DESC, id DESC')).map(
        ({ id }) => id,
      );
    await page.locator('main tbody .reason').getByText('Generation failed').waitFor();
    expect(await shown()).toEqual(await stored());
    expect(asked.filter((name) => /quota|attention/i.test(name))).toEqual([]);
    await page.getByRole('link', { name: 'Image' }).first().waitFor();

    // The reason of a failed job, and the request and the charge of another.
    await show(`jobs/${failing}`);
    await page.getByRole('alert').getByText('Generation failed').waitFor();
    await show(`jobs/${ids[0]}`);
    await page.locator('.facts dt', { hasText: 'Request' }).waitFor();
    await page
      .locator('.facts')
      .getByText(/\d image/)
      .waitFor();
    expect(await page.getByRole('link', { name: 'Download' }).count()).toBe(1);
  }, 120_000);

  test('live lists go on after a restart of the server, and the overview tells first what needs attention', async () => {
    await show('');
    await page.getByText(/failed in the last day/).waitFor();
    await server.close();
    server = await start();
    const id = await image('After the flood');
    await page.locator(`.recent a[href$="/jobs/${id}"]`).waitFor({ timeout: 40_000 });
    await eventually(async () =>
      (await page.locator('.recent li').first().innerText()).includes('completed'),
    );
  }, 120_000);

  test('filters stand in the address: Back has them, and a malformed one is told', async () => {
    await show('jobs');
    await page.getByLabel('State').selectOption('failed');
    await page.waitForURL(/status=failed/);
    await expect.poll(() => page.locator('main tbody tr').count()).toBe(1);
    await page.getByRole('link', { name: 'Image' }).first().click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    await page.goBack();
    await expect.poll(() => page.getByLabel('State').inputValue()).toBe('failed');
    await expect.poll(() => page.locator('main tbody tr').count()).toBe(1);
    await page.getByLabel('Prompt holds').fill('weir 7');
    await page.waitForURL(/text=weir/);
    await page.getByText('No such jobs').waitFor();
    for (const [address, told] of [
      ['jobs?status=drowned', 'Malformed address'],
      ['requests?from=yesterday', 'Malformed address'],
      ['no/such/page', 'No such page'],
    ]) {
      await page.evaluate(`location.hash = '#/${address}'`);
      await page.getByRole('heading', { name: told! }).waitFor();
    }
  });

  test('requests lead to their jobs and tell what each took', async () => {
    await fetch(`${server.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sandbox/chat-basic',
        user: 'ann',
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    }).then((response) => response.text());
    await show('requests?operation=chat');
    const row = page.locator('main tbody tr').first();
    await row.getByText(/\d+ → \d+/).waitFor();
    await row.getByText('More').click();
    await row.getByText('ann', { exact: true }).waitFor();
    await show('requests?status=failed');
    await page.locator('main tbody .reason').first().waitFor();
    await page.getByRole('link', { name: 'Job', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  });

  test('no view has a fault that axe finds, in light and dark, wide and narrow, nor is wider than the page', async () => {
    const found: unknown[] = [];
    const views = [...VIEWS, ...(await agentViews())];
    for (const [width, colorScheme] of [
      [1440, 'light'],
      [390, 'dark'],
      [1440, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      for (const view of views) {
        await show(view);
        const violations = (await page.evaluate(
          `${axe}; axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations)`,
        )) as Violation[];
        for (const { id, nodes } of violations)
          found.push({ view, width, colorScheme, id, html: nodes[0]?.html.slice(0, 200), n: nodes.length });
        const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        if (over !== 0) found.push({ view, width, over });
      }
    }
    expect(found).toEqual([]);
    // Beside the refusal by which the page learns that nobody is signed in, what the restart cut off, and malformed addresses.
    expect(faults.filter((fault) => !/401|ERR_CONNECTION|WebSocket|503|cannot be/.test(fault))).toEqual([]);
  }, 180_000);
});
