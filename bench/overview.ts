/** The dashboard's overview with many jobs and records (bench/overview.process.ts), as a process of its own. */
import { join } from 'node:path';
import { findChromium } from '../test/support/browser.js';
import type { Places } from './contenders.js';
import { run } from './processes.js';
import { table, verdict, type Verdict } from './report.js';

const JOBS = 10_000;
const TARGET_MS = 1000;

interface Times {
  p50: number;
  p95: number;
}

/** @param records fewer only for a look: the target is for a million */
export async function benchOverview(
  { programs, root, scratch }: Places,
  records: number,
): Promise<Verdict[]> {
  const chromium = findChromium();
  if (chromium === null) {
    console.log('\nThe overview needs Chromium (CHROMIUM, or one on the PATH): left out');
    return [];
  }
  const log = join(scratch, 'overview.log');
  const args = [root, chromium, log, String(records), String(JOBS)];
  const output = await run([join(programs, 'overview.process.js'), ...args]);
  const times = JSON.parse(output.trim().split('\n').pop() ?? '{}') as Record<'cold' | 'warm', Times>;
  const row = (name: string, { p50, p95 }: Times): string[] => [name, p50.toFixed(0), p95.toFixed(0)];
  const of = `${JOBS.toLocaleString('en')} jobs and ${records.toLocaleString('en')} records`;
  table(
    `The dashboard's overview of ${of}, ms until its figures are painted`,
    ['', 'p50', 'p95'],
    [row('nothing in the cache', times.cold), row('files in the cache', times.warm)],
  );
  return [verdict(`the overview of ${of} opens, ms at p95`, times.cold.p95, TARGET_MS)];
}
