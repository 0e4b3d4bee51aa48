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

/** An object with these properties, and others that a model may read. */
const withFields = (
  properties: Record<string, JsonSchema>,
  optional: readonly string[] = [],
): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: true,
});
const blocksOf = (...forms: JsonSchema[]): JsonSchema => ({
  anyOf: [TEXT, { type: 'array', items: { anyOf: forms } }],
});

const TEXT_BLOCK = withFields({ type: { const: 'text' }, text: TEXT });
const SEARCH_BLOCK = withFields({ type: { const: 'search_result' }, content: blocksOf(TEXT_BLOCK) });
const REFERENCE = withFields({ type: { const: 'tool_reference' }, tool_name: TEXT }, ['tool_name']);
const FILE_SOURCES = [
  withFields({ type: { const: 'base64' }, media_type: TEXT, data: TEXT }),
  withFields({ type: { const: 'url' }, url: TEXT }),
];
const IMAGE = withFields({ type: { const: 'image' }, source: { anyOf: FILE_SOURCES } });
const DOCUMENT = withFields({
  type: { const: 'document' },
  source: {
    anyOf: [
      ...FILE_SOURCES,
      withFields({ type: { const: 'text' }, data: TEXT }),
      withFields({ type: { const: 'content' }, content: blocksOf(TEXT_BLOCK, IMAGE) }),
    ],
  },
});
const PARTS = [TEXT_BLOCK, IMAGE, DOCUMENT, SEARCH_BLOCK, REFERENCE];
const TOOL_RESULT = withFields(
  {
    type: { const: 'tool_result' },
    tool_use_id: NAME,
    content: { anyOf: [...(blocksOf(...PARTS)['anyOf'] as JsonSchema[]), { type: 'null' }] },
  },
  ['content'],
);
const TOOL_USE = withFields({ type: { const: 'tool_use' }, id: NAME, name: NAME, input: {} }, ['input']);
/** Reasoning, and blocks of a maker's own tools. */
const MAKERS_BLOCK = withFields({
  type: {
    type: 'string',
    pattern:
      '^(thinking|redacted_thinking|server_tool_use|mcp_tool_use|container_upload|compaction|fallback|[a-z_]+_tool_result)$',
  },
});

const messageOf = (role: string, ...forms: JsonSchema[]): JsonSchema =>
  withFields({ role: { const: role }, content: blocksOf(...forms) });

const MESSAGE: JsonSchema = {
  anyOf: [
    messageOf('user', ...PARTS, TOOL_RESULT),
    messageOf('assistant', TEXT_BLOCK, TOOL_USE, MAKERS_BLOCK),
    messageOf('system', TEXT_BLOCK),
  ],
};

const TOOL: JsonSchema = {
  type: 'object',
  properties: {
    type: nullable('string', { minLength: 1, description: 'Default: `custom`.' }),
    name: { description: 'The name of a `custom` tool.' },
    description: { description: 'What the tool does, for the model.' },
    input_schema: { description: 'The JSON Schema of the input of a `custom` tool.' },
  },
  if: { properties: { type: { enum: ['custom', null] } } },
  then: withFields({ name: NAME, input_schema: { type: 'object' } }),
  additionalProperties: true,
};

/** The fields that a count and a message share. */
const INPUT: Record<string, JsonSchema> = {
  model: nullable('string'),
  messages: { type: 'array', minItems: 1, items: MESSAGE },
  system: { anyOf: [TEXT, { type: 'array', items: TEXT_BLOCK }, { type: 'null' }] },
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
