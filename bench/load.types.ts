/** The order for the load generator. */
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

/** Its measurements; times in milliseconds. */
export interface LoadResult {
  requests: number;
  elapsedMs: number;
  p50: number;
  p99: number;
  firstChunkP50: number;
  chunks: number;
  /** The first failed answers; a run with a failed answer is invalid. */
  failures: string[];
}
