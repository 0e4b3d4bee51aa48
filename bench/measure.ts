/** One measured burst of load against one process, and the summary of several bursts. */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadResult, LoadSpec } from './load.types.js';
import { cpuMs, run, treeCpuMs } from './processes.js';

export interface Sample extends LoadResult {
  /** Milliseconds of CPU that the measured process (and PostgreSQL) took for all requests together. */
  cpuMs: number;
  postgresCpuMs: number;
}

export interface Target {
  name: string;
  pid: number | null;
  postmaster?: number;
}

/** Runs the load generator once. @throws Error if any answer failed */
export async function measure(program: string, target: Target, spec: LoadSpec): Promise<Sample> {
  const before = [
    target.pid === null ? 0 : cpuMs(target.pid),
    target.postmaster ? treeCpuMs(target.postmaster) : 0,
  ];
  const result = JSON.parse(await run([program, JSON.stringify(spec)])) as LoadResult;
  const after = [
    target.pid === null ? 0 : cpuMs(target.pid),
    target.postmaster ? treeCpuMs(target.postmaster) : 0,
  ];
  if (result.failures.length > 0)
    throw new Error(`${target.name} failed at ${spec.url}: ${result.failures.join('; ')}`);
  return {
    ...result,
    cpuMs: (after[0] ?? 0) - (before[0] ?? 0),
    postgresCpuMs: (after[1] ?? 0) - (before[1] ?? 0),
  };
}

/**
 * The number of calls after which the JIT compilers change nothing any more, in quick and long runs. Code that runs once for a dozen calls (a
 * shared statement) gets its final compilation after 3,000 runs. Slow contenders get as many calls as time allows.
 */
const WARM_UP_CALLS = 40_000;
const WARM_UP_ROUNDS = 10;

/** In turns, like the measurement, so that the first effects of a pause (closed connections, collected memory) happen before the measurement. */
export async function warmUp(program: string, all: { target: Target; spec: LoadSpec }[]): Promise<void> {
  const left = new Map(all.map((one) => [one, WARM_UP_CALLS]));
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1)
    for (const [one, calls] of left) {
      const { requests } = await measure(program, one.target, one.spec);
      if (requests < calls) left.set(one, calls - requests);
      else left.delete(one);
    }
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** The summary of one contender's rounds: medians, because the machine is shared. */
export interface Figures {
  perSecond: number;
  cpuUs: number;
  postgresUs: number;
  p50: number;
  p99: number;
  firstChunkP50: number;
  cpuUsPerChunk: number;
}

export function figuresOf(samples: Sample[]): Figures {
  const of = (value: (sample: Sample) => number): number => median(samples.map(value));
  return {
    perSecond: of((sample) => (sample.requests * 1000) / sample.elapsedMs),
    cpuUs: of((sample) => (sample.cpuMs * 1000) / sample.requests),
    postgresUs: of((sample) => (sample.postgresCpuMs * 1000) / sample.requests),
    p50: of((sample) => sample.p50),
    p99: of((sample) => sample.p99),
    firstChunkP50: of((sample) => sample.firstChunkP50),
    cpuUsPerChunk: of((sample) => (sample.chunks === 0 ? 0 : (sample.cpuMs * 1000) / sample.chunks)),
  };
}

/** The median of 100 durable writes of 8 kB, in milliseconds: the cost of one commit on this disk. */
export function fsyncMs(folder: string): number {
  const file = openSync(join(folder, 'fsync.probe'), 'w');
  const page = Buffer.alloc(8192, 1);
  const times: number[] = [];
  for (let round = 0; round < 100; round += 1) {
    const start = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    times.push(performance.now() - start);
  }
  closeSync(file);
  return median(times);
}
