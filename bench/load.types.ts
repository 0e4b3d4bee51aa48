/** What the load generator is asked for. */
export interface LoadSpec {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  concurrency: number;
  durationMs: number;
  /** Counts Server-Sent Events. */
  stream: boolean;
}

/** What it saw; times in milliseconds. */
export interface LoadResult {
  requests: number;
  elapsedMs: number;
  p50: number;
  p99: number;
  firstChunkP50: number;
  chunks: number;
  /** The first few answers that were no success; a run with any is void. */
  failures: string[];
}
