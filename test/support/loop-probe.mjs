/**
 * Loaded before the product into a process that a test started with `probe: true`: reports over IPC the longest time for which the event loop
 * was blocked. It counts the main thread's own processor time between two turns, so that other programs on the machine have no influence. Garbage
 * collections are counted separately, because a call's own work is the same each time, but collections come at any time.
 */
import { performance, PerformanceObserver } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const TICK_MS = 2;

const cpuMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

if (isMainThread && process.send) {
  let last = { cpu: cpuMs(), wall: performance.now() };
  let turns = [];
  let worstWall = 0;
  const collections = [];
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  const workOf = ({ from, to, cpu }) =>
    collections
      .filter(({ startTime }) => startTime >= from && startTime < to)
      .reduce((left, { duration }) => Math.max(0, left - duration), cpu);
  const look = () => {
    const now = { cpu: cpuMs(), wall: performance.now() };
    turns.push({ from: last.wall, to: now.wall, cpu: now.cpu - last.cpu });
    worstWall = Math.max(worstWall, now.wall - last.wall);
    last = now;
  };
  setInterval(look, TICK_MS).unref();
  process.on('message', (message) => {
    if (message !== 'loop') return;
    look();
    collections.push(...observer.takeRecords());
    const sorted = turns.toSorted((a, b) => a.cpu - b.cpu);
    const p99Ms = sorted[Math.floor(sorted.length * 0.99)]?.cpu ?? 0;
    const worstWorkMs = Math.max(0, ...sorted.slice(-50).map(workOf));
    process.send({ loop: { worstMs: sorted.at(-1)?.cpu ?? 0, p99Ms, worstWallMs: worstWall, worstWorkMs } });
    turns = [];
    collections.length = 0;
    worstWall = 0;
  });
  process.channel?.unref();
}
