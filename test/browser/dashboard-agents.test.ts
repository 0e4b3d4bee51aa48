import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { openDashboard, type TestDashboard } from '../support/dashboard.js';
import type { TestOrg } from '../support/installation.js';
import { startMcpServer, type ScriptedMcpServer } from '../support/mcp.js';
import { startPenstock, type TestServer } from '../support/server.js';

const executablePath = findChromium();

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

const scripted = (...steps: object[]): string => `@sandbox${JSON.stringify({ steps })}`;

describe.skipIf(executablePath === null)('agents in the dashboard', { timeout: 90_000 }, () => {
  let mcp: ScriptedMcpServer;
  let server: TestServer;
  let browser: TestBrowser;
  let org: TestOrg;
  let dashboard: TestDashboard;
  let page: Page;
  let agentId: string;
  beforeAll(async () => {
    mcp = await startMcpServer({
      tools: [{ name: 'read_gauge', description: 'Reads a gauge.', inputSchema: { type: 'object' } }],
      call: () => ({ result: { content: [{ type: 'text', text: '2.4 m' }] } }),
    });
    const file = join(await mkdtemp(join(tmpdir(), 'mcp-')), 'mcp.json');
    await writeFile(file, JSON.stringify({ servers: { river: { url: mcp.url, credits: 4 } } }));
    server = await startPenstock({ env: { MCP_FILE: file } });
    org = await server.createOrg({ name: 'Waterworks' });
    browser = await startBrowser(executablePath ?? '');
    dashboard = await openDashboard(server, browser, { orgId: org.orgId, email: 'eva@example.com' });
    ({ page } = dashboard);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await mcp?.close();
  });
  afterEach(() => expect(dashboard.faults.splice(0)).toEqual([]));

  const agent = async (): Promise<Record<string, unknown>> =>
    (await server.rest<{ agent: Record<string, unknown> }>('GET', `/agents/${agentId}`, { key: org.key }))
      .body.agent;

  const isDone = (state: string): Promise<void> =>
    page.getByRole('region', { name: 'Task' }).getByText(state, { exact: true }).waitFor();

  test('an agent is made with tools at their prices, those of an MCP server too', async () => {
    await dashboard.show('agents', 'Agents');
    await dashboard.isFine();
    await page.getByRole('button', { name: 'New agent' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Guide');
    await page.getByLabel('Instructions').fill('You know the river.');
    const gauge = page.getByRole('group', { name: 'MCP server river' });
    await gauge.getByText('4 credits a call').waitFor();
    await gauge.getByRole('checkbox', { name: 'read_gauge' }).check();
    await page.getByRole('checkbox', { name: 'Web fetch' }).check();
    await page.getByRole('checkbox', { name: 'Generate chart' }).check();
    await dashboard.isFine();
    await page.getByRole('button', { name: 'Create agent' }).click();
    await page.getByRole('heading', { level: 1, name: 'Guide' }).waitFor();
    agentId = page.url().split('/').at(-1)!;
    expect(await agent()).toMatchObject({
      tools: ['mcp:river/read_gauge', 'web_fetch', 'generate_chart'],
      icon: 'bot',
      max_tokens: 4000,
    });
  });

  test('every field of an agent is changed, and what is refused is told at its field', async () => {
    await dashboard.show(`agents/${agentId}?tab=settings`, 'Guide');
    await page.getByLabel('Name', { exact: true }).fill('River guide');
    await page.getByLabel('Icon').fill('wave');
    await page.getByLabel('Description', { exact: true }).fill('Knows the weirs.');
    await page.getByLabel('Instructions').fill('You know the river and its weirs.');
    await page.getByLabel('Model').selectOption('sandbox/chat-standard');
    await page.getByLabel('Temperature').fill('0.25');
    await page.getByLabel('Longest answer').fill('1200');
    await page.getByLabel('Most rounds').fill('7');
    await page.getByLabel('Remember what users tell it').check();
    await page.getByLabel('Let other organisations read').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Agent saved', { exact: true }).waitFor();
    await page.getByRole('heading', { level: 1, name: 'River guide' }).waitFor();
    expect(await agent()).toMatchObject({
      name: 'River guide',
      icon: 'wave',
      description: 'Knows the weirs.',
      system_prompt: 'You know the river and its weirs.',
      model: 'sandbox/chat-standard',
      temperature: 0.25,
      max_tokens: 1200,
      max_iterations: 7,
      memory_enabled: true,
      is_public: true,
    });
    await page.getByLabel('Instructions').fill('   ');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('system_prompt is required').waitFor();
    expect(await page.getByLabel('Instructions').getAttribute('aria-invalid')).toBe('true');
    await dashboard.isFine();
  });

  test('a run is a waterfall that grows: each step has its time, tokens and cost, and a failed tool is marked', async () => {
    await dashboard.show(`agents/${agentId}`, 'River guide');
    await page
      .getByLabel('Task')
      .fill(
        `I work at the weir. ${scripted(
          { tool_call: { name: 'web_fetch', arguments: { url: 'no address' } } },
          { tool_call: { name: 'mcp:river/read_gauge', arguments: {} } },
          { delay_ms: 4000 },
        )}`,
      );
    await page.getByLabel('End user').fill('ada');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const steps = page.getByRole('table', { name: /Steps of the run/ });
    // While the model is still at its answer: what is done is there, and what goes on is marked.
    await steps.getByRole('row', { name: /read_gauge/ }).waitFor();
    await steps.getByRole('row', { name: /Model running/ }).waitFor();
    await steps.getByRole('row', { name: /Answer/ }).waitFor();
    await isDone('completed');

    const cells = async (name: RegExp): Promise<string[]> =>
      await steps.getByRole('row', { name }).first().locator('td.number').allInnerTexts();
    const [took, , credits] = await cells(/Web fetch failed/);
    expect(took).toMatch(/\d m?s$/);
    expect(credits).toBe('–');
    expect((await cells(/read_gauge/))[2]).toBe('4');
    expect(Number((await cells(/^Model/))[1]!.replace(',', ''))).toBeGreaterThan(0);
    const sum = await cells(/Together/);
    expect(sum[2]).toBe(String(await creditsOf(page)));

    // By the keyboard.
    await steps.getByRole('button', { name: 'read_gauge' }).focus();
    await page.keyboard.press('Enter');
    await steps.getByText('2.4 m').first().waitFor();
    await dashboard.isFine();
  });

  const creditsOf = async (of: Page): Promise<number> => {
    const run = of.url().split('/').at(-1)!;
    const { body } = await server.rest<{ run: { credits_used: number } }>(
      'GET',
      `/agents/${agentId}/runs/${run}`,
      { key: org.key },
    );
    return body.run.credits_used;
  };

  test('a run that is stopped says so, with its state and what it cost', async () => {
    await dashboard.show(`agents/${agentId}`, 'River guide');
    await page.getByLabel('Task').fill(scripted({ delay_ms: 60_000 }));
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Stop run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop run' }).click();
    await isDone('cancelled');
    await page.getByText('Together').waitFor();
    await page.getByRole('link', { name: '← Agent' }).click();
    await page.getByLabel('State').selectOption('cancelled');
    await expect.poll(() => page.locator('main tbody tr').count()).toBe(1);
  });

  test('a conversation goes on with a document, and shows each answer as it comes', async () => {
    await dashboard.show(`agents/${agentId}`, 'River guide');
    await page.getByLabel('Task').fill('How high is the river?');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await isDone('completed');
    await page.getByRole('link', { name: 'Conversation' }).click();
    const messages = page.getByRole('log');
    await messages.getByText('How high is the river?').first().waitFor();
    await page.getByLabel('Attach files').setInputFiles({
      name: 'levels.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('day,level\nMonday,2.4\n'),
    });
    await page.getByRole('button', { name: 'Remove levels.csv' }).waitFor();
    await page.getByLabel('Next message').fill('And on Monday?');
    await page.getByRole('button', { name: 'Send' }).click();
    await messages.locator('.hint', { hasText: 'tokens' }).nth(1).waitFor();
    expect(await page.getByLabel('Next message').inputValue()).toBe('');
    expect(await messages.getByRole('list', { name: 'Attached files' }).allInnerTexts()).toEqual([
      'levels.csv',
    ]);
    await page
      .getByLabel('Attach files')
      .setInputFiles({ name: 'river.png', mimeType: 'image/png', buffer: PIXEL });
    await page.getByLabel('Next message').fill('What is on this picture?');
    await page.getByRole('button', { name: 'Send' }).click();
    const picture = messages.getByRole('link', { name: 'river.png' }).locator('img');
    await expect
      .poll(() => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(1);
    await dashboard.isFine();
    const [session] = await server.installation.sql<{ runs: number; attachments: number }>(
      `SELECT count(*)::int AS runs, sum(jsonb_array_length(attachments))::int AS attachments
       FROM agent_runs WHERE session_id = (SELECT session_id FROM agent_runs WHERE input = 'And on Monday?')`,
    );
    expect(session).toEqual({ runs: 3, attachments: 2 });
  });

  test('documents are uploaded, read, refused each by itself, and deleted', async () => {
    await dashboard.show(`agents/${agentId}?tab=knowledge`, 'River guide');
    await page.getByLabel('Upload documents').setInputFiles([
      {
        name: 'weirs.md',
        mimeType: 'text/markdown',
        buffer: Buffer.from('# Weirs\n\nThe weir opens in April.'),
      },
      { name: 'broken.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4 no document') },
    ]);
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await row('weirs.md').getByText('in use').waitFor();
    await row('broken.pdf').locator('.reason').waitFor();
    await page.getByLabel('Upload documents').setInputFiles({
      name: 'program.bin',
      mimeType: 'application/octet-stream',
      buffer: Buffer.from('MZ'),
    });
    await page.getByRole('alert').getByText('program.bin').waitFor();
    await dashboard.isFine();
    await page.getByRole('button', { name: 'Delete broken.pdf' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row('broken.pdf').waitFor({ state: 'detached' });
    dashboard.faults.splice(0);
  });

  test('what a user told is listed, found by the user, and forgotten', async () => {
    await dashboard.show(`agents/${agentId}?tab=memories`, 'River guide');
    const told = page.getByRole('row').filter({ hasText: 'I work at the weir.' });
    await told.getByText('ada').waitFor();
    await dashboard.isFine();
    await page.getByLabel('End user').fill('nobody');
    await page.getByText('Nothing of this user').waitFor();
    await page.getByLabel('End user').fill('ada');
    await told.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await told.waitFor({ state: 'detached' });
  });

  test('a template is used under its name, and cannot be changed itself', async () => {
    await dashboard.show('agents', 'Agents');
    await page.getByRole('link', { name: 'Blog Writer' }).click();
    await page.getByRole('navigation', { name: 'Agent' }).getByRole('link', { name: 'Settings' }).click();
    await page.getByText('A template cannot be changed').waitFor();
    await dashboard.isFine();
    await dashboard.show('agents', 'Agents');
    await page.getByRole('button', { name: 'Use Blog Writer' }).click();
    await page.getByRole('button', { name: 'Delete' }).waitFor();
    await page.getByRole('navigation', { name: 'Agent' }).getByRole('link', { name: 'Settings' }).click();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Blog Writer');
  });
});
