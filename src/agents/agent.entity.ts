import { defineEntity, p } from '@mikro-orm/postgresql';
import type { InferEntity } from '@mikro-orm/postgresql';
import { tenantFilter } from '../database/index.js';
import type { Agent, TemplateCategory } from './agents.types.js';

/**
 * An organisation sees its own agents, public ones and templates, as the tenant's policy says (migrations/current/agents/agents.sql). A deleted
 * agent keeps its row for its runs, but no query returns it.
 */
export const AgentEntity = defineEntity({
  name: 'Agent',
  tableName: 'agents',
  properties: {
    id: p.text().primary(),
    orgId: p.text().nullable(),
    userId: p.text().nullable(),
    name: p.text(),
    description: p.text().defaultRaw("''"),
    icon: p.text().defaultRaw("'bot'"),
    systemPrompt: p.text(),
    model: p.text(),
    tools: p.array().defaultRaw("'{}'"),
    temperature: p.double(),
    maxTokens: p.integer(),
    maxIterations: p.integer(),
    memoryEnabled: p.boolean().default(false),
    isTemplate: p.boolean().default(false),
    templateCategory: p.text().$type<TemplateCategory>().nullable(),
    isPublic: p.boolean().default(false),
    runCount: p.integer().columnType('bigint').default(0),
    deletedAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  },
  filters: {
    ...tenantFilter((orgId) => ({ $or: [{ orgId }, { isTemplate: true }, { isPublic: true }] })),
    kept: { name: 'kept', cond: { deletedAt: null }, default: true },
  },
});

export type AgentRow = InferEntity<typeof AgentEntity>;

export function toAgent(row: AgentRow): Agent {
  return {
    id: row.id,
    orgId: row.orgId ?? null,
    name: row.name,
    description: row.description,
    icon: row.icon,
    systemPrompt: row.systemPrompt,
    model: row.model,
    tools: row.tools,
    temperature: Number(row.temperature),
    maxTokens: row.maxTokens,
    maxIterations: row.maxIterations,
    memoryEnabled: row.memoryEnabled,
    isTemplate: row.isTemplate,
    templateCategory: row.templateCategory ?? null,
    isPublic: row.isPublic,
    runCount: Number(row.runCount),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
