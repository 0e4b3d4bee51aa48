import { LockMode, raw } from '@mikro-orm/postgresql';
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import { firstCharacters } from '../text/characters.js';
import type { Principal } from '../access/access.types.js';
import { recordChange } from '../audit/index.js';
import { sqlOf } from '../database/index.js';
import type { Database } from '../database/database.types.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import type { ModelCatalogue } from '../models/models.types.js';
import { bindToKey, takeBound } from '../idempotency/index.js';
import type { KeyedCall } from '../idempotency/index.js';
import { agentPlanOf, parseAgent, parseAgentChanges, parseDuplicate } from './agent.input.js';
import type { AgentInput, AgentRules } from './agent.input.js';
import { AgentEntity, toAgent } from './agent.entity.js';
import type { AgentRow } from './agent.entity.js';
import { LOCK_CREATIONS } from './agent.queries.js';
import { TEMPLATE_CATEGORIES } from './agents.types.js';
import type { Agent, AgentService, KnowledgeService, MemoryService, Page } from './agents.types.js';
import { isTemplateId } from './templates.js';

export interface AgentServiceOptions {
  database: Database;
  models: ModelCatalogue;
  knowledge: Pick<KnowledgeService, 'copyBytes' | 'forgetCopies' | 'attach' | 'forgetAgent'>;
  memory: Pick<MemoryService, 'forgetAgent'>;
  /** Ids of all tools that may be granted now. */
  knownTools(): ReadonlySet<string>;
}

const agentNotFound = (): ApiError => notFound('Agent not found');

/** Agents: the organisation's own, public ones and templates (contract 2.11, 4.8; decisions 6 "Agents"). */
export function createAgentService(options: AgentServiceOptions): AgentService {
  return new Agents(options);
}

class Agents implements AgentService {
  constructor(private readonly options: AgentServiceOptions) {}

  async create(call: KeyedCall, body: Record<string, unknown>): Promise<Agent> {
    const made = takeBound(call, 'agt');
    if (made !== null) return await this.get(call.principal, made);
    return await this.insert(call, parseAgent(body, this.rules(call.principal)));
  }

  async list(
    principal: Principal,
    query: { includeTemplates: boolean; templateCategory?: string; first: number; after?: string },
  ): Promise<Page<Agent>> {
    agentPlanOf(principal.plan);
    const { includeTemplates, templateCategory, first, after } = query;
    if (
      templateCategory !== undefined &&
      !(TEMPLATE_CATEGORIES as readonly string[]).includes(templateCategory)
    )
      throw invalid(
        `template_category must be one of ${TEMPLATE_CATEGORIES.join(', ')}`,
        'template_category',
      );
    if (after !== undefined && !/^agt_[0-9a-z]{26}$/.test(after)) throw invalid('Invalid cursor', 'cursor');
    const { orgId } = principal;
    const templates = { isTemplate: true, ...(templateCategory && { templateCategory }) };
    const listed = { $or: [{ orgId }, ...(includeTemplates ? [templates] : [])] };
    const rows = await this.options.database.tenant(orgId, (em) =>
      em.find(
        AgentEntity,
        { $and: [listed, ...(after === undefined ? [] : [behind(after)])] } as FilterQuery<AgentRow>,
        { orderBy: [{ isTemplate: 'asc' }, { id: 'desc' }], limit: first + 1 },
      ),
    );
    const nodes = rows.slice(0, first).map(toAgent);
    return { nodes, nextCursor: rows.length > first ? (nodes.at(-1)?.id ?? null) : null };
  }

  async get(principal: Principal, id: string): Promise<Agent> {
    agentPlanOf(principal.plan);
    return await this.options.database.tenant(principal.orgId, async (em) => toAgent(await find(em, { id })));
  }

  async getMany(principal: Principal, ids: string[]): Promise<Agent[]> {
    agentPlanOf(principal.plan);
    return await this.options.database.tenant(principal.orgId, async (em) =>
      (await em.find(AgentEntity, { id: { $in: ids } })).map(toAgent),
    );
  }

