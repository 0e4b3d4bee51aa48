import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { signIn } from '../support/people.js';
import { startBehindPath, type Behind } from '../support/path-proxy.js';
import { startPenstock, type TestServer } from '../support/server.js';

const executablePath = findChromium();

/** Runs in the page: nobody clicks a tab sooner. */
const clickWhenConnected = (tab: string): string => `
  const state = document.getElementById('state');
  new MutationObserver(() => {
    if (state.textContent !== 'Connected') return;
    for (const button of document.querySelectorAll('[role=tab] button'))
      if (button.textContent === '${tab}') button.click();
  }).observe(state, { childList: true });`;

describe.skipIf(executablePath === null)('pages in a browser', () => {
  let server: TestServer;
  let browser: TestBrowser;
  let key: string;
  beforeAll(async () => {
    server = await startPenstock();
    ({ key } = await server.createOrg());
    browser = await startBrowser(executablePath ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test('GraphiQL loads from this server alone, takes a key, and answers a query', async () => {
    const { page, faults } = await browser.open(`${server.origin}/graphql`);
    await page.getByText('No key').waitFor();
    await page.fill('#key', key);
    await page.press('#key', 'Enter');
    await page.getByText('Connected').waitFor();
    await page.getByRole('tab', { name: 'Overview' }).waitFor();
    await page.click('.graphiql-execute-button');
    await page.locator('.result-window').getByText('"business_monthly"').waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('GraphiQL runs a subscription over WebSocket, asked for as soon as the page says that the key works', async () => {
    const { page, faults } = await browser.open(`${server.origin}/graphql`);
    await page.evaluate(clickWhenConnected('Tokens'));
    await page.fill('#key', key);
    await page.press('#key', 'Enter');
    await page.locator('.graphiql-query-editor').getByText('subscription').waitFor();
    await page.click('.graphiql-execute-button');
    await page.locator('.result-window').getByText('"creditsUsed": 1').waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('GraphiQL on a telephone shows key, question and answer across its width', async () => {
    const { page, faults } = await browser.open(`${server.origin}/graphql`);
    await page.setViewportSize({ width: 375, height: 700 });
    await page.fill('#key', key);
    await page.press('#key', 'Enter');
    await page.getByText('Connected').waitFor();
    for (const part of [
      '#key',
      '#state',
      '.graphiql-query-editor',
      '.graphiql-execute-button',
      '.result-window',
    ]) {
      const box = await page.locator(part).boundingBox();
      const isCut = (box?.x ?? 0) + (box?.width ?? 0) > 375;
      expect({ part, isCut }).toEqual({ part, isCut: false });
    }
    expect((await page.locator('.result-window').boundingBox())?.width).toBeGreaterThan(200);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('GraphiQL is worked by the keyboard alone: Enter goes into an editor, Tab goes on from it, both ways', async () => {
    const { page, faults } = await browser.open(`${server.origin}/graphql`);
    await page.fill('#key', key);
    await page.press('#key', 'Enter');
    await page.getByText('Connected').waitFor();
    const place = (): Promise<string> =>
      page.evaluate(`document.activeElement.tagName + ' ' + document.activeElement.className`);
    const goUntil = async (stop: (place: string) => boolean, press: string): Promise<boolean> => {
      for (let steps = 0; steps < 40; steps++) {
        await page.keyboard.press(press);
        if (stop(await place())) return true;
      }
      return false;
    };
    const isEditor = (name: string): boolean => name.startsWith('DIV') && name.includes('graphiql-editor');
    const enter = async (): Promise<void> => {
      await page.keyboard.press('Enter');
      expect(await place()).toMatch(/^TEXTAREA/);
    };
    expect(await goUntil(isEditor, 'Tab')).toBe(true);
    const text = page.locator('.graphiql-query-editor .view-lines');
    const before = await text.innerText();
    await enter();
    expect(await goUntil((name) => name.includes('graphiql-execute-button'), 'Tab')).toBe(true);
    expect(await goUntil(isEditor, 'Shift+Tab')).toBe(true);
    await enter();
    expect(await goUntil((name) => !/^TEXTAREA|graphiql-editor/.test(name), 'Shift+Tab')).toBe(true);
    expect(await text.innerText()).toBe(before);
    expect(faults).toEqual([]);
    await page.close();
  });

  test('GraphiQL tells of a refused key', async () => {
    const { page } = await browser.open(`${server.origin}/graphql`);
    await page.fill('#key', `sk_${'0'.repeat(64)}`);
    await page.press('#key', 'Enter');
    await page.getByText('Key refused').waitFor();
    await page.close();
  });

  test('the API docs show every endpoint, from this server alone', async () => {
    const { page, faults } = await browser.open(`${server.origin}/docs`);
    await page.getByText('/chat/completions').first().waitFor();
    await page.getByText('/images/generations').first().waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  test('the API docs are dark where the reader wants that, and call with the session of who is signed in', async () => {
    const { orgId } = await server.createOrg();
    const { cookie } = await signIn(server, { orgId, email: 'owner@docs.example', role: 'owner' });
    const { page, faults } = await browser.open(`${server.origin}/docs`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('html.dark-mode').waitFor();
    const [name = '', value = ''] = cookie.split(/=(.*)/s);
    await page.context().addCookies([{ name, value, url: server.origin }]);
    await page.getByRole('button', { name: 'Use my session' }).click();
    await page.getByText('Signed in for an hour').waitFor();
    await page.locator('.opblock-get', { hasText: '/quota' }).locator('.opblock-summary-control').click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table .response-col_status').getByText('200').first().waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  describe('below a path that a proxy takes off', () => {
    let behind: Behind;
    beforeAll(async () => {
      behind = await startBehindPath('/gate', server.installation);
    });
    afterAll(() => behind?.close());

    test.each(['/graphql', '/graphql/'])(
      'GraphiQL at %s loads, asks, and subscribes over WebSocket',
      async (path) => {
        const { page, faults } = await browser.open(behind.publicUrl + path);
        await page.evaluate(clickWhenConnected('Tokens'));
        await page.fill('#key', key);
        await page.press('#key', 'Enter');
        await page.locator('.graphiql-query-editor').getByText('subscription').waitFor();
        await page.click('.graphiql-execute-button');
        await page.locator('.result-window').getByText('"creditsUsed": 1').waitFor();
        expect(faults).toEqual([]);
        await page.close();
      },
    );

    test.each(['/', '/docs', '/docs/'])(
      'the API docs at %s call the address that they are read at',
      async (path) => {
        for (const base of [behind.publicUrl, behind.origin]) {
          const { page, faults } = await browser.open(base + path);
          await page.getByText('/chat/completions').first().waitFor();
          expect(page.url()).toBe(`${base}/docs`);
          expect(await page.locator('.servers select').inputValue()).toBe(`${base}/api/v1`);
          const links = await page.locator('.bar a').evaluateAll((all) => all.map((link) => link.toString()));
          expect(links).toContain(`${base}/graphql`);
          expect(faults).toEqual([]);
          await page.close();
        }
      },
    );
  });
});
