import type { JsonSchema } from '../route.types.js';

// The schemas of the convention's fields that are JSON in GraphQL (contract 2.2 and 4.1, decisions 6 "Chat").

const NULL: JsonSchema = { type: 'null' };
const TEXT: JsonSchema = { type: 'string' };
const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, NULL] });

const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] };

const IMAGE_URL: JsonSchema = { ...TEXT, description: 'An http(s) or `data:` URL, or base64.' };
const PARTS: JsonSchema[] = [
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
        anyOf: [
          { type: 'object', properties: { url: IMAGE_URL, detail: NULLABLE_TEXT }, required: ['url'] },
          IMAGE_URL,
        ],
      },
    },
    required: ['type', 'image_url'],
  },
  {
    type: 'object',
    properties: { type: { type: 'string', const: 'refusal' }, refusal: TEXT },
    required: ['type', 'refusal'],
  },
];

const contentOf = (parts: JsonSchema[], minItems: number): JsonSchema => ({
  anyOf: [TEXT, { type: 'array', ...(minItems > 0 ? { minItems } : {}), items: { anyOf: parts } }],
});
const NAME: JsonSchema = { type: 'string', minLength: 1 };
const IS_FUNCTION: JsonSchema = { enum: ['function', null] };
const FUNCTION_CALL: JsonSchema = {
  type: 'object',
  properties: { name: TEXT, arguments: TEXT },
  required: ['name', 'arguments'],
};
const TOOL_CALLS: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: { id: NULLABLE_TEXT, type: IS_FUNCTION, function: FUNCTION_CALL },
    required: ['function'],
  },
};
const IMAGES: JsonSchema = {
  type: 'array',
  maxItems: 4,
  items: TEXT,
  description: 'URLs, data URLs or base64 of up to 4 images, each up to 20 MB.',
};
const COMMON: Record<string, JsonSchema> = {
  images: { ...IMAGES, type: ['array', 'null'] },
  name: NULLABLE_TEXT,
  tool_calls: { ...TOOL_CALLS, type: ['array', 'null'] },
  function_call: {
    ...FUNCTION_CALL,
    type: ['object', 'null'],
    description: 'The older form of `tool_calls`.',
  },
  refusal: NULLABLE_TEXT,
  tool_call_id: { ...NULLABLE_TEXT, description: 'Which of `tool_calls` a `tool` message answers.' },
};

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'];

/** Content may be absent if there are pictures, or if an assistant called a tool or refused. */
function messageOf(parts: JsonSchema[]): JsonSchema {
  const content = contentOf(parts, 1);
  /** A message that has this field, and may have the others. */
  const withField = (
    roles: string[],
    field: Record<string, JsonSchema>,
    others: Record<string, JsonSchema> = {},
  ): JsonSchema => ({
    type: 'object',
    properties: {
      role: { type: 'string', enum: roles },
      content: nullable(content),
      ...COMMON,
      ...others,
      ...field,
    },
    required: ['role', ...Object.keys(field)],
  });
  // Some programs send this for an assistant that only called tools.
  const maybeEmpty = { content: nullable(contentOf(parts, 0)) };
  return {
    anyOf: [
      withField(ROLES, { content }),
      withField(ROLES, { images: { ...IMAGES, minItems: 1 } }),
      withField(['function'], { content, name: NAME }),
      withField(['function'], { images: { ...IMAGES, minItems: 1 }, name: NAME }),
      withField(['assistant'], { tool_calls: TOOL_CALLS }, maybeEmpty),
      withField(['assistant'], { function_call: FUNCTION_CALL }, maybeEmpty),
      withField(['assistant'], { refusal: TEXT }, maybeEmpty),
    ],
  };
}

/** `messages` whose contents may have further kinds of parts. */
export const messagesWith = (further: JsonSchema[]): JsonSchema => ({
  type: 'array',
  minItems: 1,
  items: messageOf([...PARTS, ...further]),
});

const FUNCTION: JsonSchema = {
  type: 'object',
  properties: {
    name: NAME,
    description: { description: 'A description of the function, for the model.' },
    parameters: { description: 'A JSON Schema of the arguments, for the model.' },
  },
  required: ['name'],
};

const TOOL: JsonSchema = {
  type: 'object',
  properties: { type: IS_FUNCTION, function: FUNCTION },
  required: ['function'],
};

/** Properties of a chat request's body that the input type does not describe. */
export const CHAT_FIELDS: Record<string, JsonSchema> = {
  messages: messagesWith([]),
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
          json_schema: {
            type: 'object',
            description: "The convention's `{name, schema, strict}`. The upstream checks its content.",
          },
        },
        required: ['type', 'json_schema'],
      },
      NULL,
    ],
  },
  stream_options: nullable({ type: 'object', properties: { include_usage: { type: ['boolean', 'null'] } } }),
  stream: { type: ['boolean', 'null'], default: false, description: 'True streams the answer.' },
};

const SOME: JsonSchema = { type: 'array', minItems: 1 };

/** A request lists functions in one of the two forms. */
export const TOOLS_IN_ONE_FORM: JsonSchema = {
  not: { properties: { tools: SOME, functions: SOME }, required: ['tools', 'functions'] },
};
