/** Reservations and calls on one hot bucket (bench/reservations.ts, bench/budgets.process.ts), each in a separate process. */
import { join } from 'node:path';
import type { Places } from './contenders.js';
import { run } from './processes.js';
import { verdict, type Verdict } from './report.js';

/** Runs it and takes the ratio from the last line that it prints, `{"ratio": …}`. */
export async function benchReservations(places: Places): Promise<Verdict[]> {
  const output = await run([join(places.programs, 'reservations.js')]);
  const lines = output.trim().split('\n');
  const { ratio } = JSON.parse(lines.pop() ?? '{}') as { ratio: number };
  console.log(`\nReservations on one bucket\n${lines.map((line) => `  ${line}`).join('\n')}`);
  return [
    verdict(
      'reservations with their ledger row, 32 callers / one UPDATE and one row each',
      ratio,
      15,
      'at least',
    ),
  ];
}

/** The additional cost of four budgets for a call, by the ratio in the last line. */
export async function benchBudgets(places: Places): Promise<Verdict[]> {
  const output = await run([join(places.programs, 'budgets.process.js')]);
  const lines = output.trim().split('\n');
  const { ratio } = JSON.parse(lines.pop() ?? '{}') as { ratio: number };
  console.log(`\nCalls under four budgets\n${lines.map((line) => `  ${line}`).join('\n')}`);
  return [
    verdict('a call under four budgets, 32 callers / the same without budgets', ratio, 1.15, 'at most'),
  ];
}
