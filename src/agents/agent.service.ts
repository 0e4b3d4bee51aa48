import { LockMode, raw } from '@mikro-orm/postgresql';
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import { badCursor, toPage } from '../collections/page.js';
import type { PageQuery } from '../collections/page.js';
import { firstCharacters } from '../text/characters.js';
import type { Principal } from '../access/access.types.js';
import { recordChange } from '../audit/index.js';
import { sqlOf } from '../database/index.js';
import type { Database } from '../database/database.types.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import type { ModelCatalogue } from '../models/models.types.js';
import { bindToKey, takeBoundId } from '../idempotency/index.js';
import type { KeyedCall } from '../idempotency/index.js';
import { agentPlanOf, parseAgent, parseAgentChanges, parseDuplicate } from './agent.input.js';
import type { AgentRules } from './agent.input.js';
import { AgentEntity, toAgent } from './agent.entity.js';
import type { AgentRow } from './agent.entity.js';
import { LOCK_CREATIONS } from './agent.queries.js';
import { TEMPLATE_CATEGORIES } from './agents.types.js';
import type {
  Agent,
  AgentInput,
  AgentService,
  KnowledgeService,
  MemoryService,
  Page,
} from './agents.types.js';
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
    const made = takeBoundId(call, 'agt');
    if (made !== null) return await this.get(call.principal, made);
    return await this.insert(call, parseAgent(body, this.rules(call.principal)));
  }

  async list(
    principal: Principal,
    query: PageQuery & { includeTemplates: boolean; templateCategory?: string },
  ): Promise<Page<Agent>> {
    agentPlanOf(principal.plan);
    const { includeTemplates, templateCategory, first, after, before, backwards } = query;
    if (
      templateCategory !== undefined &&
      !(TEMPLATE_CATEGORIES as readonly string[]).includes(templateCategory)
    )
      throw invalid(
        `template_category must be one of ${TEMPLATE_CATEGORIES.join(', ')}`,
        'template_category',
      );
    const bad = badCursor(query, (cursor) => /^agt_[0-9a-z]{26}$/.test(cursor));
    if (bad !== undefined) throw invalid('Invalid cursor', bad);
    const { orgId } = principal;
    const templates = { isTemplate: true, ...(templateCategory && { templateCategory }) };
    const listed = { $or: [{ orgId }, ...(includeTemplates ? [templates] : [])] };
    const bounds = [
      ...(after === undefined ? [] : [behind(after)]),
      ...(before === undefined ? [] : [ahead(before)]),
    ];
    const order: [QueryOrder, QueryOrder] = backwards ? ['desc', 'asc'] : ['asc', 'desc'];
    const { database } = this.options;
    const rows = await database.tenant(orgId, (em) =>
      em.find(AgentEntity, { $and: [listed, ...bounds] } as FilterQuery<AgentRow>, {
        orderBy: [{ isTemplate: order[0] }, { id: order[1] }],
        limit: first + 1,
      }),
    );
    return {
      ...toPage(rows.map(toAgent), query, ({ id }) => id),
      count: () => database.tenant(orgId, (em) => em.count(AgentEntity, listed as FilterQuery<AgentRow>)),
    };
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
      // The lock keeps a concurrent deletion from happening between these statements.
      const agent = await find(em, { id, orgId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      const { isPublic } = agent;
      if (Object.keys(changes).length > 0)
        em.assign(agent, { ...changes, updatedAt: raw<Date>('clock_timestamp()') });
      await em.flush();
      await recordPublicity(em, agent, isPublic);
      return toAgent(agent);
    });
  }

  async delete(principal: Principal, id: string): Promise<Agent> {
    agentPlanOf(principal.plan);
    const { orgId } = principal;
    // Runs stay readable by id, so the row stays, out of every list. It goes before its files: a duplicate is made of all of them, or not.
    const deleted = await this.options.database.tenant(orgId, async (em) => {
      const agent = await find(em, { id, orgId });
      const now = { deletedAt: raw<Date>('clock_timestamp()') };
      if ((await em.nativeUpdate(AgentEntity, { id, orgId }, now)) === 0) throw agentNotFound();
      if (agent.isPublic) await recordPublicity(em, { ...agent, isPublic: false }, true);
      return toAgent(agent);
    });
    await this.options.knowledge.forgetAgent(orgId, id);
    await this.options.memory.forgetAgent(id);
    return deleted;
  }

  async duplicate(call: KeyedCall, id: string, body: Record<string, unknown>): Promise<Agent> {
    const { principal } = call;
    agentPlanOf(principal.plan);
    const name = parseDuplicate(body);
    const made = takeBoundId(call, 'agt');
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

/** The new agent's fields, from its caller or from the agent that is duplicated. A new agent is private. */
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

/** The same of what the list has before it. */
function ahead(cursor: string): object {
  const newer = { id: { $gt: cursor } };
  if (isTemplateId(cursor)) return { $or: [{ isTemplate: false }, newer] };
  return { isTemplate: false, ...newer };
}

type QueryOrder = 'asc' | 'desc';

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

/** The audit log records when an agent becomes public or private. */
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

/** Locks the organisation's own agent until the transaction ends. @throws ApiError not_found where it was deleted meanwhile */
async function requireUndeleted(em: EntityManager, where: { orgId: string; id: string }): Promise<void> {
  const options = { lockMode: LockMode.PESSIMISTIC_READ, filters: { kept: false } };
  const agent = await em.findOne(AgentEntity, where, options);
  if (agent !== null && agent.deletedAt != null) throw agentNotFound();
}

function copyName(name: string): string {
  return firstCharacters(`${name} (copy)`, 100);
}
