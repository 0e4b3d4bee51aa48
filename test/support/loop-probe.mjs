/**
 * Loaded before the product into a process that a test started with `probe: true`: tells over IPC for how long the event loop was held at
 * most. It counts the main thread's own processor time between two turns, so that other programs on the machine change nothing.
 */
import { performance } from 'node:perf_hooks';
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
  const look = () => {
    const now = { cpu: cpuMs(), wall: performance.now() };
    turns.push(now.cpu - last.cpu);
    worstWall = Math.max(worstWall, now.wall - last.wall);
    last = now;
  };
  setInterval(look, TICK_MS).unref();
  process.on('message', (message) => {
    if (message !== 'loop') return;
    look();
    const sorted = turns.toSorted((a, b) => a - b);
    const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    process.send({ loop: { worstMs: sorted.at(-1) ?? 0, p99Ms: p99, worstWallMs: worstWall } });
    turns = [];
    worstWall = 0;
  });
  process.channel?.unref();
}
