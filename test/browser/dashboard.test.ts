import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMemberService } from '../../src/access/index.js';
import type { MemberRole } from '../../src/contract/words.js';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import type { TestOrg } from '../support/installation.js';
import { startBehindPath, type Behind } from '../support/path-proxy.js';
import { PASSWORD, post } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';

const executablePath = findChromium();
const VIEWS = [
  'playground',
  'jobs',
  'agents',
  'models',
  'usage',
  'webhooks',
  'usage?days=7&by=endUser&count=credits',
  'settings/budgets',
  'settings/audit',
  'settings/members',
  'settings/plan',
];

describe.skipIf(executablePath === null)('the dashboard in a browser', () => {
  let server: TestServer;
  let browser: TestBrowser;
  let org: TestOrg;
  beforeAll(async () => {
    server = await startPenstock();
    org = await server.createOrg({ name: 'Waterworks' });
    browser = await startBrowser(executablePath ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  const makeLink = async (email: string): Promise<string> =>
    (await server.services.people.createLink(email)).token;
  const addMember = (email: string, role: MemberRole, orgId = org.orgId) =>
    createMemberService({ database: server.services.database }).add(orgId, email, role);

  /** A page whose faults are all but the one refusal by which a browser learns that nobody is signed in. */
  async function open(url: string): Promise<{ page: Page; faults(): string[] }> {
    const { page, faults } = await browser.open(url);
    return { page, faults: () => faults.filter((fault) => !fault.includes('401 (Unauthorized)')) };
  }

  /** A member who comes by a one-time link and chooses a password. */
  async function enter(email: string, role: MemberRole, base = server.origin) {
    await addMember(email, role);
    const opened = await open(`${base}/dashboard#link=${await makeLink(email)}`);
    await choosePassword(opened.page);
    return opened;
  }

  async function choosePassword(page: Page): Promise<void> {
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByLabel('Repeat it').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set password and sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  }

  async function show(page: Page, view: string): Promise<void> {
    await page.evaluate(`location.hash = '#/${view}'`);
    await page
      .locator(`.side a[aria-current][href$="#/${view.split(/[/?]/)[0]}"]`)
      .waitFor({ state: 'attached' });
    await expect.poll(() => page.locator('main .loading').count()).toBe(0);
  }

  const askQuota = async (key: string): Promise<number> => {
    const response = await fetch(`${server.baseUrl}/quota`, { headers: { authorization: `Bearer ${key}` } });
    await response.text();
    return response.status;
  };

  test('a one-time link leads to a password, and that to a key, shown once, that works until it is revoked', async () => {
    await addMember('owner@waterworks.example', 'owner');
    const { page, faults } = await open(
      `${server.origin}/dashboard#link=${await makeLink('owner@waterworks.example')}`,
    );
    await page.getByText('owner@waterworks.example').waitFor();
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByLabel('Repeat it').fill(`${PASSWORD}?`);
    await page.keyboard.press('Enter');
    await page.getByText('The two passwords differ').waitFor();
    await choosePassword(page);
    expect(page.url()).toBe(`${server.origin}/dashboard#/`);

    await show(page, 'settings/keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name').fill('Turbine');
    await page.keyboard.press('Enter');
    const key = await page.getByLabel('API key').inputValue();
    expect(await askQuota(key)).toBe(200);
    await page.getByRole('button', { name: 'Done' }).click();
    expect(await page.content()).not.toContain(key);

    await page.getByRole('button', { name: 'Revoke Turbine' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('revoked').waitFor();
    expect(await askQuota(key)).toBe(401);

    // GraphiQL asks as whoever is signed in, where no key is given.
    await page.goto(`${server.origin}/graphql`);
    await page.getByText('Signed in as owner@waterworks.example').waitFor();
    await page.click('.graphiql-execute-button');
    await page.locator('.result-window').getByText('business_monthly').waitFor();
    expect(faults()).toEqual([]);
    await page.close();
  });

  test('signing out leads to the form, a wrong password is told beside it, and the right one leads back in', async () => {
    const { page, faults } = await enter('smith@waterworks.example', 'member');
    await page.route('**/auth/sign-out', (route) => route.abort(), { times: 1 });
    await page.getByRole('button', { name: 'Sign out' }).click();
    // Nobody is told to be out whose cookie is still there.
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByLabel('E-mail').fill('smith@waterworks.example');
    expect(await page.getByText('Your session has ended').count()).toBe(0);
    await page.getByLabel('Password').fill('not the password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Invalid email or password').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(faults()).toEqual(['console: Failed to load resource: net::ERR_FAILED']);
    await page.close();
  });

  test('a session that ends elsewhere leads back to signing in, at once and in words', async () => {
    const { page } = await enter('jones@waterworks.example', 'member');
    await page.getByRole('heading', { name: 'Recent jobs' }).waitFor();
    const token = await makeLink('jones@waterworks.example');
    await post(server, 'auth/password', { body: { token, password: `${PASSWORD}!` } });
    await page.getByText('Your session has ended').waitFor();
    await page.close();
  });

  describe('as a viewer', () => {
    let page: Page;
    let faults: () => string[];
    beforeAll(async () => {
      ({ page, faults } = await enter('auditor@waterworks.example', 'viewer'));
    });
    afterAll(() => page?.close());

    test.each(['', ...VIEWS])('#/%s is seen, and nothing in it changes anything', async (view) => {
      await show(page, view);
      const offered = await page.locator('main button').allInnerTexts();
      // A file of the records that are seen changes nothing.
      expect(offered.filter((name) => name !== 'Download')).toEqual([]);
      expect(await page.locator('main [role=alert]').allInnerTexts()).toEqual([]);
      expect(faults()).toEqual([]);
    });

    test('API keys are not offered', async () => {
      await show(page, 'settings/keys');
      expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
      expect(faults()).toEqual([]);
    });
  });

  test('whoever belongs to several organisations chooses between them, and keeps the other when one is lost', async () => {
    const second = await server.createOrg({ name: 'Weir and Sons', plan: 'pro_monthly' });
    await addMember('both@waterworks.example', 'viewer', second.orgId);
    const { page, faults } = await enter('both@waterworks.example', 'viewer');
    await page.getByLabel('Organisation').selectOption('Weir and Sons');
    await page.getByText('Pro Monthly').waitFor();
    await page.getByLabel('Organisation').selectOption('Waterworks');
    await page.getByText('Business Monthly').waitFor();
    expect(faults()).toEqual([]);
    await createMemberService({ database: server.services.database }).remove(
      org.orgId,
      'both@waterworks.example',
    );
    await page.getByText('Pro Monthly').waitFor();
    expect(await page.getByLabel('Organisation').count()).toBe(0);
    await page.close();
  });

  describe('as an admin', () => {
    let page: Page;
    let faults: () => string[];
    beforeAll(async () => {
      ({ page, faults } = await enter('admin@waterworks.example', 'admin'));
    });

    test('a budget is made, shows what was spent, and is deleted; the audit log tells of both', async () => {
      await show(page, 'settings/budgets');
      await page.getByRole('button', { name: 'New budget' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Sluices');
      await page.getByLabel('Unit').selectOption('credits');
      await page.getByLabel('Limit', { exact: true }).fill('12');
      await page.getByRole('button', { name: 'Create budget' }).click();
      const row = page.getByRole('row').filter({ hasText: 'Sluices' });
      await row.getByText('0 credits of 12 credits').waitFor();
      await row.getByRole('button', { name: 'Delete Sluices' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No budgets yet').waitFor();
      await show(page, 'settings/audit');
      for (const what of ['Budget created', 'Budget deleted'])
        await page.getByRole('row').filter({ hasText: 'Sluices' }).filter({ hasText: what }).waitFor();
      expect(faults()).toEqual([]);
    });
    afterAll(() => page?.close());

    test('an admin adds a member, whose link opens for them alone and whose role is theirs to change', async () => {
      await show(page, 'settings/members');
      await page.getByRole('button', { name: 'Add member' }).click();
      expect(await page.getByLabel('Role', { exact: true }).locator('option').allInnerTexts()).toHaveLength(
        3,
      );
      await page.getByLabel('E-mail').fill('new@waterworks.example');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      const link = await page.getByLabel('One-time link').inputValue();
      const other = await open(link.replace(/^http:\/\/[^/]*/, server.origin));
      await other.page.getByText('new@waterworks.example').waitFor();
      await other.page.close();
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByLabel('Role of new@waterworks.example').selectOption('viewer');
      await page.getByRole('button', { name: 'Remove new@waterworks.example' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
      await page
        .getByRole('button', { name: 'Remove new@waterworks.example' })
        .waitFor({ state: 'detached' });
      expect(await page.getByLabel('Role of owner@waterworks.example').count()).toBe(0);
      expect(faults()).toEqual([]);
    });

    test('a dialog takes the focus; Escape closes it and gives the focus back', async () => {
      await show(page, 'webhooks');
      await page.getByRole('button', { name: 'New webhook' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      const focused = (): Promise<string> =>
        page.evaluate(`document.activeElement.name || document.activeElement.innerText`);
      await expect.poll(focused).toBe('name');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      // The dialog gives it back in a task of its own, once it is gone.
      await expect.poll(focused).toBe('New webhook');
    });

    test('a webhook’s secret is shown once; disabled for its failures it is enabled again, with none counted', async () => {
      await show(page, 'webhooks');
      await page.getByRole('button', { name: 'New webhook' }).click();
      await page.getByLabel('Name').fill('Control room');
      await page.getByLabel('Address').fill('https://example.com/hook');
      await page.getByRole('button', { name: 'Create webhook' }).click();
      await page.getByRole('textbox', { name: 'Secret' }).waitFor();
      await page.keyboard.press('Escape');
      expect(await page.getByRole('textbox', { name: 'Secret' }).inputValue()).toMatch(/^whsec_/);
      await page.getByRole('button', { name: 'Done' }).click();
      await server.installation.sql(
        `UPDATE webhooks SET enabled = false, consecutive_failures = 10, disabled_reason = '10 consecutive failed attempts'`,
      );
      await page.getByRole('link', { name: 'Control room' }).click();
      await page.getByText('10 consecutive failed attempts').waitFor();
      await page.getByRole('button', { name: 'Enable again' }).click();
      await page.getByText('enabled', { exact: true }).waitFor();
      expect(await page.locator('.facts').innerText()).toMatch(/Failures in a row\s+0/);
      expect(faults()).toEqual([]);
    });

    test('on a telephone no view is wider than the screen', async () => {
      await page.setViewportSize({ width: 375, height: 700 });
      for (const view of ['', ...VIEWS, 'settings/keys']) {
        await show(page, view);
        const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect({ view, over }).toEqual({ view, over: 0 });
      }
    });
  });

  describe('below a path that a proxy takes off', () => {
    let behind: Behind;
    beforeAll(async () => {
      behind = await startBehindPath('/gate', server.installation);
    });
    afterAll(() => behind?.close());

    // The server's own address is another origin than PUBLIC_URL's: its pages have no session (beyond 14.2).
    test('signing in, a streamed chat, a live job and its picture work', async () => {
      const { page, faults } = await enter('there@waterworks.example', 'member', behind.publicUrl);
      await show(page, 'playground/chat');
      await page.getByLabel('Message', { exact: true }).fill('What is a penstock?');
      await page.keyboard.press('Enter');
      await page
        .getByRole('log')
        .getByText(/\d+ tokens · 1 credit/)
        .waitFor();
      await show(page, 'playground/images');
      await page.getByLabel('Prompt').fill('A dam in the morning light');
      await page.getByRole('button', { name: 'Generate' }).click();
      const picture = page.getByRole('img', { name: 'A dam in the morning light' });
      await picture.waitFor();
      expect(
        await picture.evaluate((image: { naturalWidth: number; decode(): Promise<void> }) =>
          image.decode().then(() => image.naturalWidth),
        ),
      ).toBe(1024);
      await show(page, 'jobs');
      await page.getByRole('table').getByText('completed').first().waitFor();
      expect(faults()).toEqual([]);
      await page.close();
    });
  });
});
