/** Summaries of ten million records (bench/usage.process.ts), as a process of its own. */
import { join } from 'node:path';
import type { Places } from './contenders.js';
import { run } from './processes.js';
import { table, verdict, type Verdict } from './report.js';

/** @param records fewer only for a look: the target is for ten million */
export async function benchUsage(places: Places, records: number): Promise<Verdict[]> {
  const output = await run([join(places.programs, 'usage.process.js'), String(records)]);
  const { foldedPerSecond, p50, p95 } = JSON.parse(output.trim().split('\n').pop() ?? '{}') as Record<
    'foldedPerSecond' | 'p50' | 'p95',
    number
  >;
  table(
    `Usage of 30 days, ${records.toLocaleString('en')} records`,
    ['', 'folded/s', 'p50 ms', 'p95 ms'],
    [['summaries', foldedPerSecond.toFixed(0), p50.toFixed(0), p95.toFixed(0)]],
  );
  return [verdict(`a summary of ${records.toLocaleString('en')} records, ms at p95`, p95, 200)];
}
