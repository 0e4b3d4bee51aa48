import type { JsonSchema } from '../../shared/route.types.js';

const TEXT: JsonSchema = { type: 'string' };
const nullable = (type: string, more: JsonSchema = {}): JsonSchema => ({ type: [type, 'null'], ...more });

const ITEM: JsonSchema = {
  type: 'object',
  description: 'An item of the convention: a message, a tool call or its output, or reasoning.',
  properties: { type: TEXT, id: nullable('string'), role: TEXT, content: {} },
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
const NAME: JsonSchema = { type: 'string', minLength: 1 };
const NO_ID: JsonSchema = { type: 'null', description: 'Send the file itself.' };

const SAID = [
  withFields({ type: { enum: ['input_text', 'output_text', 'text'] }, text: TEXT }),
  withFields({ type: { const: 'refusal' }, refusal: TEXT }),
];
const PARTS = [
  ...SAID,
  withFields({ type: { enum: ['input_image', 'computer_screenshot'] }, image_url: TEXT, file_id: NO_ID }, [
    'file_id',
  ]),
  withFields({ type: { const: 'input_file' }, file_data: NAME, file_id: NO_ID }, ['file_id']),
  withFields({ type: { const: 'input_file' }, file_url: NAME, file_id: NO_ID }, ['file_id']),
];
const contentOf = (parts: JsonSchema[]): JsonSchema => ({
  anyOf: [TEXT, { type: 'array', items: { anyOf: parts } }],
});
const messageOf = (roles: string[], parts: JsonSchema[]): JsonSchema =>
  withFields({ type: { enum: ['message', null] }, role: { enum: roles }, content: contentOf(parts) }, [
    'type',
  ]);

/** Reasoning, and items of a maker's own tools. */
const MAKERS_ITEM = withFields({
  type: {
    type: 'string',
    pattern:
      '^(reasoning|compaction|compaction_trigger|additional_tools|configuration_update|program|program_output|(web_search|file_search|code_interpreter|image_generation|mcp|tool_search|computer|local_shell|shell|apply_patch)_[a-z_]+)$',
  },
});

/** An item of a request. */
const INPUT_ITEM: JsonSchema = {
  description: 'An item of the convention: a message, a tool call or its output, or reasoning.',
  anyOf: [
    messageOf(['user', 'system', 'developer'], PARTS),
    messageOf(['assistant'], SAID),
    withFields({ type: { const: 'item_reference' }, id: NAME }),
    withFields({ type: { const: 'function_call' }, call_id: NAME, name: NAME, arguments: TEXT }),
    withFields({ type: { const: 'custom_tool_call' }, call_id: NAME, name: NAME, input: TEXT }),
    withFields({
      type: { enum: ['function_call_output', 'custom_tool_call_output'] },
      call_id: NAME,
      output: contentOf(PARTS),
    }),
    MAKERS_ITEM,
  ],
};

/** A tool that the model is to call. */
const CHOSEN: JsonSchema = {
  type: 'object',
  properties: { type: NAME, name: { description: 'The name of a `function` or `custom` tool.' } },
  required: ['type'],
  if: { properties: { type: { enum: ['function', 'custom'] } } },
  then: withFields({ name: NAME }),
  additionalProperties: true,
};
const CHOICE: JsonSchema = {
  ...CHOSEN,
  properties: {
    ...(CHOSEN['properties'] as JsonSchema),
    tools: { description: 'The tools of `allowed_tools`.' },
  },
  allOf: [
    {
      if: { properties: { type: { const: 'allowed_tools' } } },
      then: withFields({ tools: { type: 'array', items: CHOSEN } }),
    },
  ],
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

/** A field is there, and is not null. */
const given = (name: string): JsonSchema => ({
  properties: { [name]: { not: { type: 'null' } } },
  required: [name],
});

/** The body of a request. */
export const REQUEST_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    model: nullable('string'),
    input: {
      anyOf: [TEXT, { type: 'array', minItems: 1, items: INPUT_ITEM }, { type: 'null' }],
      description: 'A text, or items: the conversation so far.',
    },
    instructions: nullable('string'),
    tools: { anyOf: [{ type: 'array', maxItems: 128, items: TOOL }, { type: 'null' }] },
    tool_choice: { anyOf: [{ enum: ['auto', 'none', 'required', null] }, CHOICE] },
    parallel_tool_calls: nullable('boolean'),
    max_tool_calls: nullable('integer', { minimum: 0, maximum: 1_000_000 }),
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
  anyOf: [given('input'), given('previous_response_id')],
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
