import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createFolding } from '../../src/usage/index.js';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { openDashboard, type TestDashboard } from '../support/dashboard.js';
import type { TestOrg } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { writeLedger, type LedgerRow } from '../support/usage.js';

const executablePath = findChromium();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Math.floor(Date.now() / DAY) * DAY;
const USERS = 900;

describe.skipIf(executablePath === null)('the dashboard’s view of usage', () => {
  let server: TestServer;
  let browser: TestBrowser;
  let org: TestOrg;
  let dashboard: TestDashboard;

  const at = (days: number, hours = 0): Date => new Date(NOON - days * DAY - hours * HOUR);
  const hundredths = (amounts: Record<number, number>): number[] =>
    Array.from({ length: 9 }, (_, bucket) => (amounts[bucket] ?? 0) * 100);
  const chat = (given: Partial<LedgerRow>): LedgerRow => ({
    settledAt: at(1),
    model: 'sandbox/chat-basic',
    keyId: org.keyId,
    tokens: [400, 0, 0, 100, 0],
    costNano: '2000000',
    charged: hundredths({ 0: 2 }),
    ...given,
  });
  const image = (given: Partial<LedgerRow>): LedgerRow => ({
    settledAt: at(2),
    kind: 'image',
    model: 'sandbox/image-standard',
    costNano: '40000000',
    charged: hundredths({ 2: 3 }),
    ...given,
  });

  beforeAll(async () => {
    server = await startPenstock();
    org = await server.createOrg({ name: 'Waterworks', plan: 'business_monthly' });
    browser = await startBrowser(executablePath ?? '');
    const opened = await server.rest('POST', '/chat/completions', {
      key: org.key,
      body: { messages: [{ role: 'user', content: 'Hello' }] },
    });
    expect(opened.status).toBe(200);
    const { database } = server.services;
    await writeLedger(database, org.orgId, [
      ...Array.from({ length: 10 }, () => chat({ endUser: 'ann', tags: ['red', 'blue'] })),
      ...Array.from({ length: 4 }, () => image({ endUser: 'bob', tags: ['red'] })),
      chat({ settledAt: at(3), status: 'failed', errorCode: 'upstream_error', endUser: 'bob' }),
      image({ settledAt: at(200) }),
      // Too many names for one answer of a month by days.
      ...Array.from({ length: USERS }, (_, user) => chat({ settledAt: at(20), endUser: `user-${user}` })),
    ]);
    const folding = createFolding({ database, logger: pino({ level: 'silent' }) });
    await folding.fold();
    await folding.close();
    dashboard = await openDashboard(server, browser, { orgId: org.orgId });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  afterEach(() => expect(dashboard.faults.splice(0)).toEqual([]));

  /** The text of each cell of the row of a name. */
  const cellsOf = async (name: string): Promise<string[]> =>
    dashboard.page
      .locator('main section > table tbody tr')
      .filter({ has: dashboard.page.getByText(name, { exact: true }) })
      .locator('td')
      .allInnerTexts();

  test('calls, money and units of every bucket are summed by model, and the chart has a bar for each day', async () => {
    const { page, show, isFine } = dashboard;
    await show('usage?days=7', 'Usage');
    expect(await cellsOf('sandbox/image-standard')).toEqual([
      'sandbox/image-standard',
      '4',
      '0',
      '$0.1600',
      '0',
      '0',
      '0',
      '12',
    ]);
    expect(await page.locator('.chart-bar').count()).toBe(7);
    await page.getByLabel('Counting').selectOption('image_generations');
    await page.getByRole('heading', { name: 'Image generations' }).waitFor();
    await page.getByText('12 images in this time').waitFor();
    await page.getByLabel('Counting').selectOption('cost');
    await page.getByRole('img', { name: 'At most $0.1600 in one day' }).waitFor();
    await page.getByText('Figures by day').click();
    await page.getByRole('table', { name: 'Cost, USD by day, the newest first' }).waitFor();
    await isFine();
  });

  test('a day is cut into hours and a year into months', async () => {
    const { page, show } = dashboard;
    await show('usage?days=1', 'Usage');
    await expect.poll(() => page.locator('.chart-bar').count()).toBe(24);
    await show('usage?days=365&count=image_generations', 'Usage');
    await expect.poll(() => page.locator('.chart-bar').count()).toBe(12);
    await page.getByText('15 images in this time').waitFor();
    await page.getByLabel('Each').selectOption('day');
    await expect.poll(() => page.locator('.chart-bar').count()).toBeGreaterThan(330);
    expect(await page.getByLabel('Each').locator('option').allInnerTexts()).toEqual(['Day', 'Month']);
    await dashboard.isFine();
  });

  test('more names than the server tells at once are shown as the largest and all others', async () => {
    const { page, show } = dashboard;
    await show('usage?days=90&by=endUser', 'Usage');
    await page.locator('.chart-legend').getByText('others').waitFor();
    await page.locator('.chart-legend').getByText('ann').waitFor();
    await page.getByText('Figures by day').click();
    const row = page.locator('.chart-figures tbody tr').last();
    // Twenty days ago each of them called once: one name has a colour for each of the largest, the others are counted together.
    expect((await row.locator('td').last().innerText()).trim()).toBe(String(USERS));
  });

  test('top lists lead to the usage of one name, and filters stand in the address', async () => {
    const { page, show, settled } = dashboard;
    await show('usage?days=7', 'Usage');
    const top = page.getByRole('region', { name: 'Top end users' });
    await top.getByRole('link', { name: 'ann' }).waitFor();
    expect(await top.getByRole('listitem').first().innerText()).toContain('10 requests');
    await page.getByRole('region', { name: 'Top keys' }).getByRole('link', { name: 'test' }).waitFor();
    await top.getByRole('link', { name: 'ann' }).click();
    await page.waitForURL(/endUser=ann/);
    await settled();
    await page.getByText('10 requests in this time').waitFor();
    await page.getByLabel('By', { exact: true }).selectOption('tag');
    await page.waitForURL(/by=tag/);
    await expect.poll(() => cellsOf('blue')).toEqual(['blue', '10', '0', '$0.0200', '5,000', '20']);
    await page.getByRole('link', { name: 'Requests', exact: true }).last().click();
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
    await page.waitForURL(/requests\?endUser=ann/);
    await page.goBack();
    await page.waitForURL(/by=tag/);
  });

  test('the operations of a view are downloaded as a file, with its filters', async () => {
    const { page, show } = dashboard;
    await show('usage?days=7&endUser=bob', 'Usage');
    await page.getByRole('button', { name: 'Download these operations' }).focus();
    await page.keyboard.press('Enter');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'CSV' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('usage.csv');
    const [, ...lines] = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    expect(lines.length).toBe(5);
    expect(lines.every((line) => line.includes(',bob,'))).toBe(true);
  });
});
