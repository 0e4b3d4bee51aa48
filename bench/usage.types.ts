/** What bench/usage.process.ts found. Times are ms. */
export interface UsageFigures {
  foldedPerSecond: number;
  /** Over all readings. */
  p50: number;
  p95: number;
  queries: { name: string; rows: number; p50: number; p95: number }[];
}
