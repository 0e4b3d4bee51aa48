import type { Database } from '../../database/database.types.js';
import { createBatcher } from '../../jobs/index.js';
import type { Passage } from '../agents.types.js';
import { openNearest } from './nearest.js';
import type { NearestPassages, PassageKey } from './nearest.js';

/** Candidates of each kind of search, before they are fused. */
const CANDIDATES = 40;
/** Reciprocal rank fusion: how much the very first ranks weigh. */
const FUSION = 60;
const MAX_WORDS = 32;
/** Agents whose files are looked for together. */
const MAX_BATCH = 100;

const VERSIONS = {
  name: 'knowledge_versions',
  text: `SELECT q.nth::int AS nth, v.version
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY q (org_id, agent_id, nth)
    CROSS JOIN LATERAL (
      SELECT count(*) || ':' || sum(chunk_count) || ':' || max(extract(epoch FROM updated_at)) AS version
      FROM knowledge_files f WHERE f.org_id = q.org_id AND f.agent_id = q.agent_id AND f.status = 'completed'
    ) v WHERE v.version IS NOT NULL`,
};

const FULL_TEXT = {
  name: 'knowledge_full_text',
  text: `SELECT c.file_id AS "fileId", c.position FROM knowledge_chunks c
    JOIN knowledge_files f ON f.id = c.file_id AND f.status = 'completed'
    WHERE c.org_id = $1 AND c.agent_id = $2 AND c.search @@ to_tsquery('simple', $3)
    ORDER BY ts_rank_cd(c.search, to_tsquery('simple', $3), 1) DESC, c.file_id, c.position LIMIT $4`,
};

const TEXTS = {
  name: 'knowledge_texts',
  text: `SELECT c.file_id, c.position, c.text, f.filename FROM knowledge_chunks c JOIN knowledge_files f ON f.id = c.file_id
    WHERE c.org_id = $1 AND c.agent_id = $2 AND f.status = 'completed'
      AND (c.file_id, c.position) IN (SELECT * FROM unnest($3::text[], $4::int[]))`,
};

interface Asked {
  agentId: string;
  agentOrgId: string;
}

/** They stand in most passages: ranking all of those costs much and tells nothing. */
const STOP_WORDS = new Set(
  (
    'a about all also an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it its ' +
    'just like may me more most my no not of on or other our out over she should so some such than that the their them then there these they ' +
    'this to up us was we were what when where which while who why will with would you your'
  ).split(' '),
);

/** `a | b:* | c`: any word counts, longer ones also as the beginning of another. Null where the query has no word. */
function tsQueryOf(query: string): string | null {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]{2,40}/gu) ?? [];
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  const unique = [...new Set(telling.length > 0 ? telling : words)]
    .sort((a, b) => b.length - a.length)
    .slice(0, MAX_WORDS);
  return unique.length === 0
    ? null
    : unique.map((word) => (word.length >= 4 ? `${word}:*` : word)).join(' | ');
}

/** Hybrid retrieval: full text and vectors, fused by reciprocal rank. */
export class Retrieval {
  private nearest: Promise<NearestPassages> | null = null;
  private readonly versions: ReturnType<typeof createBatcher<Asked, string | null>>;

  constructor(private readonly database: Database) {
    this.versions = createBatcher({
      run: (items) => this.readVersions(items),
      retryable: () => false,
      maxBatch: MAX_BATCH,
    });
  }

  async search({
    agentId,
    agentOrgId: orgId,
    query,
    limit,
  }: Asked & { query: string; limit: number }): Promise<Passage[]> {
    const version = await this.versions.add({ agentId, agentOrgId: orgId });
    if (version === null) return [];
    const [byWords, byVector] = await Promise.all([
      this.fullText(orgId, agentId, query),
      this.near({ orgId, agentId, version }, query),
    ]);
    const ranked = fuse([byWords, byVector]).slice(0, limit);
    return await this.passages(orgId, agentId, ranked);
  }

  private async near(shelf: Parameters<NearestPassages['nearest']>[0], query: string): Promise<PassageKey[]> {
    this.nearest ??= openNearest(this.database).catch((error: unknown) => {
      this.nearest = null;
      throw error;
    });
    return await (await this.nearest).nearest(shelf, query, CANDIDATES);
  }

  private async readVersions(items: Asked[]): Promise<(string | null)[]> {
    const rows = await this.database.system.query<{ nth: number; version: string }>(VERSIONS, [
      items.map(({ agentOrgId }) => agentOrgId),
      items.map(({ agentId }) => agentId),
    ]);
    const found: (string | null)[] = items.map(() => null);
    for (const { nth, version } of rows) found[nth - 1] = version;
    return found;
  }

  private async fullText(orgId: string, agentId: string, query: string): Promise<PassageKey[]> {
    const words = tsQueryOf(query);
    if (words === null) return [];
    return await this.database.system.query<PassageKey>(FULL_TEXT, [orgId, agentId, words, CANDIDATES]);
  }

  private async passages(
    orgId: string,
    agentId: string,
    ranked: (PassageKey & { score: number })[],
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
function fuse(rankings: PassageKey[][]): (PassageKey & { score: number })[] {
  const scores = new Map<string, PassageKey & { score: number }>();
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
