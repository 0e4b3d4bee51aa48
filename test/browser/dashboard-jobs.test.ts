import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { openDashboard, type TestDashboard } from '../support/dashboard.js';
import type { TestOrg } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';

const executablePath = findChromium();

/** A microphone that hears a tone, and a person who lets the page use it. */
const MICROPHONE = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];
/** So that sound and film play without a press, and their length is known. */
const PLAYER = ['--autoplay-policy=no-user-gesture-required'];

describe.skipIf(executablePath === null)(
  'jobs, models and media in the dashboard',
  { timeout: 240_000 },
  () => {
    let server: TestServer;
    let browser: TestBrowser;
    let org: TestOrg;
    let dashboard: TestDashboard;
    let page: Page;
    beforeAll(async () => {
      server = await startPenstock();
      org = await server.createOrg({ name: 'Waterworks' });
      browser = await startBrowser(executablePath ?? '', [...MICROPHONE, ...PLAYER]);
      dashboard = await openDashboard(server, browser, { orgId: org.orgId, email: 'eva@example.com' });
      ({ page } = dashboard);
      await page.context().grantPermissions(['microphone'], { origin: server.origin });
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });
    afterEach(() => expect(dashboard.faults.splice(0)).toEqual([]));

    interface Stored {
      id: string;
      tool: string;
      status: string;
      input_params: Record<string, unknown>;
    }

    /** The newest first. */
    const stored = (): Promise<Stored[]> =>
      server.installation.sql<Stored>('SELECT id, tool, status, input_params FROM jobs ORDER BY id DESC');

    const works = () => page.locator('.works');

    /** Seconds that a player knows of what it plays. */
    const lengthOf = async (player: 'video' | 'audio'): Promise<number> => {
      const first = works().locator(player).first();
      // Films are made on the processor, which others use, too.
      await first.waitFor({ timeout: 120_000 });
      return await first.evaluate(
        (element: { duration: number; addEventListener(name: string, then: () => void): void }) =>
          new Promise<number>((resolve) => {
            const tell = () => resolve(element.duration);
            if (element.duration > 0) tell();
            else element.addEventListener('durationchange', tell);
          }),
      );
    };

    test('a film is made in the playground: estimated, live, played, and charged in every bucket', async () => {
      await dashboard.show('playground/video', 'Playground');
      await page.getByLabel('Prompt').fill('Water falls over a weir');
      await page.getByLabel('Seconds').fill('2');
      await page
        .getByRole('status')
        .getByText(/about 1 credit and 2 seconds of video/)
        .waitFor();
      await page.getByRole('button', { name: 'Generate' }).click();
      expect(await lengthOf('video')).toBeCloseTo(2, 0);
      await works().getByText('1 credit and 2 seconds of video').first().waitFor();
      await dashboard.isFine();
    });

    test('music is composed in the playground and played', async () => {
      await dashboard.show('playground/music', 'Playground');
      await page.getByLabel('Prompt').fill('A calm piano');
      await page.getByLabel('Seconds').fill('3');
      await page.getByRole('button', { name: 'Compose' }).click();
      expect(await lengthOf('audio')).toBeCloseTo(3, 0);
      await works()
        .getByText(/music track/)
        .first()
        .waitFor();
      await dashboard.isFine();
    });

    test('what the microphone hears is transcribed', async () => {
      await dashboard.show('playground/transcription', 'Playground');
      await page.getByRole('button', { name: 'Record', exact: true }).click();
      await page.getByRole('button', { name: /Stop recording \([1-9]/ }).click();
      await page.getByLabel('A recording', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Transcribe' }).click();
      await works().locator('.badge', { hasText: 'completed' }).waitFor();
      const [job] = await stored();
      expect(job).toMatchObject({ tool: 'stt', status: 'completed' });
      await dashboard.isFine();
    });

    test('a job of each kind is run again with the same input, as a new job with a charge of its own', async () => {
      const before = await stored();
      expect(before.map(({ tool }) => tool).toSorted()).toEqual(['music', 'stt', 'video']);
      const { key } = org;
      const { body: picture } = await server.rest<{ data: { url: string }[] }>(
        'POST',
        '/images/generations',
        {
          key,
          body: { prompt: 'A dam', size: '512x512', style: 'natural', negative_prompt: 'people', seed: 7 },
        },
      );
      await server.rest('POST', '/audio/speech?async=true', {
        key,
        body: { input: 'The water is high.', speed: 1.25 },
      });
      await server.rest('POST', '/images/edits?async=true', {
        key,
        body: { image: picture.data[0]!.url, operation: 'outpainting', direction: 'left', expand_pixels: 64 },
      });
      await expect
        .poll(async () => (await stored()).filter(({ status }) => status === 'completed').length, {
          timeout: 120_000,
        })
        .toBe(6);
      const first = await stored();
      for (const { id, tool, input_params: asked } of first) {
        await dashboard.show(`jobs/${id}`, '');
        await page.getByRole('button', { name: 'Run again' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText(/about/).waitFor();
        await dialog.getByRole('button', { name: 'Run again' }).click();
        await page.waitForURL((address) => address.hash.startsWith('#/jobs/') && !address.hash.endsWith(id));
        const made = (await stored())[0]!;
        expect([tool, made.tool, forgetFiles(made.input_params)]).toEqual([tool, tool, forgetFiles(asked)]);
      }
      await expect
        .poll(async () => (await stored()).filter(({ status }) => status === 'completed').length, {
          timeout: 120_000,
        })
        .toBe(12);
    });

    /** Each job has files of its own. */
    const forgetFiles = (params: Record<string, unknown>): unknown =>
      JSON.parse(JSON.stringify(params).replaceAll(/file_[0-9a-z]+/g, 'file'));

    test('a job tells its charge in every bucket, its request and its files; one that failed tells why', async () => {
      const [video] = (await stored()).filter(({ tool }) => tool === 'video');
      await dashboard.show(`jobs/${video!.id}`, 'Video');
      const facts = page.locator('.facts');
      await facts.getByText('1 credit and 2 seconds of video').waitFor();
      await facts.getByText(/^req_/).waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download' }).click();
      expect((await download).suggestedFilename()).toMatch(/\.mp4$/);
      await dashboard.isFine();
      await dashboard.show('jobs', 'Jobs');
      await page
        .getByRole('row')
        .filter({ hasText: 'Music' })
        .first()
        .getByText(/music track/)
        .last()
        .waitFor();
      await dashboard.isFine();

      await server.rest('POST', '/images/generations?async=true', {
        key: org.key,
        body: { prompt: 'A dam @sandbox{"fail":"no luck"}' },
      });
      await page.getByRole('row').locator('.reason', { hasText: 'Generation failed' }).waitFor();
      const [failed] = await stored();
      await dashboard.show(`jobs/${failed!.id}`, 'Image');
      await page.getByRole('alert').getByText('Generation failed').waitFor();
      await facts.getByText('nothing', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Run again' }).waitFor();
    });

    test('the input of a job is changed in the playground', async () => {
      const [image] = (await stored()).filter(({ input_params: { seed } }) => seed === 7);
      await dashboard.show(`jobs/${image!.id}`, 'Image');
      await page.getByRole('link', { name: 'Change input' }).click();
      await expect.poll(() => page.getByLabel('Prompt').inputValue()).toBe('A dam');
      expect(await page.getByLabel('Size').inputValue()).toBe('512x512');
      expect(await page.getByLabel('Not in it').inputValue()).toBe('people');
      expect(await page.getByLabel('Seed').inputValue()).toBe('7');
      const [edit] = (await stored()).filter(({ tool }) => tool === 'image_edit');
      await dashboard.show(`playground/edits?job=${edit!.id}`, 'Playground');
      const picture = page.getByRole('img', { name: 'The file of the job' });
      await expect
        .poll(() => picture.evaluate((one: { naturalWidth: number }) => one.naturalWidth))
        .toBe(512);
      await page.getByLabel('By how many pixels').fill('32');
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      await works().getByRole('img', { name: 'outpainting' }).waitFor();
      expect((await stored())[0]!.input_params).toMatchObject({ direction: 'left', expand_pixels: 32 });
    });

    test('models tell their provider, what they do and their price, and each is tried out where its kind is', async () => {
      await dashboard.show('models', 'Models');
      await dashboard.isFine();
      await page.getByLabel('Provider').selectOption('sandbox');
      await page
        .getByRole('row')
        .filter({ hasText: 'sandbox/image-standard' })
        .getByText('1 image and 0.75 credits')
        .waitFor();
      await page.getByLabel('Type').selectOption('Video');
      const row = page.getByRole('row').filter({ hasText: 'sandbox/' }).last();
      await row.getByText('text').first().waitFor();
      const id = await row.locator('.code').innerText();
      await row.getByRole('link', { name: /^Try/ }).click();
      await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
      await page.getByRole('heading', { level: 2, name: 'Video' }).waitFor();
      await expect.poll(() => chosenModel(id)).toBe(true);
      await dashboard.show('models', 'Models');
      await page.getByLabel('Type').selectOption('Chat');
      await page.getByLabel('Search').fill('standard');
      await page.waitForURL(/type=chat&text=standard|text=standard&type=chat/);
      // Back has the filters, and so has a bookmark.
      await page.reload();
      await expect.poll(() => page.getByLabel('Type').inputValue()).toBe('chat');
      expect(await page.getByLabel('Search').inputValue()).toBe('standard');
      await page.getByRole('link', { name: /^Try/ }).first().click();
      await expect.poll(() => page.getByLabel('Model').inputValue()).toContain('standard');
    });

    /** The default model has no name in the choice. */
    async function chosenModel(id: string): Promise<boolean> {
      const model = page.getByLabel('Model');
      const [value, options] = [await model.inputValue(), await model.locator('option').count()];
      return options > 0 && (value === id || value === '');
    }
  },
);
