import { nextSlice } from '../../collections/time-slicer.js';
import type { Database, Sql } from '../../database/database.types.js';
import { vectorOf, VectorTable } from './vectors.js';
import { VECTORS, VECTOR_TYPE, nearest } from './retrieval.queries.js';

/** Names a passage. */
export interface PassageKey {
  fileId: string;
  position: number;
}

/** The agent whose passages are searched. */
export interface PassageScope {
  orgId: string;
  agentId: string;
  /** Changes with every file that is added, finished or deleted. */
  version: string;
}

/** The passages nearest to a text by their vectors, best first. Both ways are exact: every passage of the agent is compared. */
export interface NearestPassages {
  nearest(scope: PassageScope, query: string, limit: number): Promise<PassageKey[]>;
}

/** By the database where it has pgvector (src/database/vectors.ts), else in this process. */
export async function openNearest(database: Database): Promise<NearestPassages> {
  const [column] = await database.system.query<{ type: string }>(VECTOR_TYPE);
  return column === undefined
    ? createScan(database.system)
    : createDatabaseScan(database.system, column.type);
}

function createDatabaseScan(sql: Sql, type: string): NearestPassages {
  const statement = nearest(type);
  return {
    nearest({ orgId, agentId }, query, limit) {
      const vector = new Int8Array(vectorOf(query));
      return sql.query<PassageKey>(statement, [orgId, agentId, `[${vector.join(',')}]`, limit]);
    },
  };
}

/** Vectors kept at hand by one process. */
const CACHE_BYTES = 128 * 1024 * 1024;

interface Cached {
  version: string;
  keys: PassageKey[];
  table: VectorTable;
}

/** An agent's vectors stay in memory as long as its files do not change; the least used ones go first. */
function createScan(sql: Sql): NearestPassages {
  const cache = new Map<string, Cached>();
  let bytes = 0;

  const forget = (agentId: string): void => {
    bytes -= cache.get(agentId)?.table.bytes ?? 0;
    cache.delete(agentId);
  };
  const keep = (agentId: string, made: Cached): void => {
    forget(agentId);
    cache.set(agentId, made);
    bytes += made.table.bytes;
    for (const oldest of cache.keys()) {
      if (bytes <= CACHE_BYTES || oldest === agentId) return;
      forget(oldest);
    }
  };
  const read = async ({ orgId, agentId, version }: PassageScope): Promise<Cached> => {
    const known = cache.get(agentId);
    if (known?.version === version) {
      cache.delete(agentId);
      cache.set(agentId, known);
      return known;
    }
    const rows = await sql.query<{ file_id: string; position: number; embedding: Buffer }>(VECTORS, [
      orgId,
      agentId,
    ]);
    const keys = rows.map(({ file_id: fileId, position }) => ({ fileId, position }));
    await nextSlice();
    const made = { version, keys, table: new VectorTable(rows.map(({ embedding }) => embedding)) };
    keep(agentId, made);
    return made;
  };
  return {
    async nearest(scope, query, limit) {
      const { keys, table } = await read(scope);
      const found = await table.nearest(vectorOf(query), limit);
      return found.flatMap(({ row }) => keys[row] ?? []);
    },
  };
}
