import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * A Chromium of the system: `CHROMIUM` or one on the PATH. Null if there is none; tests are then skipped.
 * @throws Error if there is none and `REQUIRE_BROWSER=1` is set (.ci/run)
 */
export function findChromium(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const found = [process.env['CHROMIUM'], ...candidates].find(
    (path) => path !== undefined && executable(path),
  );
  if (found === undefined && process.env['REQUIRE_BROWSER'] === '1')
    throw new Error('REQUIRE_BROWSER=1, but no Chromium was found');
  return found ?? null;
}

export interface TestBrowser {
  browser: Browser;
  /** A page that records its faults: exceptions, console errors, and requests to any host except 127.0.0.1. */
  open(url: string): Promise<{ page: Page; faults: string[] }>;
  close(): Promise<void>;
}

/** Starts headless Chromium. @param args further switches of it */
export async function startBrowser(
  executablePath: string,
  args: readonly string[] = [],
): Promise<TestBrowser> {
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', ...args],
  });
  return {
    browser,
    async open(url) {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(`console: ${message.text()}`);
      });
      page.on('request', (request) => {
        const { protocol, hostname } = new URL(request.url());
        if (/^(https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1')
          faults.push(`request to ${hostname}`);
      });
      await page.goto(url, { waitUntil: 'networkidle' });
      return { page, faults };
    },
    close: () => browser.close(),
  };
}
