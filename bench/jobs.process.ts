/**
 * One queue alone: `jobs.process.js <queue> <drain|pick-up> <count>`. The last line is JSON: `{perSecond, nodeUs, postgresUs}` of a
 * drained backlog, or `{p50}`, milliseconds from the commit of a job on an idle queue to the beginning of its work.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { withDatabase, type BenchDatabase } from './embedded.js';
import { createBacklog, type Backlog } from './job-backlog.js';
import { graphileQueue, penstockQueue, type Queue } from './job-queues.js';
import { median } from './measure.js';
import { postmasterOf, treeCpuMs } from './processes.js';

const [name = '', what = '', countText = '1000'] = process.argv.slice(2);
const PAUSE_MS = 25;

async function openQueue(bench: BenchDatabase, backlog: Backlog): Promise<Queue> {
  if (name === 'penstock') return penstockQueue(bench, backlog);
  const [, setting, writes] = /^graphile-(tuned|default)(-plain)?$/.exec(name) ?? [];
  if (setting === undefined) throw new Error(`no such queue: ${name}`);
  return graphileQueue(bench, backlog, { tuned: setting === 'tuned', writes: writes === undefined });
}

async function drain(queue: Queue, backlog: Backlog, count: number, postmaster: number): Promise<object> {
  await queue.add(await backlog.prepare(count));
  let taken = 0;
  const [cpu, database] = [process.cpuUsage(), treeCpuMs(postmaster)];
  const start = performance.now();
  const worker = await queue.start(() => (taken += 1));
  while (taken < count) await sleep(5);
  while ((await queue.waiting()) > 0) await sleep(5);
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const databaseMs = treeCpuMs(postmaster) - database;
  await worker.stop();
  return {
    perSecond: (count * 1000) / elapsedMs,
    nodeUs: (user + system) / count,
    postgresUs: (databaseMs * 1000) / count,
  };
}

async function pickUp(queue: Queue, backlog: Backlog, count: number): Promise<object> {
  const jobs = await backlog.prepare(count);
  const begun = new Map<string, number>();
  const worker = await queue.start((id) => begun.set(id, performance.now()));
  await sleep(500);
  const delays: number[] = [];
  for (const job of jobs) {
    await queue.add([job]);
    const added = performance.now();
    while (!begun.has(job.id)) await new Promise((resolve) => setImmediate(resolve));
    delays.push((begun.get(job.id) ?? 0) - added);
    await sleep(PAUSE_MS);
  }
  await worker.stop();
  return { p50: median(delays) };
}

const figures = await withDatabase(async (bench) => {
  const backlog = await createBacklog(bench.database);
  try {
    const queue = await openQueue(bench, backlog);
    const postmaster = await postmasterOf(bench.config.dataDir);
    return what === 'drain'
      ? await drain(queue, backlog, Number(countText), postmaster)
      : await pickUp(queue, backlog, Number(countText));
  } finally {
    backlog.jobs.close();
  }
});
console.log(JSON.stringify(figures));
