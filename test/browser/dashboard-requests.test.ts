import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { openDashboard, type TestDashboard } from '../support/dashboard.js';
import { createInstallation, freePort, type Installation, type TestOrg } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { writeLedger } from '../support/usage.js';

const executablePath = findChromium();

describe.skipIf(executablePath === null)('the dashboard’s requests', () => {
  let installation: Installation;
  let port: number;
  let server: TestServer;
  let browser: TestBrowser;
  let org: TestOrg;
  let dashboard: TestDashboard;

  const call = async (path: string, body: object): Promise<void> => {
    const answer = await server.rest('POST', path, { key: org.key, body });
    expect([path, answer.status]).toEqual([path, 200]);
  };
  const chat = (user: string) =>
    call('/chat/completions', { user, messages: [{ role: 'user', content: 'What is a weir?' }] });
  /** What GraphQL lists, by the ids of their requests. */
  const stored = async (filter = ''): Promise<string[]> => {
    const { data } = await server.graphql<{ usageRecords: { nodes: { requestId: string }[] } }>(
      `{ usageRecords(first: 100, filter: { ${filter} }) { nodes { requestId } } }`,
      { key: org.key },
    );
    return (data?.usageRecords.nodes ?? []).map(({ requestId }) => requestId);
  };
  const shown = (): Promise<string[]> =>
    dashboard.page
      .locator('main tbody tr dd', { hasText: /^req_/ })
      .allTextContents()
      .then((texts) => texts.map((text) => text.trim()));
  const agrees = async (filter = ''): Promise<void> => {
    await expect
      .poll(
        async () => {
          const [wanted, found] = [await stored(filter), await shown()];
          return JSON.stringify(wanted) === JSON.stringify(found) ? 'the same' : { wanted, found };
        },
        { timeout: 20_000 },
      )
      .toBe('the same');
  };

  beforeAll(async () => {
    installation = await createInstallation();
    port = await freePort();
    server = await startPenstock({ installation, port });
    org = await server.createOrg({ name: 'Waterworks', plan: 'business_monthly' });
    await chat('ann');
    browser = await startBrowser(executablePath ?? '');
    dashboard = await openDashboard(server, browser, { orgId: org.orgId });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await installation?.close();
  });

  test('calls come in at the top while the list is open, in the server’s order and each once', async () => {
    await dashboard.show('requests', 'Requests');
    await agrees();
    for (let at = 0; at < 12; at++) await (at % 3 === 0 ? chat('bob') : chat('ann'));
    await call('/images/generations', { prompt: 'A weir', size: '512x512' });
    await agrees();
    const ids = await shown();
    expect(new Set(ids).size).toBe(14);
    await dashboard.isFine();
  }, 120_000);

  test('a filtered list takes in only what it asks for', async () => {
    await dashboard.show('requests?endUser=bob', 'Requests');
    await agrees('endUsers: ["bob"]');
    await chat('ann');
    await chat('bob');
    await agrees('endUsers: ["bob"]');
    expect((await shown()).length).toBe(5);
  });

  test('what is under way changes its row when it ends', async () => {
    const { page, show } = dashboard;
    await show('requests?operation=image', 'Requests');
    const body = { prompt: 'A dam @sandbox{"delay_ms":12000}', size: '512x512' };
    await call('/images/generations?async=true', body);
    await page.reload();
    await page.locator('main tbody tr').first().getByText('under way').waitFor();
    await page.locator('main tbody tr').first().getByText('succeeded').waitFor();
    await agrees('operations: [image]');
  }, 60_000);

  test('a restart of the server loses none and repeats none', async () => {
    await dashboard.show('requests', 'Requests');
    await agrees();
    await server.close();
    server = await startPenstock({ installation, port });
    await chat('eva');
    await chat('eva');
    await agrees();
    dashboard.faults.splice(0);
  }, 90_000);

  test('more at once than anybody reads leaves the newest, without a gap', async () => {
    await dashboard.show('requests', 'Requests');
    await agrees();
    await writeLedger(
      server.services.database,
      org.orgId,
      Array.from({ length: 700 }, (_, at) => ({
        settledAt: new Date(Date.now() + at),
        requestId: `req_many_${at}`,
      })),
    );
    const newest = Array.from({ length: 50 }, (_, at) => `req_many_${699 - at}`);
    await expect.poll(async () => (await shown()).slice(0, 50), { timeout: 30_000 }).toEqual(newest);
    await expect
      .poll(async () => {
        const ids = await shown();
        return ids.every((id, at) => id === `req_many_${699 - at}`);
      })
      .toBe(true);
  }, 60_000);

  test('the job, the run and the response of a record are a click away', async () => {
    const { page, show } = dashboard;
    await show('requests?operation=image', 'Requests');
    await page.locator('main tbody').getByRole('link', { name: 'Job' }).first().click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    const answer = await server.raw('/v1/responses', {
      method: 'POST',
      headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'What is a sluice?' }),
    });
    expect(answer.statusCode).toBe(200);
    const { id } = (await answer.body.json()) as { id: string };
    await show('requests?operation=chat', 'Requests');
    await page.locator('main tbody').getByRole('link', { name: 'Response' }).first().click();
    await page.waitForURL(new RegExp(`responses/${id}`));
    await page.getByRole('heading', { level: 1 }).waitFor();
    const agentId = await makeAgent(server, org.key);
    const { runId } = await runAgent(server, org.key, agentId, { input: 'When is the river high?' });
    await show('requests?operation=agent_run', 'Requests');
    await page.locator('main tbody').getByRole('link', { name: 'Run' }).first().click();
    await page.waitForURL(new RegExp(`agents/${agentId}/${runId}`));
  }, 60_000);

  afterEach(() => expect(dashboard.faults.splice(0)).toEqual([]));
});
