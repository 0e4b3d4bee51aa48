import { BUDGET_SCOPES, BUDGET_UNITS } from '../../src/contract/budgets.js';
import { BUCKETS, CHARGED_BUCKETS, JOB_KINDS, PLAN_CODES, TOOLS } from '../../src/contract/words.js';
import type { WebhookEventType } from '../../src/webhooks/index.js';

/** A JSON Schema of AsyncAPI 3 (draft 7). */
export type EventSchema = { [keyword: string]: unknown };

const text: EventSchema = { type: 'string' };
const id = (example: string): EventSchema => ({ type: 'string', examples: [example] });
const count: EventSchema = { type: 'integer', minimum: 0 };
const amount: EventSchema = { type: 'number' };
/** An amount in USD is a decimal as text, an amount of a bucket is a number. */
const budgetAmount: EventSchema = { oneOf: [amount, text] };
const nullable = (schema: EventSchema): EventSchema => ({ oneOf: [schema, { type: 'null' }] });

/** An object in which all listed fields are required, except names with a `?` at their end. */
export function object(fields: Record<string, EventSchema>): EventSchema {
  const entries = Object.entries(fields).map(([name, schema]) => [name.replace(/\?$/, ''), schema] as const);
  return {
    type: 'object',
    properties: Object.fromEntries(entries),
    required: Object.keys(fields).filter((name) => !name.endsWith('?')),
  };
}

/** Buckets whose units a job can use. */
const JOB_BUCKETS: ReadonlySet<string> = new Set(JOB_KINDS.map(({ pricing }) => pricing.bucket));
const job = {
  jobId: id('job_01jd0000000000000000000000'),
  tool: { type: 'string', enum: [...TOOLS] },
  model: text,
};
const run = {
  runId: id('run_01jd0000000000000000000000'),
  agentId: id('agt_01jd0000000000000000000000'),
  agentName: text,
  input: text,
};
const subscription = object({
  subscriptionId: text,
  planCode: { type: 'string', enum: [...PLAN_CODES] },
  planName: text,
  status: { type: 'string', enum: ['active', 'cancelled'] },
});
const bucket = object({
  bucketType: { type: 'string', enum: CHARGED_BUCKETS },
  remaining: amount,
  limit: amount,
  percentUsed: amount,
});
const roles: EventSchema = { type: 'string', enum: ['owner', 'admin', 'member', 'viewer'] };
const member = { userId: text, email: text, role: roles };

/** `data` of each webhook event (contract 6.1, decisions 6). */
export const WEBHOOK_EVENT_DATA: Record<WebhookEventType, EventSchema> = {
  'agent.run.started': object(run),
  'agent.run.completed': object({
    ...run,
    output: text,
    totalSteps: count,
    durationMs: count,
    unitsUsed: amount,
    unitType: { const: 'agent_runs' },
  }),
  'agent.run.failed': object({ ...run, errorMessage: text }),
  'generation.started': object(job),
  'generation.completed': object({
    ...job,
    outputUrl: nullable({ type: 'string', format: 'uri' }),
    durationMs: count,
    unitsUsed: amount,
    unitType: { type: 'string', enum: BUCKETS.filter((bucket) => JOB_BUCKETS.has(bucket)) },
  }),
  'generation.failed': object({ ...job, errorMessage: text }),
  'chat.message.created': object({
    messageId: text,
    model: text,
    role: { const: 'assistant' },
    totalTokens: count,
    conversationId: nullable(text),
  }),
  'chat.conversation.created': object({ conversationId: text, agentId: run.agentId, agentName: text }),
  'subscription.created': subscription,
  'subscription.updated': subscription,
  'subscription.cancelled': subscription,
  'credits.low': bucket,
  'credits.depleted': bucket,
  'budget.threshold': object({
    budgetId: id('bud_01jd0000000000000000000000'),
    name: text,
    scope: { type: 'string', enum: [...BUDGET_SCOPES] },
    subject: nullable(text),
    percent: amount,
    spent: budgetAmount,
    limit: budgetAmount,
    unit: { type: 'string', enum: [...BUDGET_UNITS] },
  }),
  'team.member.added': object(member),
  'team.member.removed': object(member),
  'team.member.role_changed': object({ ...member, previousRole: roles }),
};

const step = object({
  step_number: { type: 'integer', minimum: 1 },
  type: { type: 'string', enum: ['thinking', 'tool_call', 'tool_result', 'response', 'error'] },
  'content?': nullable(text),
  'tool?': nullable(text),
  'tool_input?': nullable({ type: 'object' }),
  'tool_output?': nullable({ type: 'object' }),
});

/** An event of a run's stream (contract 6.2), with its owner and the run's state at that time. */
const ofRun = (status: string, fields: Record<string, EventSchema>): EventSchema =>
  object({ run_id: run.runId, agent_id: run.agentId, status: { const: status }, ...fields });

/** `data` of each message on the agents topic. */
export const RUN_EVENT_DATA: Record<string, EventSchema> = {
  'run.started': ofRun('running', { session_id: text }),
  'run.step': ofRun('running', { step }),
  'run.completed': ofRun('completed', { output: text, credits_used: count, tokens_used: count }),
  'run.failed': ofRun('failed', { error: text }),
  'run.cancelled': ofRun('cancelled', { error: { const: 'Cancelled' } }),
};

/** `data` of each message on the responses topic. */
export const RESPONSE_EVENT_DATA: Record<string, EventSchema> = {
  'response.events': object({
    responseId: id('resp_01jd0000000000000000000000'),
    first: {
      type: 'integer',
      minimum: 1,
      description: 'The number of the first event of the batch; `sequence` is the number of the last.',
    },
    events: {
      type: 'array',
      items: text,
      description: 'Events of the Responses convention in order, each as JSON text.',
    },
  }),
};

const perBucket = (description: string): EventSchema => ({
  type: 'object',
  description,
  propertyNames: { enum: [...BUCKETS] },
  additionalProperties: amount,
});

const opening = object({
  periodStart: { type: 'string', format: 'date-time' },
  periodEnd: { type: 'string', format: 'date-time' },
  allowance: perBucket("The plan's; -1 is unlimited."),
  topupStart: perBucket('Units of top-ups that earlier periods left over.'),
  topupAdded: perBucket('Units that were added in this period.'),
  used: perBucket('The used amounts.'),
});

const ofLedger = object({
  operationId: id('op_01jd0000000000000000000000'),
  periodStart: { type: 'string', format: 'date-time' },
  amounts: perBucket('The charge in units; negative for a refund.'),
  granted: perBucket('The amounts that it added to the limit.'),
  opening: nullable(opening),
});

/** `data` of each message on the usage topic: the message of an operation also has the fields of its record. */
export const USAGE_EVENT_DATA: Record<string, EventSchema> = {
  'usage.operation': ofLedger,
  'usage.top_up': ofLedger,
  'usage.adjustment': ofLedger,
  'usage.period': ofLedger,
};

/** `data` of the event that `POST /webhooks/{id}/test` sends. */
export const WEBHOOK_TEST_DATA: EventSchema = object({ webhookId: id('whk_01jd0000000000000000000000') });

export const JOB_EVENT_TYPES = [
  'job.pending',
  'job.processing',
  'job.progress',
  'job.completed',
  'job.failed',
  'job.cancelled',
] as const;
