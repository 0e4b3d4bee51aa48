import type { JsonSchema } from '../../shared/route.types.js';

const TEXT: JsonSchema = { type: 'string' };
const NAME: JsonSchema = { type: 'string', minLength: 1 };
const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, 'null'], ...more });

const BLOCK: JsonSchema = {
  type: 'object',
  description:
    'A block of the convention: a text, a picture, a document, a tool call or its result, or reasoning.',
  properties: { type: { type: 'string', minLength: 1 } },
  required: ['type'],
  additionalProperties: true,
};

const MESSAGE: JsonSchema = {
  type: 'object',
  properties: {
    role: { enum: ['user', 'assistant', 'system'] },
    content: { anyOf: [TEXT, { type: 'array', items: BLOCK }] },
  },
  required: ['role', 'content'],
  additionalProperties: true,
};

const TOOL: JsonSchema = {
  type: 'object',
  properties: {
    type: nullable('string'),
    name: TEXT,
    description: nullable('string'),
    input_schema: { type: 'object', additionalProperties: true },
  },
  additionalProperties: true,
};

/** The fields that a count and a message share. */
const INPUT: Record<string, JsonSchema> = {
  model: nullable('string'),
  messages: { type: 'array', minItems: 1, items: MESSAGE },
  system: { anyOf: [TEXT, { type: 'array', items: BLOCK }, { type: 'null' }] },
  tools: { anyOf: [{ type: 'array', maxItems: 128, items: TOOL }, { type: 'null' }] },
  tool_choice: nullable('object', {
    properties: {
      type: { enum: ['auto', 'any', 'none', 'tool'] },
      name: { description: 'The name of a tool. Only `tool` reads it.' },
    },
    required: ['type'],
    if: { properties: { type: { const: 'tool' } }, required: ['type'] },
    then: { properties: { name: NAME }, required: ['name'] },
    additionalProperties: true,
  }),
  thinking: nullable('object', {
    properties: {
      type: { enum: ['enabled', 'disabled', 'adaptive', 'between_tools', null] },
      budget_tokens: { description: 'At least 1,024. Only `enabled` reads it.' },
    },
    if: { properties: { type: { const: 'enabled' } }, required: ['type'] },
    then: {
      properties: { budget_tokens: { type: 'integer', minimum: 1024, maximum: 10_000_000 } },
      required: ['budget_tokens'],
    },
    additionalProperties: true,
  }),
  output_config: nullable('object', { additionalProperties: true }),
};

/** The body of a request for a count. */
export const COUNT_REQUEST_SCHEMA: JsonSchema = {
  type: 'object',
  properties: INPUT,
  required: ['messages'],
  additionalProperties: true,
};

/** The body of a request. */
export const REQUEST_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    ...INPUT,
    max_tokens: nullable('integer', {
      minimum: 1,
      maximum: 10_000_000,
      description: "Default: the model's own maximum.",
    }),
    stop_sequences: { anyOf: [{ type: 'array', maxItems: 64, items: TEXT }, { type: 'null' }] },
    temperature: nullable('number', { minimum: 0, maximum: 1 }),
    top_p: nullable('number', { minimum: 0, maximum: 1 }),
    top_k: nullable('integer', { minimum: 0 }),
    metadata: nullable('object', { properties: { user_id: nullable('string') }, additionalProperties: true }),
    stream: nullable('boolean', { description: 'True: the answer is typed Server-Sent Events.' }),
  },
  required: ['messages'],
  additionalProperties: true,
};

const USAGE: JsonSchema = {
  type: 'object',
  description: 'The number of input tokens is the sum of the three input counts.',
  properties: {
    input_tokens: COUNT,
    cache_creation_input_tokens: COUNT,
    cache_read_input_tokens: COUNT,
    output_tokens: COUNT,
    credits_used: { type: 'number', description: 'Credits of the whole answer, including its searches.' },
  },
  required: ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'],
  additionalProperties: true,
};

/** The answer. */
export const MESSAGE_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    id: TEXT,
    type: { const: 'message' },
    role: { const: 'assistant' },
    model: { type: 'string', description: 'Id of the model that answered.' },
    model_tier: { type: 'string', description: 'The tier of the requested model.' },
    content: { type: 'array', items: BLOCK },
    stop_reason: nullable('string'),
    stop_sequence: nullable('string'),
    usage: USAGE,
  },
  required: ['id', 'type', 'role', 'model', 'content', 'stop_reason', 'stop_sequence', 'usage'],
  additionalProperties: true,
};

/** An event of a stream. */
export const EVENT_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    type: {
      type: 'string',
      description:
        '`message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`, `ping` or `error`.',
    },
    index: COUNT,
  },
  required: ['type'],
  additionalProperties: true,
};

/** A count. */
export const TOKENS_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { input_tokens: COUNT },
  required: ['input_tokens'],
};
