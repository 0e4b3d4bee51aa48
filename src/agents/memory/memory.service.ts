import type { Principal } from '../../access/access.types.js';
import { isLonger } from '../../text/characters.js';
import type { Database } from '../../database/database.types.js';
import { invalid, notFound } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { MAX_USER } from '../runs/run.input.js';
import { agentPlanOf } from '../agent.input.js';
import type { Memory, MemoryService, Page } from '../agents.types.js';
import { vectorOf, VectorTable } from '../knowledge/vectors.js';
import { factsIn } from './facts.js';

interface MemoryRow {
  id: string;
  agent_id: string;
  end_user: string | null;
  content: string;
  created_at: Date;
}

const COLUMNS = 'id, agent_id, end_user, content, created_at';
/** Of one agent and one user; the oldest go first. */
const MAX_MEMORIES = 500;
const ID = /^mem_[0-9a-z]{26}$/;

const toMemory = (row: MemoryRow): Memory => ({
  id: row.id,
  agentId: row.agent_id,
  endUser: row.end_user,
  content: row.content,
  createdAt: row.created_at,
});

const REMEMBER = `INSERT INTO agent_memories (id, org_id, agent_id, end_user, run_id, content, embedding)
  SELECT f.id, $1, $2, $3, $4, f.content, decode(f.vector, 'base64')
  FROM unnest($5::text[], $6::text[], $7::text[]) AS f (id, content, vector) ON CONFLICT DO NOTHING`;

const FORGET_OLDEST = `DELETE FROM agent_memories WHERE id IN (
  SELECT id FROM agent_memories WHERE org_id = $1 AND agent_id = $2 AND end_user IS NOT DISTINCT FROM $3
  ORDER BY id DESC OFFSET ${MAX_MEMORIES})`;

const ALL = `SELECT ${COLUMNS}, embedding FROM agent_memories
  WHERE org_id = $1 AND agent_id = $2 AND end_user IS NOT DISTINCT FROM $3 ORDER BY id DESC`;

const LIST = `SELECT ${COLUMNS} FROM agent_memories
  WHERE org_id = $1 AND agent_id = $2 AND ($3::text IS NULL OR end_user = $3) AND ($4::text IS NULL OR id < $4)
  ORDER BY id DESC LIMIT $5`;

/** What users told an agent, by organisation, agent and end user (decisions 6 "Agents"). */
export function createMemoryService({ database }: { database: Database }): MemoryService {
  return new Memories(database);
}

class Memories implements MemoryService {
  constructor(private readonly database: Database) {}

  async forgetAgent(agentId: string): Promise<void> {
    await this.database.system.query('DELETE FROM agent_memories WHERE agent_id = $1', [agentId]);
  }

  async remember({
    orgId,
    agentId,
    endUser,
    runId,
    text,
  }: Parameters<MemoryService['remember']>[0]): Promise<void> {
    const facts = factsIn(text);
    if (facts.length === 0) return;
    const ids = facts.map(() => newId('mem'));
    const vectors = facts.map((fact) => vectorOf(fact).toString('base64'));
    await this.database.system.query(REMEMBER, [orgId, agentId, endUser, runId, ids, facts, vectors]);
    await this.database.system.query(FORGET_OLDEST, [orgId, agentId, endUser]);
  }

  async recall({
    orgId,
    agentId,
    endUser,
    query,
    limit,
  }: Parameters<MemoryService['recall']>[0]): Promise<Memory[]> {
    const rows = await this.database.tenantQuery<MemoryRow & { embedding: Buffer | null }>(orgId, ALL, [
      orgId,
      agentId,
      endUser,
    ]);
    const table = new VectorTable(rows.map(({ embedding }) => embedding ?? vectorOf('')));
    const near = (await table.nearest(vectorOf(query), limit)).map(({ row }) => row);
    // A short memory is recalled whole: "what do you know of me" shares no word with it.
    const latest = rows.map((_, row) => row).filter((row) => !near.includes(row));
    return [...near, ...latest].slice(0, limit).map((row) => toMemory(rows[row] as MemoryRow));
  }

  async list(
    principal: Principal,
    agentId: string,
    { endUser, first, after }: { endUser?: string; first: number; after?: string },
  ): Promise<Page<Memory>> {
    agentPlanOf(principal.plan);
    if (after !== undefined && !ID.test(after)) throw invalid('Invalid cursor', 'cursor');
    if (endUser !== undefined && isLonger(endUser, MAX_USER))
      throw invalid(`user must be at most ${MAX_USER} characters`, 'user');
    const values = [principal.orgId, agentId, endUser ?? null, after ?? null, first + 1];
    const rows = await this.database.tenantQuery<MemoryRow>(principal.orgId, LIST, values);
    const nodes = rows.slice(0, first).map(toMemory);
    return { nodes, nextCursor: rows.length > first ? (nodes.at(-1)?.id ?? null) : null };
  }

  async delete(principal: Principal, id: string): Promise<void> {
    agentPlanOf(principal.plan);
    const sql = 'DELETE FROM agent_memories WHERE org_id = $1 AND id = $2 RETURNING id';
    const rows = await this.database.tenantQuery(principal.orgId, sql, [principal.orgId, id]);
    if (rows.length === 0) throw notFound('Memory not found');
  }
}
