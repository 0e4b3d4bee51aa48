import { LRUCache } from 'lru-cache';
import type { Database } from '../../database/index.js';
import { TRACES_OF_WORK } from './telemetry.queries.js';

/** Finds the trace that created a job, a run, or another event, on any process. Used only while traces are exported. */
export interface TraceLookup {
  /** @param ids of jobs, runs and events @returns the `traceparent` of each that has one */
  ofWork(ids: string[]): Promise<Map<string, string>>;
}

const REMEMBERED = 4_096;

export function createTraceLookup(database: Pick<Database, 'system'>): TraceLookup {
  const known = new LRUCache<string, { traceparent: string | null }>({ max: REMEMBERED });
  return {
    async ofWork(ids) {
      const missing = ids.filter((id) => !known.has(id));
      if (missing.length > 0) {
        const rows = await database.system.query<{ id: string; traceparent: string | null }>(TRACES_OF_WORK, [
          missing,
        ]);
        for (const { id, traceparent } of rows) known.set(id, { traceparent });
      }
      return new Map(
        ids.flatMap((id) => {
          const traceparent = known.get(id)?.traceparent;
          return traceparent == null ? [] : [[id, traceparent] as const];
        }),
      );
    },
  };
}
