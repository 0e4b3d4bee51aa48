/** Reservations on one hot bucket (bench/reservations.ts), as a process of its own. */
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
