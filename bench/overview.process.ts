/**
 * The dashboard's overview of a large organisation: `overview.process.js <root> <chromium> <log> <records> <jobs>` fills so many records and jobs, starts the product,
 * and opens the overview in Chromium until its figures are painted. The last line is JSON: milliseconds from the address to the paint, with
 * nothing in the browser's cache and with the page's files in it.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext } from 'playwright-core';
import { createMemberService, createPeopleService } from '../src/access/index.js';
import { entities } from '../src/boot/entities.js';
import { newId } from '../src/contract/ids.js';
import { withDatabase, type BenchDatabase } from './embedded.js';
import { freePort, start, stopOne, untilAnswers, V8_FLAGS } from './processes.js';
import { fillUsage, lastMidnight } from './usage-fill.js';

const [root = '', executablePath = '', logFile = '', records = '', jobs = ''] = process.argv.slice(2);
const EMAIL = 'bench@penstock.example';
const WARM_UPS = 3;
const ROUNDS = 20;
const PATIENCE_MS = 60_000;
/** The many openings are more than the plan's window allows one person. */
const PLANS = { plans: { business_monthly: { rate: { rpm: 1_000_000, burst: 1_000_000 } } } };

/** Ended jobs of 30 days, one in two hundred of them failed, and a few that are under way or wait. Newer ones have later ids. */
const JOBS = `INSERT INTO jobs (id, org_id, user_id, key_id, tool, status, progress, input_params, output_data, estimated_credits, actual_credits, error_message,
    created_at, started_at, completed_at, model, model_tier, multiplier, operation_id, request_id, client)
  SELECT 'job_' || lpad(i::text, 26, '0'), $1, u.id, 'key_1', tool, status, CASE status WHEN 'completed' THEN 100 ELSE 0 END,
    jsonb_build_object('model', 'sandbox/' || tool, 'prompt', 'A weir in the evening, number ' || i), CASE status WHEN 'completed' THEN '{"text": "A weir"}'::jsonb END, 2,
    CASE status WHEN 'completed' THEN 2 END, CASE status WHEN 'failed' THEN 'Generation failed' END, at, at, at + interval '5 s', 'sandbox/' || tool,
    'standard', 100, 'op_job_' || i, 'req_job_' || i, '{}'
  FROM (SELECT i, (ARRAY['music', 'tts', 'stt'])[1 + i % 3] AS tool, CASE WHEN i % 200 = 0 THEN 'failed' ELSE 'completed' END AS status,
      now() - ($2 - i) * interval '30 days' / $2 AS at FROM generate_series(1, $2::bigint) i) j
  CROSS JOIN (SELECT id FROM users WHERE org_id = $1 LIMIT 1) u`;

/** In the page: when all figures of the overview are there, and the frame after them has begun. */
const WATCH = `(() => {
  const isThere = (selector) => document.querySelector(selector) !== null;
  const look = () => {
    const isDone = isThere('.buckets strong') && isThere('.sums strong') && isThere('.chart-part') && isThere('.recent li') && isThere('.attention li') && !isThere('main .loading');
    if (!isDone) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => { window.painted(performance.now()); }));
  };
  requestAnimationFrame(look);
})()`;

async function fill(bench: BenchDatabase): Promise<void> {
  const { database } = bench;
  const orgId = newId('org');
  await fillUsage(bench, { orgId, count: Number(records), until: lastMidnight() });
  await database.system.query(JOBS, [orgId, Number(jobs)]);
  await database.system.query('ANALYZE');
  await createMemberService({ database }).add(orgId, EMAIL, 'owner');
}

/** Milliseconds from the address to the paint. */
async function open(context: BrowserContext, url: string): Promise<number> {
  const page = await context.newPage();
  const painted = Promise.withResolvers<number>();
  const giveUp = setTimeout(() => painted.reject(new Error('the overview was not painted')), PATIENCE_MS);
  await page.exposeFunction('painted', painted.resolve);
  await page.addInitScript(WATCH);
  await page.goto(url, { waitUntil: 'commit' });
  const ms = await painted.promise;
  clearTimeout(giveUp);
  await page.close();
  return ms;
}

interface Times {
  p50: number;
  p95: number;
}

function timesOf(all: readonly number[]): Times {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return { p50: at(0.5), p95: at(0.95) };
}

/** Opens it again and again: in a browser that has never seen it, or in one that has. */
async function measureIn(
  browser: Browser,
  url: string,
  { token, isFresh }: { token: string; isFresh: boolean },
) {
  const signedIn = async (): Promise<BrowserContext> => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await context.addCookies([{ name: 'penstock_session', value: token, url }]);
    return context;
  };
  const times: number[] = [];
  let context = await signedIn();
  for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
    if (isFresh) {
      await context.close();
      context = await signedIn();
    }
    const ms = await open(context, url);
    if (round >= 0) times.push(ms);
  }
  await context.close();
  return timesOf(times);
}

async function measure(bench: BenchDatabase): Promise<{ cold: Times; warm: Times }> {
  await fill(bench);
  const plansFile = join(bench.config.dataDir, 'bench-plans.json');
  await writeFile(plansFile, JSON.stringify(PLANS));
  const port = await freePort();
  const server = start({
    args: [...V8_FLAGS, join(root, 'dist/main.js')],
    env: {
      NODE_ENV: 'production',
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      DATABASE_URL: bench.url,
      DATA_DIR: bench.config.dataDir,
      PLANS_FILE: plansFile,
    },
    logFile,
  });
  await untilAnswers(`http://127.0.0.1:${port}/readyz`, server);
  const { token } = await createPeopleService({ database: bench.database }).signInVerified(EMAIL);
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  try {
    const url = `http://127.0.0.1:${port}/dashboard`;
    return {
      cold: await measureIn(browser, url, { token, isFresh: true }),
      warm: await measureIn(browser, url, { token, isFresh: false }),
    };
  } finally {
    await browser.close();
    await stopOne(server);
  }
}

console.log(JSON.stringify(await withDatabase(measure, entities)));
