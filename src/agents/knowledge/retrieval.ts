import type { Database } from '../../database/database.types.js';
import { createBatcher } from '../../jobs/index.js';
import type { Passage } from '../agents.types.js';
import { createFullText } from './full-text.js';
import type { FullText } from './full-text.js';
import { openNearest } from './nearest.js';
import type { NearestPassages, PassageKey } from './nearest.js';
import { TEXTS, VERSIONS } from './retrieval.queries.js';

/** Candidates of each kind of search, before they are fused. */
const CANDIDATES = 40;
/** The constant k of reciprocal rank fusion: a smaller one gives the first ranks more weight. */
const FUSION = 60;
/** The maximum of agents in one lookup of files. */
const MAX_BATCH = 100;

interface RetrievalRequest {
  agentId: string;
  agentOrgId: string;
}

/** Hybrid retrieval: full text and vectors, fused by reciprocal rank. */
export class Retrieval {
  private nearest: Promise<NearestPassages> | null = null;
  private readonly fullText: FullText;
  private readonly versions: ReturnType<typeof createBatcher<RetrievalRequest, string | null>>;

  constructor(private readonly database: Database) {
    this.fullText = createFullText(database.system);
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
  }: RetrievalRequest & { query: string; limit: number }): Promise<Passage[]> {
    const version = await this.versions.add({ agentId, agentOrgId: orgId });
    if (version === null) return [];
    const scope = { orgId, agentId, version };
    const [byWords, byVector] = await Promise.all([
      this.fullText.search(scope, query, CANDIDATES),
      this.near(scope, query),
    ]);
    const ranked = fuse([byWords, byVector]).slice(0, limit);
    return await this.passages(orgId, agentId, ranked);
  }

  private async near(scope: Parameters<NearestPassages['nearest']>[0], query: string): Promise<PassageKey[]> {
    this.nearest ??= openNearest(this.database).catch((error: unknown) => {
      this.nearest = null;
      throw error;
    });
    return await (await this.nearest).nearest(scope, query, CANDIDATES);
  }

  private async readVersions(items: RetrievalRequest[]): Promise<(string | null)[]> {
    const rows = await this.database.system.query<{ nth: number; version: string }>(VERSIONS, [
      items.map(({ agentOrgId }) => agentOrgId),
      items.map(({ agentId }) => agentId),
    ]);
    const found: (string | null)[] = items.map(() => null);
    for (const { nth, version } of rows) found[nth - 1] = version;
    return found;
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
      // The file was deleted meanwhile.
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
