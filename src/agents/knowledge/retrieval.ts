import type { Database } from '../../database/database.types.js';
import type { Passage } from '../agents.types.js';
import { vectorOf, VectorTable } from './vectors.js';

/** Candidates of each kind of search, before they are fused. */
const CANDIDATES = 40;
/** Reciprocal rank fusion: how much the very first ranks weigh. */
const FUSION = 60;
const MAX_WORDS = 32;
/** Vectors kept at hand by one process. */
const CACHE_BYTES = 128 * 1024 * 1024;

interface Key {
  fileId: string;
  position: number;
}

interface Cached {
  version: string;
  keys: Key[];
  table: VectorTable;
}

const VERSION = {
  name: 'knowledge_version',
  text: `SELECT count(*) || ':' || COALESCE(sum(chunk_count), 0) || ':' || COALESCE(max(extract(epoch FROM updated_at)), 0) AS version
    FROM knowledge_files WHERE org_id = $1 AND agent_id = $2 AND status = 'completed'`,
};

const VECTORS = `SELECT c.file_id, c.position, c.embedding FROM knowledge_chunks c
  JOIN knowledge_files f ON f.id = c.file_id AND f.status = 'completed'
  WHERE c.org_id = $1 AND c.agent_id = $2 AND c.embedding IS NOT NULL`;

const FULL_TEXT = {
  name: 'knowledge_full_text',
  text: `SELECT c.file_id, c.position FROM knowledge_chunks c
    JOIN knowledge_files f ON f.id = c.file_id AND f.status = 'completed', to_tsquery('simple', $3) q
    WHERE c.org_id = $1 AND c.agent_id = $2 AND c.search @@ q
    ORDER BY ts_rank_cd(c.search, q, 1) DESC, c.file_id, c.position LIMIT $4`,
};

const TEXTS = {
  name: 'knowledge_texts',
  text: `SELECT c.file_id, c.position, c.text, f.filename FROM knowledge_chunks c JOIN knowledge_files f ON f.id = c.file_id
    WHERE c.org_id = $1 AND c.agent_id = $2 AND f.status = 'completed'
      AND (c.file_id, c.position) IN (SELECT * FROM unnest($3::text[], $4::int[]))`,
};

/** `a | b:* | c`: any word counts, longer ones also as the beginning of another. Null where the query has no word. */
function tsQueryOf(query: string): string | null {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]{2,40}/gu) ?? [];
  const unique = [...new Set(words)].sort((a, b) => b.length - a.length).slice(0, MAX_WORDS);
  return unique.length === 0
    ? null
    : unique.map((word) => (word.length >= 4 ? `${word}:*` : word)).join(' | ');
}

/** Hybrid retrieval: full text and vectors, fused by reciprocal rank. Scans are exact; an agent's vectors stay in memory. */
export class Retrieval {
  private readonly cache = new Map<string, Cached>();
  private bytes = 0;

  constructor(private readonly database: Database) {}

  async search(input: {
    agentId: string;
    agentOrgId: string;
    query: string;
    limit: number;
  }): Promise<Passage[]> {
    const { agentId, agentOrgId, query, limit } = input;
    const cached = await this.vectors(agentOrgId, agentId);
    if (cached.keys.length === 0) return [];
    const near = cached.table.nearest(vectorOf(query), CANDIDATES).map(({ row }) => cached.keys[row] as Key);
    const ranked = fuse([await this.fullText(agentOrgId, agentId, query), near]).slice(0, limit);
    return await this.passages(agentOrgId, agentId, ranked);
  }

  private async vectors(orgId: string, agentId: string): Promise<Cached> {
    const [row] = await this.database.system.query<{ version: string }>(VERSION, [orgId, agentId]);
    const version = row?.version ?? '';
    const known = this.cache.get(agentId);
    if (known?.version === version) {
      this.cache.delete(agentId);
      this.cache.set(agentId, known);
      return known;
    }
    const rows = await this.database.system.query<{ file_id: string; position: number; embedding: Buffer }>(
      VECTORS,
      [orgId, agentId],
    );
    const keys = rows.map(({ file_id, position }) => ({ fileId: file_id, position }));
    const made: Cached = { version, keys, table: new VectorTable(rows.map(({ embedding }) => embedding)) };
    this.keep(agentId, made);
    return made;
  }

  private keep(agentId: string, made: Cached): void {
    this.forget(agentId);
    this.cache.set(agentId, made);
    this.bytes += made.table.bytes;
    for (const oldest of this.cache.keys()) {
      if (this.bytes <= CACHE_BYTES || oldest === agentId) return;
      this.forget(oldest);
    }
  }

  private forget(agentId: string): void {
    this.bytes -= this.cache.get(agentId)?.table.bytes ?? 0;
    this.cache.delete(agentId);
  }

  private async fullText(orgId: string, agentId: string, query: string): Promise<Key[]> {
    const words = tsQueryOf(query);
    if (words === null) return [];
    const rows = await this.database.system.query<{ file_id: string; position: number }>(FULL_TEXT, [
      orgId,
      agentId,
      words,
      CANDIDATES,
    ]);
    return rows.map(({ file_id, position }) => ({ fileId: file_id, position }));
  }

  private async passages(
    orgId: string,
    agentId: string,
    ranked: (Key & { score: number })[],
  ): Promise<Passage[]> {
    const rows = await this.database.system.query<{
      file_id: string;
      position: number;
      text: string;
      filename: string;
    }>(TEXTS, [orgId, agentId, ranked.map(({ fileId }) => fileId), ranked.map(({ position }) => position)]);
    const byKey = new Map(rows.map((row) => [`${row.file_id}:${row.position}`, row]));
    return ranked.flatMap(({ fileId, position, score }) => {
      // Deleted meanwhile: its passages are gone at once.
      const row = byKey.get(`${fileId}:${position}`);
      return row === undefined ? [] : [{ fileId, position, score, text: row.text, filename: row.filename }];
    });
  }
}

/** Reciprocal rank fusion of several rankings. */
function fuse(rankings: Key[][]): (Key & { score: number })[] {
  const scores = new Map<string, Key & { score: number }>();
  for (const ranking of rankings) {
    for (const [rank, { fileId, position }] of ranking.entries()) {
      const key = `${fileId}:${position}`;
      const known = scores.get(key) ?? { fileId, position, score: 0 };
      known.score += 1 / (FUSION + rank + 1);
      scores.set(key, known);
    }
  }
  return [...scores.values()].sort((a, b) => b.score - a.score);
}
