/** Agent runs (bench/agents.process.ts), in a separate process. */
import { join } from 'node:path';
import type { Places } from './contenders.js';
import { run } from './processes.js';
import { verdict, type Verdict } from './report.js';

/** Runs it and takes the figures from the last line that it prints. */
export async function benchAgents(places: Places): Promise<Verdict[]> {
  const output = await run([join(places.programs, 'agents.process.js')]);
  const lines = output.trim().split('\n');
  const { stepMs, loopMs, searchMs } = JSON.parse(lines.pop() ?? '{}') as Record<
    'stepMs' | 'loopMs' | 'searchMs',
    number
  >;
  console.log(`\nAgent runs\n${lines.map((line) => `  ${line}`).join('\n')}`);
  return [
    verdict('a step of a run to its subscriber, p50 ms', stepMs, 20),
    verdict('a search in 10,000 passages, p50 ms', searchMs, 30),
    verdict('event loop delay p99 during 200 runs at once, ms', loopMs, 50),
  ];
}
