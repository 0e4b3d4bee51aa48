import { createHash } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createAgentWork } from '../../src/agents/index.js';
import { ProcessPool } from '../../src/processes/index.js';

const folder = mkdtempSync(join(tmpdir(), 'pool-'));
const entry = join(folder, 'echo.mjs');
// Takes its time to end, as a large process does, and hears nothing meanwhile.
writeFileSync(
  entry,
  `process.on('message', ({ id, task }) => setTimeout(() => process.send({ id, result: task }), task.forMs ?? 0));
process.on('SIGTERM', () => process.removeAllListeners('message') && setTimeout(() => process.exit(0), 50));`,
);

/** What comes in the meantime lies in its pipe. */
const hearNothing = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Notes each beginning of a task, and dies under the first `deaths` of them. */
const mortal = join(folder, 'mortal.mjs');
writeFileSync(
  mortal,
  `import { appendFileSync, readFileSync } from 'node:fs';
process.on('message', ({ id, task }) => {
  appendFileSync(task.log, 'begun\\n');
  const begun = readFileSync(task.log, 'utf8').split('\\n').length - 1;
  if (begun <= task.deaths) process.kill(process.pid, 'SIGKILL');
  else {
    for (const until = Date.now() + (task.busyMs ?? 0); Date.now() < until; );
    setTimeout(() => process.send({ id, result: begun }), task.forMs ?? 0);
  }
});`,
);

/** Dies in the middle of the first file that it is sent. */
const reading = join(folder, 'reading.mjs');
writeFileSync(
  reading,
  `import { createHash } from 'node:crypto';
import { existsSync, readSync, writeFileSync } from 'node:fs';
process.on('message', ({ id, task, size }) => {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(65_536);
  for (let left = size; left > 0; ) {
    const read = readSync(4, piece, 0, Math.min(left, piece.length), null);
    hash.update(piece.subarray(0, read));
    left -= read;
    if (left > size / 2 || existsSync(task.log)) continue;
    writeFileSync(task.log, '');
    process.kill(process.pid, 'SIGKILL');
  }
  process.send({ id, result: { sha256: hash.digest('hex'), inMessage: task.bytes } });
});`,
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

it('a long file is not copied into a message, and arrives whole also after a process died while reading it', async () => {
  const pool = new ProcessPool({ entry: reading, size: 1, heapMb: 64, taskTimeoutMs: 10_000 });
  try {
    for (const fill of ['a weir', 'a lock']) {
      const bytes = Buffer.alloc(8 * 1_048_576, fill);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const task = { log: join(folder, 'died'), bytes };
      expect(await pool.run(task)).toEqual({ sha256, inMessage: null });
    }
  } finally {
    pool.close();
  }
});

it('a task that waits is not harmed by the killing of the one before it, whose reply was already on its way', async () => {
  const pool = new ProcessPool({ entry, size: 1, heapMb: 64, taskTimeoutMs: 10_000 });
  try {
    await pool.run({ warm: true });
    const cancelled = new AbortController();
    const one = pool.run({ n: 1 }, { signal: cancelled.signal });
    const two = pool.run({ n: 2 });
    setImmediate(() => {
      hearNothing(100);
      cancelled.abort(new Error('cancelled'));
    });
    expect((await Promise.allSettled([one, two]))[1]).toEqual({ status: 'fulfilled', value: { n: 2 } });
  } finally {
    pool.close();
  }
});

it('a task that is over leaves nothing with a signal that outlives it, nor holds what it was given', async () => {
  const pool = new ProcessPool({ entry, size: 1, heapMb: 64, taskTimeoutMs: 10_000 });
  const { signal } = new AbortController();
  try {
    await Promise.all([1, 2, 3].map((n) => pool.run({ n }, { signal })));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  } finally {
    pool.close();
  }
});

it('a task that was aborted before it came shortens no rest: the next one is not ended in its middle', async () => {
  const pool = new ProcessPool({ entry, size: 1, heapMb: 64, taskTimeoutMs: 10_000, idleMs: 60 });
  try {
    await pool.run({ warm: true });
    await expect(pool.run({}, { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone');
    expect(await pool.run({ forMs: 150 })).toEqual({ forMs: 150 });
  } finally {
    pool.close();
  }
});

it('a task whose process is killed is done by another one, once; one that takes too long is not, and is at fault only if it was at work', async () => {
  const pool = new ProcessPool({ entry: mortal, size: 1, heapMb: 64, taskTimeoutMs: 1500 });
  const run = (name: string, task: object) => pool.run({ log: join(folder, name), ...task });
  const begun = (name: string) => readFileSync(join(folder, name), 'utf8').split('\n').length - 1;
  try {
    expect(await run('killed', { deaths: 1 })).toBe(2);
    await expect(run('deadly', { deaths: 9 })).rejects.toThrow('The working process died');
    expect(begun('deadly')).toBe(2);
    // At fault, unless the tests beside it leave it too little of the processor.
    await expect(run('late', { deaths: 0, busyMs: 60_000 })).rejects.toThrow(/died|unavailable/);
    expect(begun('late')).toBe(1);
    // It uses no processor, as a task that gets none: it is not at fault.
    await expect(run('starved', { deaths: 0, forMs: 60_000 })).rejects.toMatchObject({ code: 'unavailable' });
    expect(begun('starved')).toBe(1);
  } finally {
    pool.close();
  }
});

it("an agent's work that waits is not harmed by the ending of threads whose replies were already on their way", async () => {
  const work = createAgentWork();
  const chart = (signal: AbortSignal) =>
    work.chart({ type: 'bar', title: '', xLabel: '', yLabel: '', data: [{ label: 'a', value: 1 }] }, signal);
  const never = new AbortController().signal;
  try {
    await Promise.all([chart(never), chart(never)]);
    const cancelled = new AbortController();
    const both = [chart(cancelled.signal), chart(cancelled.signal)];
    const last = chart(never);
    setImmediate(() => {
      hearNothing(300);
      cancelled.abort(new Error('cancelled'));
    });
    await Promise.allSettled(both);
    expect(await last).toMatchObject({ svg: expect.stringContaining('<svg') as string });
  } finally {
    await work.close();
  }
});
