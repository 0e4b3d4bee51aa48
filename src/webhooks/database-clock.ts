import type { Sql } from '../database/database.types.js';
import { CLOCK } from './webhook.queries.js';

const HOLDS_MS = 60_000;
const LOOKS = 3;

/**
 * This process's `performance.now()` in the database's time, which orders what several processes did, to a fraction of a round trip. Within
 * a process the order is exact, however late anything is written.
 */
export class DatabaseClock {
  private offsetMs: number | null = null;
  private knownAt = -Infinity;

  /** Looks at the database's clock where the last look is older than a minute; the quickest of a few answers counts. */
  async synchronise(sql: Sql): Promise<void> {
    if (performance.now() - this.knownAt < HOLDS_MS) return;
    let best = Infinity;
    for (let look = 0; look < LOOKS; look += 1) {
      const sentAt = performance.now();
      const [row] = await sql.query<{ ms: string }>(CLOCK);
      const tookMs = performance.now() - sentAt;
      if (tookMs >= best || row === undefined) continue;
      best = tookMs;
      this.offsetMs = Number(row.ms) - (sentAt + tookMs / 2);
    }
    this.knownAt = performance.now();
  }

  /** Milliseconds since 1970 by the database's clock; null before the first look. */
  at(performanceMs: number): number | null {
    return this.offsetMs === null ? null : performanceMs + this.offsetMs;
  }
}
