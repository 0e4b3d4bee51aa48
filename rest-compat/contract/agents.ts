import { withOptional } from '../shared/openapi/json-schema.js';
import type { JsonSchema, Route } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';
import { wrapped } from './wrapped.js';

/** Contract 2.11. */
const AGENT = `
  id name description icon system_prompt: systemPrompt model: modelId tools temperature max_tokens: maxTokens
  max_iterations: maxIterations memory_enabled: memoryEnabled is_template: isTemplate is_public: isPublic
  run_count: runCount created_at: createdAt updated_at: updatedAt`;

/** Contract 2.12, without steps. */
const RUN = `
  id agent_id: agentId session_id: sessionId status input output error_message: errorMessage total_steps: totalSteps
  tokens_used: tokensUsed credits_used: creditsUsed duration_ms: durationMs created_at: createdAt completed_at: completedAt`;

const STEPS = `
  steps {
    step_number: stepNumber step_type: stepType content tool_name: toolName tool_input: toolInput tool_output: toolOutput
  }`;

const ID = { id: { description: "The agent's id.", example: 'agt_01jd0000000000000000000000' } };
const RUN_ID = { runId: { description: "The run's id.", example: 'run_01jd0000000000000000000000' } };
const page = (prefix: string) => ({
  limit: { description: 'How many.', minimum: 1, maximum: 100 },
  cursor: { description: '`next_cursor` of the previous page.', pattern: `^${prefix}_[0-9a-z]{26}$` },
});

/** Removes the fields that a step's type does not have (contract 2.12). */
function withoutNulls(step: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(step).filter(([, value]) => value !== null));
}

const STEP_FIELDS = ['content', 'tool_name', 'tool_input', 'tool_output'];

const event = (type: string, properties: Record<string, JsonSchema>): JsonSchema => ({
  title: `AgentRun${type[0]?.toUpperCase()}${type.slice(1)}Event`,
  type: 'object',
  properties: { type: { type: 'string', const: type }, ...properties },
  required: ['type', ...Object.keys(properties)],
});
const TEXT = { type: 'string' };

/** Contract 6.2. */
const RUN_EVENT: JsonSchema = {
  anyOf: [
    event('start', { run_id: TEXT, session_id: TEXT }),
    event('step', {
      run_id: TEXT,
      step: {
        type: 'object',
        properties: {
          step_number: { type: 'integer', minimum: 1 },
          type: { type: 'string', enum: ['thinking', 'tool_call', 'tool_result', 'response', 'error'] },
          content: TEXT,
          tool: TEXT,
          tool_input: { type: 'object' },
          tool_output: {},
        },
        required: ['step_number', 'type'],
      },
    }),
    event('done', {
      run_id: TEXT,
      output: TEXT,
      credits_used: { type: 'number' },
      tokens_used: { type: 'integer' },
    }),
    event('error', { error: TEXT }),
  ],
};

const common = { tag: 'Agents' } as const;
const EXAMPLE = {
  name: 'Researcher',
  system_prompt: 'You answer with sources.',
  tools: ['web_search', 'web_fetch'],
};

