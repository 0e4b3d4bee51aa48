import { firstCharacters } from '../text/characters.js';
import type { Principal } from '../access/access.types.js';
import type { Database, Sql, SqlValue } from '../database/database.types.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import type { ModelCatalogue } from '../models/models.types.js';
import { bindToKey, takeBound } from '../idempotency/index.js';
import type { KeyedCall } from '../idempotency/index.js';
import { agentPlanOf, parseAgent, parseAgentChanges, parseDuplicate } from './agent.input.js';
import type { AgentInput, AgentRules } from './agent.input.js';
import * as queries from './agent.queries.js';
import type { AgentRow } from './agent.queries.js';
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
    const rows = await this.rows(principal, queries.LIST_AGENTS, [
      includeTemplates,
      templateCategory ?? null,
      after !== undefined && isTemplateId(after),
      after ?? null,
      first + 1,
    ]);
    const nodes = rows.slice(0, first).map(queries.toAgent);
    return { nodes, nextCursor: rows.length > first ? (nodes.at(-1)?.id ?? null) : null };
  }

  async get(principal: Principal, id: string): Promise<Agent> {
    agentPlanOf(principal.plan);
    return queries.toAgent(await this.one(principal, queries.FIND_AGENT, [id]));
  }

  async getMany(principal: Principal, ids: string[]): Promise<Agent[]> {
    agentPlanOf(principal.plan);
    return (await this.rows(principal, queries.FIND_AGENTS, [ids])).map(queries.toAgent);
  }

  async update(principal: Principal, id: string, body: Record<string, unknown>): Promise<Agent> {
    const changes = parseAgentChanges(body, this.rules(principal));
    if (Object.keys(changes).length === 0)
      return queries.toAgent(await this.one(principal, queries.FIND_OWN_AGENT, [id]));
    const values = [id, ...queries.updateValues(changes)];
    return queries.toAgent(await this.one(principal, queries.UPDATE_AGENT, values));
  }

  async delete(principal: Principal, id: string): Promise<void> {
    agentPlanOf(principal.plan);
    // Runs stay readable by id, so the row stays, out of every list. It goes before its files: a duplicate is made of all of them, or not.
    await this.one(
      principal,
      `UPDATE agents SET deleted_at = clock_timestamp() WHERE org_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${queries.AGENT_COLUMNS}`,
      [id],
    );
    await this.options.knowledge.forgetAgent(principal.orgId, id);
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
    await requireRoom(database.system, principal);
    // Another organisation's files stay where they are: only its runs use them.
    const copies = await knowledge.copyBytes(principal, id);
    // The agent with all of its files, or none: a retry may be given it from then on.
    const inserted = this.insert(call, input, async (sql, agentId) => {
      await requireUndeleted(sql, orgId, id);
      await knowledge.attach(sql, { orgId, agentId }, copies);
    });
    return await inserted.catch(async (error: unknown) => {
      // Refused: where nobody knows what became of it, the copies stay until the retention has looked.
      if (error instanceof ApiError && error.code !== 'unavailable')
        await knowledge.forgetCopies(orgId, copies);
      throw error;
    });
  }

  private rules(principal: Principal): AgentRules {
    return { plan: principal.plan, models: this.options.models, knownTools: this.options.knownTools() };
  }

  private async insert(
    call: KeyedCall,
    input: AgentInput,
    also: (sql: Sql, agentId: string) => Promise<void> = async () => undefined,
  ): Promise<Agent> {
    const { principal } = call;
    return await this.options.database.transaction(async (sql: Sql) => {
      // Creations of one organisation wait for each other, so that the plan's number holds.
      await sql.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7308))', [principal.orgId]);
      await requireRoom(sql, principal);
      const values = queries.insertValues(newId('agt'), principal, input);
      const [row] = await sql.query<AgentRow>(queries.INSERT_AGENT, values);
      await bindToKey(sql, call, row!.id);
      await also(sql, row!.id);
      return queries.toAgent(row!);
    });
  }

  private async rows(principal: Principal, text: string, values: SqlValue[]): Promise<AgentRow[]> {
    const { orgId } = principal;
    return await this.options.database.tenantQuery<AgentRow>(orgId, text, [orgId, ...values]);
  }

  private async one(principal: Principal, text: string, values: SqlValue[]): Promise<AgentRow> {
    const [row] = await this.rows(principal, text, values);
    if (row === undefined) throw agentNotFound();
    return row;
  }
}

/** @throws ApiError quota_exceeded `Agent limit reached` */
async function requireRoom(sql: Sql, { orgId, plan }: Principal): Promise<void> {
  const [count] = await sql.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM agents WHERE org_id = $1 AND deleted_at IS NULL',
    [orgId],
  );
  if ((count?.n ?? 0) >= agentPlanOf(plan).maxAgents)
    throw new ApiError('quota_exceeded', 'Agent limit reached');
}

/** Holds the organisation's own agent as it is until the transaction ends. @throws ApiError not_found where it was deleted meanwhile */
async function requireUndeleted(sql: Sql, orgId: string, agentId: string): Promise<void> {
  const text = 'SELECT deleted_at AS gone FROM agents WHERE org_id = $1 AND id = $2 FOR SHARE';
  const [row] = await sql.query<{ gone: Date | null }>(text, [orgId, agentId]);
  if (row !== undefined && row.gone !== null) throw agentNotFound();
}

function copyName(name: string): string {
  return firstCharacters(`${name} (copy)`, 100);
}
