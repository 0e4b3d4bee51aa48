import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ProcessPool } from '../../src/processes/index.js';

const folder = mkdtempSync(join(tmpdir(), 'pool-'));
const entry = join(folder, 'echo.mjs');
// Takes its time to end, as a large process does, and hears nothing meanwhile.
writeFileSync(
  entry,
  `process.on('message', ({ id, task }) => process.send({ id, result: task }));
process.on('SIGTERM', () => process.removeAllListeners('message') && setTimeout(() => process.exit(0), 50));`,
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a task that comes while a rested process is ending goes to another one', async () => {
  const pool = new ProcessPool({ entry, size: 1, heapMb: 64, taskTimeoutMs: 10_000, idleMs: 1 });
  try {
    for (let round = 0; round < 3; round++) {
      expect(await pool.run({ round })).toEqual({ round });
      // Past the rest, within the ending.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    pool.close();
  }
});
