import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { createMemberService } from '../../src/access/index.js';
import { violationsOf } from './axe.js';
import type { TestBrowser } from './browser.js';
import type { TestServer } from './server.js';

/** The dashboard of somebody who is signed in. */
export interface TestDashboard {
  page: Page;
  /** Exceptions, and errors on the console. */
  faults: string[];
  /** Goes to an address behind the `#`, and waits until the view has its answers. */
  show(address: string, heading: string): Promise<void>;
  /** Until nothing is waited for any more. */
  settled(): Promise<void>;
  /** Wide and light, narrow and dark: axe finds nothing, and nothing is wider than the page. */
  isFine(): Promise<void>;
}

/** Opens the dashboard as a new owner of an organisation, on the zone of UTC. */
export async function openDashboard(
  { origin, services }: TestServer,
  { browser }: TestBrowser,
  { orgId, email = 'owner@example.com' }: { orgId: string; email?: string },
): Promise<TestDashboard> {
  await createMemberService({ database: services.database }).add(orgId, email, 'owner');
  const { token } = await services.people.signInVerified(email);
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    timezoneId: 'UTC',
    acceptDownloads: true,
  });
  await context.addCookies([{ name: 'penstock_session', value: token, url: origin }]);
  const page = await context.newPage();
  // Shorter than a test's own time limit, so that the error names what was waited for.
  page.setDefaultTimeout(30_000);
  const faults: string[] = [];
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  await page.goto(`${origin}/dashboard`);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const settled = () => expect.poll(() => page.locator('main .loading').count(), { timeout: 15_000 }).toBe(0);
  return {
    page,
    faults,
    settled,
    async show(address, heading) {
      await page.evaluate(`location.hash = '#/${address}'`);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await settled();
    },
    async isFine() {
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
    },
  };
}
