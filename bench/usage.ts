/** Summaries of ten million records (bench/usage.process.ts), in a separate process. */
import { join } from 'node:path';
import type { Places } from './contenders.js';
import { run } from './processes.js';
import { table, verdict, type Verdict } from './report.js';
import type { UsageFigures } from './usage.types.js';

/** @param records fewer only for a quick run; the target is for ten million */
export async function benchUsage(places: Places, records: number): Promise<Verdict[]> {
  const output = await run([join(places.programs, 'usage.process.js'), String(records)]);
  const figures = JSON.parse(output.trim().split('\n').pop() ?? '{}') as UsageFigures;
  const { foldedPerSecond, p50, p95, queries } = figures;
  const named = records.toLocaleString('en');
  table(
    `Usage of 30 days, ${named} records, ${foldedPerSecond.toFixed(0)} folded/s`,
    ['summary', 'rows', 'p50 ms', 'p95 ms'],
    [...queries, { name: 'all', rows: '', p50, p95 }].map((each) => [
      each.name,
      String(each.rows),
      each.p50.toFixed(0),
      each.p95.toFixed(0),
    ]),
  );
  return [verdict(`a summary of ${named} records, ms at p95`, p95, 200)];
}
