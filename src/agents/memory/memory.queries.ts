import type { Memory } from '../agents.types.js';

/** Statements that store and recall memories. Every run of an agent uses them, and no entity has their vectors. */

export interface MemoryRow {
  id: string;
  agent_id: string;
  end_user: string | null;
  content: string;
  created_at: Date;
  embedding: Buffer | null;
}

/** The maximum for one agent and one user; the oldest are deleted first. */
const MAX_MEMORIES = 500;

export const toMemory = (row: MemoryRow): Memory => ({
  id: row.id,
  agentId: row.agent_id,
  endUser: row.end_user,
  content: row.content,
  createdAt: row.created_at,
});

/** A memory with the same words is not stored twice. */
export const REMEMBER = `INSERT INTO agent_memories (id, org_id, agent_id, end_user, run_id, content, embedding)
  SELECT f.id, $1, $2, $3, $4, f.content, decode(f.vector, 'base64')
  FROM unnest($5::text[], $6::text[], $7::text[]) AS f (id, content, vector) ON CONFLICT DO NOTHING`;

export const FORGET_OLDEST = `DELETE FROM agent_memories WHERE id IN (
  SELECT id FROM agent_memories WHERE org_id = $1 AND agent_id = $2 AND end_user IS NOT DISTINCT FROM $3
  ORDER BY id DESC OFFSET ${MAX_MEMORIES})`;

export const ALL = `SELECT id, agent_id, end_user, content, created_at, embedding FROM agent_memories
  WHERE org_id = $1 AND agent_id = $2 AND end_user IS NOT DISTINCT FROM $3 ORDER BY id DESC`;
