import type { JsonSchema } from '../../shared/route.types.js';

const TEXT: JsonSchema = { type: 'string' };
const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, 'null'], ...more });
const anyObject: JsonSchema = { type: 'object', additionalProperties: true };

const ITEM: JsonSchema = {
  type: 'object',
  description: 'An item of the convention: a message, a tool call or its output, or reasoning.',
  properties: { type: TEXT, id: nullable('string'), role: TEXT, content: {} },
  additionalProperties: true,
};

const TOOL: JsonSchema = {
  type: 'object',
  properties: {
    type: { type: 'string', minLength: 1 },
    name: {
      description: 'The name of a `function` or `custom` tool. Tools of other types may have any value.',
    },
  },
  required: ['type'],
  if: { properties: { type: { enum: ['function', 'custom'] } } },
  then: { properties: { name: { type: 'string', minLength: 1 } }, required: ['name'] },
  additionalProperties: true,
};

const INCLUDE = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
];

/** The body of a request. */
export const REQUEST_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    model: nullable('string'),
    input: {
      anyOf: [TEXT, { type: 'array', minItems: 1, items: ITEM }],
      description: 'A text, or items: the conversation so far.',
    },
    instructions: nullable('string'),
    tools: { anyOf: [{ type: 'array', maxItems: 128, items: TOOL }, { type: 'null' }] },
    tool_choice: { anyOf: [{ enum: ['auto', 'none', 'required', null] }, anyObject] },
    parallel_tool_calls: nullable('boolean'),
    max_tool_calls: nullable('integer', { minimum: 0 }),
    text: nullable('object', { additionalProperties: true }),
    reasoning: nullable('object', { additionalProperties: true }),
    max_output_tokens: nullable('integer', { minimum: 1, maximum: 10_000_000 }),
    temperature: nullable('number', { minimum: 0, maximum: 2 }),
    top_p: nullable('number', { minimum: 0, maximum: 1 }),
    top_logprobs: nullable('integer', { minimum: 0, maximum: 20 }),
    truncation: { enum: ['auto', 'disabled', null] },
    metadata: nullable('object', {
      maxProperties: 16,
      additionalProperties: { type: 'string', maxLength: 512 },
    }),
    include: { anyOf: [{ type: 'array', items: { enum: INCLUDE } }, { type: 'null' }] },
    store: nullable('boolean', { description: 'Whether the response is stored; default true.' }),
    previous_response_id: nullable('string'),
    background: { enum: [false, null], description: 'True is not supported yet.' },
    stream: nullable('boolean'),
    user: nullable('string'),
  },
  anyOf: [{ required: ['input'] }, { required: ['previous_response_id'] }],
};

const COUNT: JsonSchema = { type: 'integer', minimum: 0 };

const USAGE: JsonSchema = {
  type: 'object',
  properties: {
    input_tokens: COUNT,
    input_tokens_details: {
      type: 'object',
      properties: { cached_tokens: COUNT },
      required: ['cached_tokens'],
    },
    output_tokens: COUNT,
    output_tokens_details: {
      type: 'object',
      properties: { reasoning_tokens: COUNT },
      required: ['reasoning_tokens'],
    },
    total_tokens: COUNT,
  },
  required: [
    'input_tokens',
    'input_tokens_details',
    'output_tokens',
    'output_tokens_details',
    'total_tokens',
  ],
};

/** A response in an answer. */
export const RESPONSE_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^resp_[0-9a-z]{26}$' },
    object: { type: 'string', const: 'response' },
    created_at: { type: 'integer' },
    status: { enum: ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
    model: TEXT,
    model_tier: TEXT,
    output: { type: 'array', items: ITEM },
    usage: { anyOf: [USAGE, { type: 'null' }] },
    credits_used: { type: 'number', description: 'Credits of the whole answer, including its searches.' },
    error: nullable('object', { additionalProperties: true }),
    incomplete_details: nullable('object', { additionalProperties: true }),
    instructions: {},
    previous_response_id: nullable('string'),
    store: { type: 'boolean' },
    metadata: nullable('object', { additionalProperties: TEXT }),
  },
  required: ['id', 'object', 'created_at', 'status', 'model', 'model_tier', 'output'],
  additionalProperties: true,
};

/** An event of a stream. */
export const EVENT_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { type: { type: 'string', pattern: '^response\\.' }, sequence_number: COUNT },
  required: ['type', 'sequence_number'],
  additionalProperties: true,
};

export const INPUT_ITEMS_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    object: { type: 'string', const: 'list' },
    data: { type: 'array', items: ITEM },
    first_id: nullable('string'),
    last_id: nullable('string'),
    has_more: { type: 'boolean' },
  },
  required: ['object', 'data', 'first_id', 'last_id', 'has_more'],
};
