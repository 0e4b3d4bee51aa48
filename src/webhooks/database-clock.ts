import type { Sql } from '../database/database.types.js';
import { CLOCK } from './webhook.queries.js';

const HOLDS_MS = 60_000;
const LOOKS = 3;

/**
 * Converts this process's `performance.now()` to the database's time, to a fraction of a round trip, so that the actions of several processes can
 * be ordered. Within a process the order is exact, however late an action is stored.
 */
export class DatabaseClock {
  private offsetMs: number | null = null;
  private knownAt = -Infinity;

  /** Reads the database's clock if the last reading is older than a minute; uses the fastest of a few answers. */
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
