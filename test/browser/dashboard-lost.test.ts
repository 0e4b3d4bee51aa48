import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { openDashboard, type TestDashboard } from '../support/dashboard.js';
import type { TestOrg } from '../support/installation.js';
import { PASSWORD } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';

const executablePath = findChromium();

describe.skipIf(executablePath === null)('the dashboard', () => {
  let server: TestServer;
  let browser: TestBrowser;
  let org: TestOrg;
  let dashboard: TestDashboard;
  beforeAll(async () => {
    server = await startPenstock();
    org = await server.createOrg({ name: 'Waterworks', plan: 'business_monthly' });
    browser = await startBrowser(executablePath ?? '');
    dashboard = await openDashboard(server, browser, org);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
  const follow = (page: Page, name: string) =>
    page.locator('.side').getByRole('link', { name, exact: true }).click();

  test('waits for a view whose files cannot be had without a network, and shows it by itself afterwards', async () => {
    const { page, faults } = dashboard;
    await page.context().setOffline(true);
    await follow(page, 'Webhooks');
    await page.getByText('The server has not answered yet').waitFor();
    await page.context().setOffline(false);
    await heading(page, 'Webhooks').waitFor();
    expect(faults.splice(0).filter((fault) => !fault.includes('ERR_INTERNET_DISCONNECTED'))).toEqual([]);
  });

  test('loads again where a newer version has replaced its files, but not for a message', async () => {
    const { page, show } = dashboard;
    await show('settings', 'API keys');
    await page.evaluate('window.isTheSame = true');
    const isGone = (name: string) =>
      page.route(`**/dashboard-${name}-*.js`, (route) => route.fulfill({ status: 404, body: '' }));
    await isGone('toast-stack');
    await page.getByRole('button', { name: 'Revoke test' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('revoked', { exact: true }).waitFor();
    await isGone('models');
    await follow(page, 'Models');
    await expect.poll(() => page.evaluate('window.isTheSame').catch(() => null)).toBeUndefined();
    await page.unrouteAll();
    await page.reload();
    await heading(page, 'Models').waitFor();
    dashboard.faults.splice(0);
  });

  test('keeps a filter that is chosen while another is being typed', async () => {
    const { page, show } = dashboard;
    await show('jobs', 'Jobs');
    await page.getByLabel('Prompt holds').pressSequentially('weir');
    await page.getByLabel('Kind').selectOption('image');
    await page.waitForURL(/text=weir/);
    expect(await page.getByLabel('Kind').inputValue()).toBe('image');
  });

  test('has an open menu and a failed delivery without a fault that axe finds', async () => {
    const { page, show, isFine } = dashboard;
    await show('usage', 'Usage');
    await page.getByRole('button', { name: 'Download these operations' }).click();
    await page.getByRole('menu').waitFor();
    await isFine();
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('Escape');
    const { key } = await server.createKey(org.orgId);
    const body = { name: 'Hook', url: 'https://example.com/hook', events: ['credits.low'] };
    const { body: made } = await server.rest<{ webhook: { id: string } }>('POST', '/webhooks', {
      key,
      body,
    });
    await server.rest('POST', `/webhooks/${made.webhook.id}/test`, { key });
    await show(`webhooks/${made.webhook.id}`, 'Hook');
    await page.getByRole('button', { name: /^Retry/ }).waitFor();
    await isFine();
    expect(dashboard.faults.splice(0)).toEqual([]);
  });

  test('is left and entered in all tabs of a browser at once', async () => {
    const { page, show } = dashboard;
    await show('settings', 'API keys');
    const other = await page.context().newPage();
    await other.goto(`${server.origin}/dashboard`);
    await heading(other, 'Overview').waitFor();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Your session has ended').waitFor();
    const { token } = await server.services.people.createLink('owner@example.com');
    const third = await page.context().newPage();
    await third.goto(`${server.origin}/dashboard#link=${token}`);
    await third.getByLabel('New password').fill(PASSWORD);
    await third.getByLabel('Repeat it').fill(PASSWORD);
    await third.getByRole('button', { name: 'Set password and sign in' }).click();
    await heading(page, 'API keys').waitFor();
    await heading(other, 'Overview').waitFor();
  });
});
