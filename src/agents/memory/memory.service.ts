import type { InferEntity } from '@mikro-orm/postgresql';
import type { Principal } from '../../access/access.types.js';
import { badCursor, toPage, newestFirst } from '../../collections/page.js';
import type { PageQuery } from '../../collections/page.js';
import { isLonger } from '../../text/characters.js';
import type { Database } from '../../database/database.types.js';
import { invalid, notFound } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { MAX_USER } from '../runs/run.input.js';
import { agentPlanOf } from '../agent.input.js';
import type { Memory, MemoryService, Page } from '../agents.types.js';
import { vectorOf, VectorTable } from '../knowledge/vectors.js';
import { factsIn } from './facts.js';
import { MemoryEntity } from './memory.entity.js';
import { ALL, FORGET_OLDEST, REMEMBER, toMemory } from './memory.queries.js';
import type { MemoryRow } from './memory.queries.js';

const ID = /^mem_[0-9a-z]{26}$/;

/** What users told an agent, by organisation, agent and end user (decisions 6 "Agents"). */
export function createMemoryService({ database }: { database: Database }): MemoryService {
  return new Memories(database);
}

const shown = ({ id, agentId, endUser, content, createdAt }: InferEntity<typeof MemoryEntity>): Memory => ({
  id,
  agentId,
  endUser: endUser ?? null,
  content,
  createdAt,
});

class Memories implements MemoryService {
  constructor(private readonly database: Database) {}

  async forgetAgent(agentId: string): Promise<void> {
    // A public agent has memories of other organisations too.
    await this.database.allTenants((em) => em.nativeDelete(MemoryEntity, { agentId }));
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
    const rows = await this.database.tenantQuery<MemoryRow>(orgId, ALL, [orgId, agentId, endUser]);
    const table = new VectorTable(rows.map(({ embedding }) => embedding ?? vectorOf('')));
    const near = (await table.nearest(vectorOf(query), limit)).map(({ row }) => row);
    // The latest memories fill the rest of the list: "what do you know of me" shares no word with any.
    const latest = rows.map((_, row) => row).filter((row) => !near.includes(row));
    return [...near, ...latest].slice(0, limit).map((row) => toMemory(rows[row] as MemoryRow));
  }

  async list(
    principal: Principal,
    agentId: string,
    { endUser, ...page }: PageQuery & { endUser?: string },
  ): Promise<Page<Memory>> {
    agentPlanOf(principal.plan);
    const bad = badCursor(page, (cursor) => ID.test(cursor));
    if (bad !== undefined) throw invalid('Invalid cursor', bad);
    if (endUser !== undefined && isLonger(endUser, MAX_USER))
      throw invalid(`user must be at most ${MAX_USER} characters`, 'user');
    const listed = { agentId, ...(endUser !== undefined && { endUser }) };
    const { parts, options } = newestFirst(page);
    const rows = await this.database.tenant(principal.orgId, (em) =>
      em.find(MemoryEntity, { $and: [listed, ...parts] }, options),
    );
    return {
      ...toPage(rows.map(shown), page, ({ id }) => id),
      count: () => this.database.tenant(principal.orgId, (em) => em.count(MemoryEntity, listed)),
    };
  }

  async getMany(principal: Principal, ids: readonly string[]): Promise<Memory[]> {
    agentPlanOf(principal.plan);
    return await this.database.tenant(principal.orgId, async (em) =>
      (await em.find(MemoryEntity, { id: { $in: [...ids] } })).map(shown),
    );
  }

  async delete(principal: Principal, id: string): Promise<Memory> {
    agentPlanOf(principal.plan);
    return await this.database.tenant(principal.orgId, async (em) => {
      const memory = await em.findOne(MemoryEntity, { id });
      // Only one of two concurrent deletions finds it.
      if (memory === null || (await em.nativeDelete(MemoryEntity, { id })) === 0)
        throw notFound('Memory not found');
      return shown(memory);
    });
  }
}
