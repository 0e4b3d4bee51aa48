import type { SqlValue } from '../database/database.types.js';
import type { AgentInput } from './agent.input.js';
import type { Agent, TemplateCategory } from './agents.types.js';

export interface AgentRow {
  id: string;
  org_id: string | null;
  name: string;
  description: string;
  icon: string;
  system_prompt: string;
  model: string;
  tools: string[];
  temperature: number;
  max_tokens: number;
  max_iterations: number;
  memory_enabled: boolean;
  is_template: boolean;
  template_category: TemplateCategory | null;
  is_public: boolean;
  run_count: number;
  created_at: Date;
  updated_at: Date;
}

export const AGENT_COLUMNS = `id, org_id, name, description, icon, system_prompt, model, tools, temperature, max_tokens, max_iterations,
  memory_enabled, is_template, template_category, is_public, run_count, created_at, updated_at`;

export function toAgent(row: AgentRow): Agent {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    description: row.description,
    icon: row.icon,
    systemPrompt: row.system_prompt,
    model: row.model,
    tools: row.tools,
    temperature: row.temperature,
    maxTokens: row.max_tokens,
    maxIterations: row.max_iterations,
    memoryEnabled: row.memory_enabled,
    isTemplate: row.is_template,
    templateCategory: row.template_category,
    isPublic: row.is_public,
    runCount: Number(row.run_count),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export const INSERT_AGENT = `INSERT INTO agents (id, org_id, user_id, name, description, icon, system_prompt, model, tools, temperature,
    max_tokens, max_iterations, memory_enabled)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING ${AGENT_COLUMNS}`;

export function insertValues(
  id: string,
  owner: { orgId: string; userId: string },
  input: AgentInput,
): SqlValue[] {
  const {
    name,
    description,
    icon,
    systemPrompt,
    model,
    tools,
    temperature,
    maxTokens,
    maxIterations,
    memoryEnabled,
  } = input;
  return [
    id,
    owner.orgId,
    owner.userId,
    name,
    description,
    icon,
    systemPrompt,
    model,
    tools,
    temperature,
    maxTokens,
    maxIterations,
    memoryEnabled,
  ];
}

/** The organisation's own, public ones and templates; the tenant's policy says the same. */
const VISIBLE = 'deleted_at IS NULL AND (org_id = $1 OR is_template OR is_public)';
export const FIND_AGENT = `SELECT ${AGENT_COLUMNS} FROM agents WHERE id = $2 AND ${VISIBLE}`;
export const FIND_AGENTS = `SELECT ${AGENT_COLUMNS} FROM agents WHERE id = ANY ($2) AND ${VISIBLE}`;

export const FIND_OWN_AGENT = `SELECT ${AGENT_COLUMNS} FROM agents WHERE org_id = $1 AND id = $2 AND deleted_at IS NULL`;

/** Own agents, newest first, then, where asked for, templates (of one category). `$4`/`$5`: whether the cursor is a template, and its id. */
export const LIST_AGENTS = `SELECT ${AGENT_COLUMNS} FROM agents
  WHERE deleted_at IS NULL
    AND (org_id = $1 OR ($2 AND is_template AND ($3::text IS NULL OR template_category = $3)))
    AND ($5::text IS NULL OR is_template > $4::boolean OR (is_template = $4::boolean AND id < $5))
  ORDER BY is_template, id DESC LIMIT $6`;

/** Null leaves a column as it is. */
export const UPDATE_AGENT = `UPDATE agents SET
    name = COALESCE($3, name), description = COALESCE($4, description), icon = COALESCE($5, icon),
    system_prompt = COALESCE($6, system_prompt), model = COALESCE($7, model), tools = COALESCE($8, tools),
    temperature = COALESCE($9, temperature), max_tokens = COALESCE($10, max_tokens),
    max_iterations = COALESCE($11, max_iterations), memory_enabled = COALESCE($12, memory_enabled),
    is_public = COALESCE($13, is_public), updated_at = clock_timestamp()
  WHERE org_id = $1 AND id = $2 AND deleted_at IS NULL RETURNING ${AGENT_COLUMNS}`;

export function updateValues(changes: Partial<AgentInput>): SqlValue[] {
  return [
    changes.name ?? null,
    changes.description ?? null,
    changes.icon ?? null,
    changes.systemPrompt ?? null,
    changes.model ?? null,
    changes.tools ?? null,
    changes.temperature ?? null,
    changes.maxTokens ?? null,
    changes.maxIterations ?? null,
    changes.memoryEnabled ?? null,
    changes.isPublic ?? null,
  ];
}
