import type { JsonSchema } from '../route.types.js';

// What the convention's JSON fields hold (contract 2.2 and 4.1, decisions.md 6 "Chat"), which GraphQL carries as JSON.

const NULL: JsonSchema = { type: 'null' };
const TEXT: JsonSchema = { type: 'string' };
const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, NULL] });

const PART: JsonSchema = {
  anyOf: [
    {
      type: 'object',
      properties: { type: { type: 'string', const: 'text' }, text: TEXT },
      required: ['type', 'text'],
    },
    {
      type: 'object',
      properties: {
        type: { type: 'string', const: 'image_url' },
        image_url: {
          type: 'object',
          properties: {
            url: { ...TEXT, description: 'An http(s) or `data:` URL, or base64.' },
            detail: TEXT,
          },
          required: ['url'],
        },
      },
      required: ['type', 'image_url'],
    },
  ],
};

const CONTENT: JsonSchema = { anyOf: [TEXT, { type: 'array', minItems: 1, items: PART }] };
const TOOL_CALLS: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      id: TEXT,
      type: { type: 'string', const: 'function' },
      function: {
        type: 'object',
        properties: { name: TEXT, arguments: TEXT },
        required: ['name', 'arguments'],
      },
    },
    required: ['function'],
  },
};
const COMMON: Record<string, JsonSchema> = {
  images: {
    type: ['array', 'null'],
    maxItems: 4,
    items: { type: 'string' },
    description: 'URLs, data URLs or base64 of up to 4 images.',
  },
  name: { type: ['string', 'null'] },
};

const message = (
  roles: string[],
  properties: Record<string, JsonSchema>,
  required: string[],
): JsonSchema => ({
  type: 'object',
  properties: { role: { type: 'string', enum: roles }, ...properties, ...COMMON },
  required: ['role', ...required],
});

const MESSAGE: JsonSchema = {
  anyOf: [
    message(['system', 'user', 'assistant'], { content: CONTENT }, ['content']),
    message(['assistant'], { content: nullable(CONTENT), tool_calls: TOOL_CALLS }, ['tool_calls']),
    message(['tool'], { content: CONTENT, tool_call_id: { type: ['string', 'null'] } }, ['content']),
  ],
};

const FUNCTION: JsonSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    description: TEXT,
    parameters: { type: 'object' },
  },
  required: ['name'],
};

const TOOL: JsonSchema = {
  type: 'object',
  properties: { type: { type: 'string', const: 'function' }, function: FUNCTION },
  required: ['function'],
};

/** Properties of a chat request's body that the input type does not tell. */
export const CHAT_FIELDS: Record<string, JsonSchema> = {
  messages: { type: 'array', minItems: 1, items: MESSAGE },
  tools: nullable({ type: 'array', maxItems: 128, items: TOOL }),
  tool_choice: { anyOf: [{ type: 'string', enum: ['none', 'auto', 'required'] }, { type: 'object' }, NULL] },
  functions: {
    ...nullable({ type: 'array', maxItems: 128, items: FUNCTION }),
    description: 'The older form of `tools`: the functions alone. The answer then has `function_call`.',
  },
  function_call: {
    description: '`auto`, `none`, or `{name}` of one of `functions`.',
    anyOf: [
      { type: 'string', enum: ['none', 'auto'] },
      { type: 'object', properties: { name: TEXT }, required: ['name'] },
      NULL,
    ],
  },
  response_format: {
    anyOf: [
      {
        type: 'object',
        properties: { type: { type: 'string', enum: ['text', 'json_object'] } },
        required: ['type'],
      },
      {
        type: 'object',
        properties: {
          type: { type: 'string', const: 'json_schema' },
          json_schema: { type: 'object', properties: { name: TEXT, schema: { type: 'object' } } },
        },
        required: ['type', 'json_schema'],
      },
      NULL,
    ],
  },
  stream_options: nullable({ type: 'object', properties: { include_usage: { type: ['boolean', 'null'] } } }),
  stream: { type: ['boolean', 'null'], default: false, description: 'True streams the answer.' },
};
