/**
 * The load generator, in a separate process so that its CPU is not counted for a contender. Argument: a {@link LoadSpec} as JSON. Prints a {@link LoadResult}.
 */
import { Pool } from 'undici';
import type { LoadResult, LoadSpec } from './load.types.js';

const spec = JSON.parse(String(process.argv[2])) as LoadSpec;
const { origin, pathname, search } = new URL(spec.url);
const pool = new Pool(origin, { connections: spec.concurrency, pipelining: 1, headersTimeout: 30_000 });

const latencies: number[] = [];
const firstChunks: number[] = [];
let chunks = 0;
const failures: string[] = [];

async function call(record: boolean): Promise<void> {
  const start = performance.now();
  const { statusCode, body } = await pool.request({
    method: spec.method,
    path: pathname + search,
    headers: spec.headers,
    body: spec.body ?? null,
  });
  let first = 0;
  let text = '';
  for await (const part of body as AsyncIterable<Buffer>) {
    if (first === 0) first = performance.now() - start;
    if (statusCode >= 300) text += part.toString();
    else if (spec.stream) chunks += countEvents(part);
  }
  if (statusCode >= 300) failures.push(`${statusCode} ${text.slice(0, 200)}`);
  if (!record) return;
  latencies.push(performance.now() - start);
  firstChunks.push(first);
}

/** Events end with a blank line; an event that the network splits is counted at its end. */
function countEvents(part: Buffer): number {
  let count = 0;
  for (let at = part.indexOf('\n\n'); at !== -1; at = part.indexOf('\n\n', at + 2)) count += 1;
  return count;
}

async function caller(until: number, record: boolean): Promise<void> {
  while (performance.now() < until && failures.length < 10) await call(record);
}

function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const start = performance.now();
await Promise.all(Array.from({ length: spec.concurrency }, () => caller(start + spec.durationMs, true)));
const elapsedMs = performance.now() - start;
await pool.close();

const result: LoadResult = {
  requests: latencies.length,
  elapsedMs,
  p50: percentile(latencies, 0.5),
  p99: percentile(latencies, 0.99),
  firstChunkP50: percentile(firstChunks, 0.5),
  chunks,
  failures: failures.slice(0, 3),
};
console.log(JSON.stringify(result));