export const agentRoutes: Route[] = [
  {
    ...common,
    method: 'GET',
    path: '/agents',
    operationId: 'listAgents',
    summary: 'List agents, newest first, with templates if requested',
    document: `query ($include_templates: Boolean = false, $template_category: AgentTemplateCategory, $limit: Int = 50, $cursor: String) {
      body: agents(includeTemplates: $include_templates, templateCategory: $template_category, first: $limit, after: $cursor) {
        agents: nodes { ${AGENT} } next_cursor: nextCursor
      }
    }`,
    parameters: {
      include_templates: { description: "True: the templates are listed after the organisation's agents." },
      template_category: {
        description: 'Only templates of this category.',
        enum: ['research', 'content', 'coding', 'analysis', 'support', 'productivity'],
      },
      ...page('agt'),
    },
    schemaName: 'AgentList',
  },
  {
    ...common,
    method: 'POST',
    path: '/agents',
    operationId: 'createAgent',
    summary: 'Create an agent',
    document: `mutation ($input: CreateAgentInput!) { body: createAgent(input: $input) { ${AGENT} } }`,
    body: { limitBytes: BODY_LIMITS.small, example: EXAMPLE },
    ...wrapped('agent'),
    schemaName: 'AgentAnswer',
  },
  {
    ...common,
    method: 'GET',
    path: '/agents/{id}',
    operationId: 'getAgent',
    summary: 'Read an agent',
    document: `query ($id: ID!) { body: agent(id: $id) { ${AGENT} } }`,
    parameters: ID,
    ...wrapped('agent'),
    readsDuringAdmission: true,
    schemaName: 'AgentAnswer',
  },
  {
    ...common,
    method: 'PATCH',
    path: '/agents/{id}',
    operationId: 'updateAgent',
    summary: 'Change an agent',
    document: `mutation ($id: ID!, $input: UpdateAgentInput!) { body: updateAgent(id: $id, input: $input) { ${AGENT} } }`,
    parameters: ID,
    body: { limitBytes: BODY_LIMITS.small, example: { temperature: 0.2 } },
    ...wrapped('agent'),
    schemaName: 'AgentAnswer',
  },
  {
    ...common,
    method: 'DELETE',
    path: '/agents/{id}',
    operationId: 'deleteAgent',
    summary: 'Delete an agent; its runs stay readable',
    document: `mutation ($id: ID!) { body: deleteAgent(id: $id) { success } }`,
    parameters: ID,
    schemaName: 'Success',
  },
  {
    ...common,
    method: 'POST',
    path: '/agents/{id}/duplicate',
    operationId: 'duplicateAgent',
    summary: 'Copy an agent of the organisation, a template or a public agent',
    document: `mutation ($id: ID!, $input: DuplicateAgentInput) { body: duplicateAgent(id: $id, input: $input) { ${AGENT} } }`,
    parameters: ID,
    body: { limitBytes: BODY_LIMITS.small, optional: true, example: { name: 'My researcher' } },
    ...wrapped('agent'),
    schemaName: 'AgentAnswer',
  },
  {
    ...common,
    method: 'POST',
    path: '/agents/{id}/run',
    operationId: 'runAgent',
    summary: 'Run an agent and follow it as Server-Sent Events',
    description:
      'Each event is `data: {type, …}` with its sequence as `id:`; `start`, then `step`s, then `done` or `error`. The run continues when its client leaves; the stream of the run joins it again.',
    document: `mutation ($id: ID!, $input: RunAgentInput!) { body: runAgent(id: $id, input: $input) { id } }`,
    parameters: ID,
    body: { limitBytes: BODY_LIMITS.large, example: { input: 'What is new in PostgreSQL 18?' } },
    raw: 'run',
    describe: () => RUN_EVENT,
    schemaName: 'AgentRunEvent',
  },
  {
    ...common,
    method: 'GET',
    path: '/agents/{id}/runs',
    operationId: 'listAgentRuns',
    summary: "List an agent's runs, newest first",
    document: `query ($id: ID!, $status: AgentRunStatus, $limit: Int = 20, $cursor: String) {
      body: agentRuns(agentId: $id, status: $status, first: $limit, after: $cursor) {
        runs: nodes { ${RUN} } next_cursor: nextCursor
      }
    }`,
    parameters: {
      ...ID,
      status: { description: 'Only runs with this status.' },
      ...page('run'),
    },
    schemaName: 'AgentRunList',
  },
  {
    ...common,
    method: 'GET',
    path: '/agents/{id}/runs/{runId}',
    operationId: 'getAgentRun',
    summary: 'Read a run with its steps',
    document: `query ($id: ID!, $runId: ID!) { body: agentRun(id: $runId, agentId: $id) { ${RUN} ${STEPS} } }`,
    parameters: { ...ID, ...RUN_ID },
    respond: ({ steps, ...run }) => ({
      body: { run: { ...run, steps: (steps as Record<string, unknown>[]).map(withoutNulls) } },
    }),
    describe: (schema) => withOptional(wrapped('run').describe!(schema), STEP_FIELDS),
    schemaName: 'AgentRunAnswer',
  },
  {
    ...common,
    method: 'GET',
    path: '/agents/{id}/runs/{runId}/stream',
    operationId: 'streamAgentRun',
    summary: 'Join a run as Server-Sent Events',
    description:
      'With `Last-Event-ID` exactly the events after it come; without, all of them from the start. The stream ends after the last event.',
    document: `subscription ($id: ID!, $runId: ID!, $after: Int = 0) {
      body: agentRunSteps(runId: $runId, after: $after, agentId: $id) { sequence }
    }`,
    parameters: { ...ID, ...RUN_ID },
    raw: 'run-events',
    describe: () => RUN_EVENT,
    schemaName: 'AgentRunEvent',
  },
  {
    ...common,
    method: 'POST',
    path: '/agents/{id}/runs/{runId}/cancel',
    operationId: 'cancelAgentRun',
    summary: 'Cancel a run; it is charged for its use until then',
    document: `mutation ($id: ID!, $runId: ID!) { body: cancelAgentRun(id: $runId, agentId: $id) { ${RUN} } }`,
    parameters: { ...ID, ...RUN_ID },
    ...wrapped('run'),
    schemaName: 'AgentRunWithoutSteps',
  },
];
