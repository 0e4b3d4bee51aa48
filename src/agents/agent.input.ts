import type { Plan } from '../access/access.types.js';
import { isLonger } from '../text/characters.js';
import { ApiError, invalid } from '../contract/errors.js';
import { modelFor } from '../generation/index.js';
import type { ModelCaller } from '../generation/index.js';
import type { ModelCatalogue } from '../models/models.types.js';
import type { AgentInput } from './agents.types.js';

type AgentPlan = NonNullable<Plan['agents']>;

export interface AgentRules {
  /** Who makes or changes the agent. */
  caller: ModelCaller;
  models: ModelCatalogue;
  /** Ids of the seven tools and of the operator's MCP tools. */
  knownTools: ReadonlySet<string>;
}

const FIELDS: Record<string, keyof AgentInput> = {
  name: 'name',
  description: 'description',
  icon: 'icon',
  system_prompt: 'systemPrompt',
  model: 'model',
  tools: 'tools',
  temperature: 'temperature',
  max_tokens: 'maxTokens',
  max_iterations: 'maxIterations',
  memory_enabled: 'memoryEnabled',
};

/** @throws ApiError plan_required */
export function agentPlanOf(plan: Plan): AgentPlan {
  if (plan.agents === null) throw new ApiError('plan_required', 'AI Agents are not available');
  return plan.agents;
}

function text(value: unknown, field: string, max: number): string {
  if (typeof value !== 'string') throw invalid(`${field} must be a string`, field);
  if (isLonger(value, max)) throw invalid(`${field} must be at most ${max} characters`, field);
  return value;
}

function requiredText(value: unknown, field: string, max: number): string {
  if (value === undefined || value === null || (typeof value === 'string' && value.trim() === ''))
    throw invalid(`${field} is required`, field);
  return text(value, field, max);
}

function numberIn(value: unknown, field: string, [min, max]: [number, number]): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < min || value > max)
    throw invalid(`${field} must be between ${min} and ${max}`, field);
  return value;
}

function integerIn(value: unknown, field: string, range: [number, number]): number {
  if (!Number.isInteger(value))
    throw invalid(`${field} must be an integer between ${range[0]} and ${range[1]}`, field);
  return numberIn(value, field, range);
}

function flag(value: unknown, field: string): boolean {
  if (typeof value !== 'boolean') throw invalid(`${field} must be a boolean`, field);
  return value;
}

function tools(value: unknown, plan: AgentPlan, known: ReadonlySet<string>): string[] {
  const listed = Array.isArray(value) ? value : null;
  const fits = listed?.every((tool): tool is string => typeof tool === 'string' && known.has(tool));
  if (listed === null || !fits) throw invalid('Invalid tools', 'tools');
  const unique = [...new Set(listed)];
  if (unique.length > plan.maxTools) throw invalid('Invalid tools', 'tools');
  return unique;
}

function iterations(value: unknown, plan: AgentPlan): number {
  const count = integerIn(value, 'max_iterations', [1, 20]);
  if (count > plan.maxIterations) throw invalid('max_iterations exceeds plan maximum', 'max_iterations');
  return count;
}

const chatModel = (requested: unknown, rules: AgentRules): string =>
  modelFor({ model: requested }, { ...rules, type: 'chat' }).id;

/** If the model exists, the plan must allow it; this is checked before the fields are (403 before 400, decisions 1). */
function requireTier({ model }: Record<string, unknown>, rules: AgentRules): void {
  if (typeof model === 'string' && rules.models.find(model) !== null) chatModel(model, rules);
}

function parseField(name: keyof AgentInput, value: unknown, rules: AgentRules): unknown {
  const plan = agentPlanOf(rules.caller.plan);
  switch (name) {
    case 'name':
      return requiredText(value, 'name', 100);
    case 'description':
      return text(value ?? '', 'description', 500);
    case 'icon':
      return text(value ?? 'bot', 'icon', 100) || 'bot';
    case 'systemPrompt':
      return requiredText(value, 'system_prompt', 10_000);
    case 'model':
      return chatModel(value, rules);
    case 'tools':
      return tools(value ?? [], plan, rules.knownTools);
    case 'temperature':
      return numberIn(value ?? 0.7, 'temperature', [0, 2]);
    case 'maxTokens':
      return integerIn(value ?? 4000, 'max_tokens', [100, 8000]);
    case 'maxIterations':
      // The default fits every plan that has agents at all.
      return iterations(value ?? Math.min(10, plan.maxIterations), plan);
    case 'memoryEnabled':
      return flag(value ?? false, 'memory_enabled');
    case 'isPublic':
      return flag(value ?? false, 'is_public');
  }
}

function refuseUnknown(body: Record<string, unknown>, extra: readonly string[]): void {
  for (const name of Object.keys(body))
    if (!Object.hasOwn(FIELDS, name) && !extra.includes(name) && body[name] !== null)
      throw invalid(`Unknown parameter: ${name}`, name);
}

/** A whole agent with defaults filled in. @throws ApiError model_tier_not_allowed, invalid_request with `param` */
export function parseAgent(body: Record<string, unknown>, rules: AgentRules): AgentInput {
  agentPlanOf(rules.caller.plan);
  requireTier(body, rules);
  refuseUnknown(body, []);
  const entries = Object.entries(FIELDS).map(([field, name]) => [name, parseField(name, body[field], rules)]);
  return { ...(Object.fromEntries(entries) as AgentInput), isPublic: false };
}

/** The fields that a PATCH names; null means the field's default. */
export function parseAgentChanges(body: Record<string, unknown>, rules: AgentRules): Partial<AgentInput> {
  agentPlanOf(rules.caller.plan);
  requireTier(body, rules);
  refuseUnknown(body, ['is_public']);
  const named = { ...FIELDS, is_public: 'isPublic' as const };
  const entries = Object.entries(named)
    .filter(([field]) => body[field] !== undefined)
    .map(([field, name]) => [name, parseField(name, body[field], rules)]);
  return Object.fromEntries(entries) as Partial<AgentInput>;
}

/** Body of duplicate. */
export function parseDuplicate(body: Record<string, unknown>): string | null {
  for (const name of Object.keys(body))
    if (name !== 'name' && body[name] !== null) throw invalid(`Unknown parameter: ${name}`, name);
  return body['name'] == null ? null : requiredText(body['name'], 'name', 100);
}
