import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { Gauge } from 'prom-client';
import type { Metrics } from './metrics.js';

/** Coarse, so that an idle process stays idle. */
const RESOLUTION_MS = 100;

/** Event loop, CPU and memory of this process, read when somebody scrapes. @returns what ends it */
export function watchProcess(metrics: Metrics): () => void {
  const registers = [metrics.registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const p50 = gauge(
    'penstock_event_loop_delay_p50_seconds',
    'Median lateness of the event loop since the last scrape',
  );
  const p99 = gauge(
    'penstock_event_loop_delay_p99_seconds',
    'Lateness of the event loop since the last scrape',
  );
  const utilization = gauge(
    'penstock_event_loop_utilization',
    'Share of time in which the event loop was busy since the last scrape',
  );
  const cpu = gauge('process_cpu_seconds_total', 'CPU time of the process');
  const resident = gauge('process_resident_memory_bytes', 'Resident memory');
  const heap = gauge('nodejs_heap_size_used_bytes', 'Heap in use');
  const started = gauge('process_start_time_seconds', 'Start of the process, Unix time');
  started.set(Math.round(Date.now() / 1000 - process.uptime()));
  let last = performance.eventLoopUtilization();
  metrics.beforeScrape(async () => {
    const late = (ns: number): number =>
      Number.isFinite(ns) ? Math.max(0, ns / 1e9 - RESOLUTION_MS / 1000) : 0;
    p50.set(late(delay.percentile(50)));
    p99.set(late(delay.percentile(99)));
    delay.reset();
    const now = performance.eventLoopUtilization();
    utilization.set(performance.eventLoopUtilization(now, last).utilization);
    last = now;
    const { user, system } = process.cpuUsage();
    cpu.set((user + system) / 1e6);
    const memory = process.memoryUsage();
    resident.set(memory.rss);
    heap.set(memory.heapUsed);
  });
  return () => void delay.disable();
}