  async update(principal: Principal, id: string, body: Record<string, unknown>): Promise<Agent> {
    const changes = parseAgentChanges(body, this.rules(principal));
    const { orgId } = principal;
    return await this.options.database.tenant(orgId, async (em) => {
      // A deletion at the same moment comes before or after, not between.
      const agent = await find(em, { id, orgId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      const { isPublic } = agent;
      if (Object.keys(changes).length > 0)
        em.assign(agent, { ...changes, updatedAt: raw<Date>('clock_timestamp()') });
      await em.flush();
      await recordPublicity(em, agent, isPublic);
      return toAgent(agent);
    });
  }

  async delete(principal: Principal, id: string): Promise<void> {
    agentPlanOf(principal.plan);
    const { orgId } = principal;
    // Runs stay readable by id, so the row stays, out of every list. It goes before its files: a duplicate is made of all of them, or not.
    await this.options.database.tenant(orgId, async (em) => {
      const agent = await find(em, { id, orgId });
      const now = { deletedAt: raw<Date>('clock_timestamp()') };
      if ((await em.nativeUpdate(AgentEntity, { id, orgId }, now)) === 0) throw agentNotFound();
      if (agent.isPublic) await recordPublicity(em, { ...agent, isPublic: false }, true);
    });
    await this.options.knowledge.forgetAgent(orgId, id);
    await this.options.memory.forgetAgent(id);
  }

  async duplicate(call: KeyedCall, id: string, body: Record<string, unknown>): Promise<Agent> {
    const { principal } = call;
    agentPlanOf(principal.plan);
    const name = parseDuplicate(body);
    const made = takeBound(call, 'agt');
    if (made !== null) return await this.get(principal, made);
    const source = await this.get(principal, id);
    const input = { ...source, isPublic: false, name: name ?? copyName(source.name) };
    const { orgId } = principal;
    const { knowledge, database } = this.options;
    await database.tenant(orgId, (em) => requireRoom(em, principal));
    // Another organisation's files stay where they are: only its runs use them.
    const copies = await knowledge.copyBytes(principal, id);
    // The agent with all of its files, or none: a retry may be given it from then on.
    const inserted = this.insert(call, input, async (em, agentId) => {
      await requireUndeleted(em, { orgId, id });
      await knowledge.attach(sqlOf(em), { orgId, agentId }, copies);
    });
    return await inserted.catch(async (error: unknown) => {
      // Refused: where nobody knows what became of it, the copies stay until the retention has looked.
      if (error instanceof ApiError && error.code !== 'unavailable')
        await knowledge.forgetCopies(orgId, copies);
      throw error;
    });
  }

  private rules(principal: Principal): AgentRules {
    return { caller: principal, models: this.options.models, knownTools: this.options.knownTools() };
  }

  private async insert(
    call: KeyedCall,
    input: AgentInput,
    also: (em: EntityManager, agentId: string) => Promise<void> = async () => undefined,
  ): Promise<Agent> {
    const { principal } = call;
    const { orgId, userId } = principal;
    return await this.options.database.allTenants(async (em) => {
      await sqlOf(em).query(LOCK_CREATIONS, [orgId]);
      await requireRoom(em, principal);
      const agent = em.create(AgentEntity, { ...ownFields(input), id: newId('agt'), orgId, userId });
      await em.flush();
      await bindToKey(sqlOf(em), call, agent.id);
      await also(em, agent.id);
      return toAgent(agent);
    });
  }
}

/** What a new agent takes of what its caller, or the agent that it is a copy of, says; it is nobody else's to see at first. */
function ownFields(input: AgentInput) {
  const { name, description, icon, systemPrompt, model, tools } = input;
  const { temperature, maxTokens, maxIterations, memoryEnabled } = input;
  const words = { name, description, icon, systemPrompt, model, tools: [...tools] };
  return { ...words, temperature, maxTokens, maxIterations, memoryEnabled };
}

/** The rest of a list that has own agents first, newest first, then templates. */
function behind(cursor: string): object {
  const older = { id: { $lt: cursor } };
  if (isTemplateId(cursor)) return { isTemplate: true, ...older };
  return { $or: [{ isTemplate: true }, older] };
}

/** @throws ApiError not_found */
async function find(
  em: EntityManager,
  where: { id: string; orgId?: string },
  options: { lockMode?: LockMode } = {},
) {
  const agent = await em.findOne(AgentEntity, where, options);
  if (agent === null) throw agentNotFound();
  return agent;
}

/** Whether an agent is public is a matter of the audit log. */
async function recordPublicity(
  em: EntityManager,
  { id, orgId, name, isPublic }: Pick<AgentRow, 'id' | 'orgId' | 'name' | 'isPublic'>,
  wasPublic: boolean,
): Promise<void> {
  const action = isPublic ? 'agent_published' : 'agent_unpublished';
  const [before, after] = [{ isPublic: wasPublic }, { isPublic }];
  await recordChange(em, { orgId: orgId ?? null, action, subject: { id, name }, before, after });
}

/** @throws ApiError quota_exceeded `Agent limit reached` */
async function requireRoom(em: EntityManager, { orgId, plan }: Principal): Promise<void> {
  if ((await em.count(AgentEntity, { orgId })) >= agentPlanOf(plan).maxAgents)
    throw new ApiError('quota_exceeded', 'Agent limit reached');
}

/** Holds the organisation's own agent as it is until the transaction ends. @throws ApiError not_found where it was deleted meanwhile */
async function requireUndeleted(em: EntityManager, where: { orgId: string; id: string }): Promise<void> {
  const options = { lockMode: LockMode.PESSIMISTIC_READ, filters: { kept: false } };
  const agent = await em.findOne(AgentEntity, where, options);
  if (agent !== null && agent.deletedAt != null) throw agentNotFound();
}

function copyName(name: string): string {
  return firstCharacters(`${name} (copy)`, 100);
}
