import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createMemberService, createOperatorRegistry } from '../../src/access/index.js';
import { violationsOf } from '../support/axe.js';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import type { TestOrg } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';

const executablePath = findChromium();

describe.skipIf(executablePath === null)('views of the dashboard', () => {
  let server: TestServer;
  let browser: TestBrowser;
  let org: TestOrg;
  let page: Page;
  const faults: string[] = [];
  beforeAll(async () => {
    server = await startPenstock();
    org = await server.createOrg({ name: 'Waterworks' });
    browser = await startBrowser(executablePath ?? '');
    const { database, people } = server.services;
    await createMemberService({ database }).add(org.orgId, 'op@example.com', 'owner');
    await createOperatorRegistry({ database }).add('op@example.com');
    const { token } = await people.signInVerified('op@example.com');
    const context = await browser.browser.newContext({ viewport: { width: 1280, height: 900 } });
    await context.addCookies([{ name: 'penstock_session', value: token, url: server.origin }]);
    page = await context.newPage();
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    await page.goto(`${server.origin}/dashboard`);
    await page.getByRole('link', { name: 'Operator' }).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  afterEach(() => expect(faults.splice(0)).toEqual([]));

  async function show(address: string, heading: string): Promise<void> {
    await page.evaluate(`location.hash = '#/${address}'`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await expect.poll(() => page.locator('main .loading').count()).toBe(0);
  }

  /** Wide and light, narrow and dark: no violation, and nothing wider than the page. */
  async function isFine(): Promise<void> {
    for (const [colorScheme, width] of [
      ['light', 1280],
      ['dark', 375],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([colorScheme, width, over, await violationsOf(page)]).toEqual([colorScheme, width, 0, []]);
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 900 });
  }

  test('an operator finds an organisation, changes its plan, tops it up and revokes a key', async () => {
    const mills = await server.createOrg({ name: 'Mills', plan: 'free' });
    await show('operator', 'Operator');
    await page.getByRole('link', { name: 'Waterworks' }).waitFor();
    await page.getByLabel('Search').fill('mil');
    await page.getByRole('link', { name: 'Waterworks' }).waitFor({ state: 'detached' });
    await isFine();
    await page.getByRole('link', { name: 'Mills' }).click();
    await page.getByLabel('Change to').selectOption('Pro Monthly');
    await page.getByRole('button', { name: 'Change plan' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Change plan' }).click();
    await page.locator('.facts').getByText('Pro Monthly').waitFor();
    await page.getByLabel('Bucket').selectOption('Music tracks');
    await page.getByLabel('Amount').fill('7');
    await page.getByRole('button', { name: 'Top up' }).click();
    await page.getByText('Added 7 music tracks').waitFor();
    await page.getByRole('button', { name: 'Revoke test' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('revoked', { exact: true }).waitFor();
    await isFine();
    expect((await server.rest('GET', '/quota', { key: mills.key })).status).toBe(401);
  });

  test('an operator sees usage, providers, queues and dead letters', async () => {
    for (const tab of ['Usage', 'Providers', 'Queues', 'Dead letters']) {
      await page.evaluate(`location.hash = '#/operator/${tab.toLowerCase().replace(' ', '-')}'`);
      await page.getByRole('link', { name: tab, exact: true }).and(page.locator('[aria-current]')).waitFor();
      await expect.poll(() => page.locator('main .loading').count()).toBe(0);
      await isFine();
    }
  });

  test('who is no operator is not offered the operator’s part', async () => {
    const { database, people } = server.services;
    await createMemberService({ database }).add(org.orgId, 'plain@example.com', 'owner');
    const { token } = await people.signInVerified('plain@example.com');
    const context = await browser.browser.newContext();
    await context.addCookies([{ name: 'penstock_session', value: token, url: server.origin }]);
    const other = await context.newPage();
    await other.goto(`${server.origin}/dashboard#/operator`);
    await other.getByRole('alert').getByText('Only operators may do this').waitFor();
    expect(await other.getByRole('link', { name: 'Operator' }).count()).toBe(0);
    await context.close();
  });

  test('a chat streams Markdown and reasoning, answers its own tool, and is there again from this browser’s history', async () => {
    await show('playground/chat', 'Playground');
    await page.getByLabel('Message', { exact: true }).fill('# Heading\n\nWhat is a penstock?');
    await page
      .getByRole('status')
      .getByText(/about .* credits?/)
      .waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page
      .getByRole('log')
      .getByText(/tokens · 1 credit/)
      .waitFor();
    await isFine();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('log').getByText('Ask something').waitFor();
    await page.getByRole('button', { name: /# Heading/ }).click();
    await page.getByRole('log').getByText('What is a penstock?').first().waitFor();
    await page.getByText('View code').click();
    for (const [language, words] of [
      ['curl', 'curl http'],
      ['node', "import OpenAI from 'openai'"],
      ['python', 'from openai import OpenAI'],
      ['GraphQL', 'chatCompletion(input: $input)'],
    ] as const) {
      await page.getByRole('button', { name: language, exact: true }).click();
      await page.getByLabel(`${language} code`).getByText(words).waitFor();
    }
  });

  test('a response of the Responses convention streams, and the next builds on it', async () => {
    await show('playground/responses', 'Playground');
    for (const question of ['One', 'Two']) {
      await page.getByLabel('Message', { exact: true }).fill(question);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    }
    await expect
      .poll(() =>
        page
          .getByRole('log')
          .getByText(/tokens/)
          .count(),
      )
      .toBe(2);
  });

  test('a mask is drawn over a picture, the edit is estimated, made, and shown with its cost', async () => {
    await show('playground/edits', 'Playground');
    await page.getByLabel('Picture').setInputFiles({
      name: 'weir.png',
      mimeType: 'image/png',
      buffer: await pictureOf(page),
    });
    const canvas = page.getByRole('img', { name: /The area to edit/ });
    await canvas.scrollIntoViewIfNeeded();
    const box = (await canvas.boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.3);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.7, { steps: 4 });
    await page.mouse.up();
    await page.getByLabel('What to paint').fill('A heron');
    await page
      .getByRole('status')
      .getByText(/image edits/)
      .waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('img', { name: 'inpainting: A heron' }).waitFor();
    await page.locator('.works').getByText('Details').waitFor();
    await isFine();
  });

  test('speech is made, and a recording transcribed; embeddings and a ranking answer at once', async () => {
    await show('playground/speech', 'Playground');
    await page.getByLabel('Text').fill('The water is high today.');
    await page.getByRole('button', { name: 'Speak' }).click();
    const sound = page.locator('.works audio').first();
    await sound.waitFor();
    const bytes = Buffer.from(
      (await page.evaluate(
        `fetch(document.querySelector('.works audio').src).then((one) => one.arrayBuffer()).then((all) => [...new Uint8Array(all)])`,
      )) as number[],
    );
    await show('playground/transcription', 'Playground');
    await page
      .getByLabel('Recording')
      .setInputFiles({ name: 'a.mp3', mimeType: 'audio/mpeg', buffer: bytes });
    await page.getByRole('button', { name: 'Transcribe' }).click();
    await page.locator('.works .output-text').first().waitFor();
    await show('playground/embeddings', 'Playground');
    await page.getByLabel(/Texts/).fill('The river is high\nBread is baked at night');
    await page.getByRole('button', { name: 'Embed' }).click();
    await page.getByRole('cell', { name: '1.000' }).waitFor();
    await isFine();
    await show('playground/rerank', 'Playground');
    await page.getByLabel('Question').fill('When is the river high?');
    await page.getByLabel(/Texts/).fill('Bread is baked at night\nThe river is high in April');
    await page.getByRole('button', { name: 'Rank' }).click();
    await page.getByRole('cell', { name: 'The river is high in April' }).waitFor();
  });

  test('a key gets limits and a budget, is found, changed, and rotated while the old secret still works', async () => {
    await show('settings/keys', 'API keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Turbine');
    await page.getByText('Limits and attribution').click();
    await page.getByLabel('Tags').fill('team:hydro');
    await page.getByLabel('Monthly budget in USD').fill('5');
    await page.getByRole('button', { name: 'Create key' }).click();
    const first = await page.getByLabel('API key').inputValue();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByLabel('Search').fill('hydro');
    const row = page.getByRole('row').filter({ hasText: 'Turbine' });
    await row.getByText('$0 of $5').waitFor();
    await isFine();
    await row.getByRole('button', { name: 'Edit Turbine' }).click();
    await page.getByLabel('Calls per minute').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await row.getByText('7 calls a minute').waitFor();
    await row.getByRole('button', { name: 'Rotate Turbine' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    const second = await page.getByLabel('API key').inputValue();
    await page.getByRole('button', { name: 'Done' }).click();
    expect(second).not.toBe(first);
    for (const key of [first, second]) expect((await server.rest('GET', '/quota', { key })).status).toBe(200);
  });

  test('a webhook gets its own headers; the catalogue shows each event; what was missed is recovered', async () => {
    await show('webhooks', 'Webhooks');
    await page.getByLabel('Event', { exact: true }).selectOption('budget.threshold');
    await page.getByText('"budgetId"').waitFor();
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Control room');
    await page.getByLabel('Address').fill('https://example.com/hook');
    await page.getByLabel('Own headers').fill('no header');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('alert').getByText('is no header').waitFor();
    await page.getByLabel('Own headers').fill('x-own: secret');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: 'Control room' }).click();
    await page.locator('.facts').getByText('x-own').waitFor();
    await page.getByRole('button', { name: 'Recover events' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Recover' }).click();
    await page.getByRole('dialog').getByText('0 events are on the way again.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await isFine();
  });
});

/** A PNG, drawn by the page. */
async function pictureOf(page: Page): Promise<Buffer> {
  const url = (await page.evaluate(`(() => {
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width: 320, height: 240 });
    const drawing = canvas.getContext('2d');
    drawing.fillStyle = 'teal';
    drawing.fillRect(0, 0, 320, 240);
    return canvas.toDataURL('image/png');
  })()`)) as string;
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}
