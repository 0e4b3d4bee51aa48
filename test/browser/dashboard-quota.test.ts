import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createOperatorRegistry } from '../../src/access/index.js';
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js';
import { openDashboard, type TestDashboard } from '../support/dashboard.js';
import type { TestOrg } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';

const executablePath = findChromium();
const CONVERTED = 'chat_tokens';

interface Bucket {
  bucket: string;
  limit: number;
  used: number;
  reserved: number;
  remaining: number;
  usagePercent: number;
}

describe.skipIf(executablePath === null)('the dashboard’s quota', () => {
  let server: TestServer;
  let browser: TestBrowser;
  let org: TestOrg;
  let dashboard: TestDashboard;

  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await server.rest('POST', path, { key: org.key, body });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.body;
  };
  const quotas = async (): Promise<Bucket[]> => {
    const { data } = await server.graphql<{ quota: { quotas: Bucket[] } }>(
      '{ quota { quotas { bucket limit used reserved remaining usagePercent } } }',
      { key: org.key },
    );
    return data?.quota.quotas ?? [];
  };
  const inDigits = (value: number): string =>
    new Intl.NumberFormat('en', { maximumFractionDigits: 2 }).format(value);
  const nameOf = (bucket: string): string => {
    const words =
      { stt_seconds: 'transcription seconds', tts_chars: 'speech characters' }[bucket] ??
      bucket.replaceAll('_', ' ');
    return words.charAt(0).toUpperCase() + words.slice(1);
  };
  /** What a tile must say of a bucket, by what GraphQL says. */
  function told({ bucket, limit, used, reserved, remaining, usagePercent }: Bucket, all: Bucket[]): string[] {
    const name = nameOf(bucket);
    const held = reserved > 0 ? `, ${inDigits(reserved)} reserved` : '';
    const chat = all.find((one) => one.bucket === CONVERTED);
    const lines = [
      name,
      `${inDigits(remaining)} left`,
      `${inDigits(used)} of ${inDigits(limit)} used${held}`,
      `${inDigits(Math.round(usagePercent * 10) / 10)} %`,
    ];
    if (bucket !== 'credits' || chat === undefined) return lines;
    return [...lines, `In chats ${inDigits(chat.remaining)} tokens left, ${inDigits(chat.used)} used`];
  }
  const tiles = async (): Promise<string[][]> => {
    const texts = await dashboard.page
      .getByRole('list', { name: 'Quota in this period' })
      .getByRole('listitem')
      .allInnerTexts();
    return texts.map((text) =>
      text
        .split('\n')
        .map((line) => line.trim())
        .filter(Boolean),
    );
  };
  /** The tiles say what GraphQL says, as soon as both have the last call. */
  const agrees = async (): Promise<void> => {
    await expect
      .poll(
        async () => {
          const all = await quotas();
          const wanted = all.filter(({ bucket }) => bucket !== CONVERTED).map((one) => told(one, all));
          const shown = await tiles();
          return JSON.stringify(shown) === JSON.stringify(wanted) ? 'the same' : { shown, wanted };
        },
        { timeout: 15_000 },
      )
      .toBe('the same');
  };

  beforeAll(async () => {
    server = await startPenstock();
    org = await server.createOrg({ name: 'Waterworks', plan: 'business_monthly' });
    browser = await startBrowser(executablePath ?? '');
    dashboard = await openDashboard(server, browser, { orgId: org.orgId });
    await createOperatorRegistry({ database: server.services.database }).add('owner@example.com');
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  afterEach(() => expect(dashboard.faults.splice(0)).toEqual([]));

  test('tiles say of every bucket what GraphQL says, after calls that are paid by several, and while one is under way', async () => {
    const { show, page } = dashboard;
    await post('/chat/completions', { messages: [{ role: 'user', content: 'What is a penstock?' }] });
    await post('/embeddings', { input: 'A weir', model: 'sandbox/embedding-standard' });
    await post('/images/generations', { prompt: 'A weir', size: '512x512' });
    await post('/audio/speech', { input: 'A weir holds the water back' });
    await post('/music/generations', { prompt: 'A march', duration_seconds: 10 });
    const used = (await quotas()).filter((bucket) => bucket.used > 0).map(({ bucket }) => bucket);
    expect(used).toEqual(['credits', CONVERTED, 'image_generations', 'tts_chars', 'music_tracks']);
    await show('', 'Overview');
    await agrees();
    const { id } = await post('/images/generations?async=true', {
      prompt: 'A dam @sandbox{"delay_ms":60000}',
      size: '512x512',
    });
    await page.getByText('1 of 600 used, 1 reserved').waitFor();
    await agrees();
    for (const { limit, used: taken, reserved, remaining, bucket } of await quotas())
      if (bucket !== CONVERTED) expect([bucket, taken + reserved + remaining]).toEqual([bucket, limit]);
    await server.rest('DELETE', `/jobs/${String(id)}`, { key: org.key });
    await expect.poll(() => page.getByText('reserved').count(), { timeout: 15_000 }).toBe(0);
    await agrees();
    await dashboard.isFine();
  }, 90_000);

  test('the plan and the operator’s view of the organisation have the same tiles', async () => {
    await dashboard.show('settings/plan', 'Plan');
    await agrees();
    await dashboard.isFine();
    await dashboard.show(`operator/organizations/${org.orgId}`, 'Waterworks');
    await agrees();
  });

  test('a smaller plan says what was used of a bucket that it has not', async () => {
    await server.services.organizations.changePlan(org.orgId, 'free');
    await dashboard.show('settings/plan', 'Plan');
    const tile = dashboard.page.getByRole('listitem').filter({ hasText: 'Image generations' });
    await tile.getByText('Not in this plan, 1 used before').waitFor();
  });
});
