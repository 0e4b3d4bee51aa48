import { chatRoutes as contractRoutes } from '../../contract/chat.js';
import { messagesWith } from '../../shared/openapi/chat-schema.js';
import type { JsonSchema, Route } from '../../shared/route.types.js';

const TEXT: JsonSchema = { type: 'string', minLength: 1 };
const NAME: JsonSchema = { type: ['string', 'null'] };

/** A content part: its content is in the field with the name of its type. */
const partOf = (type: string, properties: Record<string, JsonSchema>, required: string[]): JsonSchema => ({
  type: 'object',
  properties: {
    type: { type: 'string', const: type },
    [type]: { type: 'object', properties, required },
  },
  required: ['type', type],
});

const FURTHER_PARTS: JsonSchema[] = [
  partOf(
    'input_audio',
    { data: TEXT, format: { type: 'string', pattern: '^[a-z0-9]{2,8}$', examples: ['wav', 'mp3'] } },
    ['data', 'format'],
  ),
  partOf(
    'file',
    {
      file_data: { ...TEXT, description: 'Base64, a `data:` URL or an http(s) URL of at most 20 MB.' },
      filename: NAME,
      file_id: { type: 'null' },
    },
    ['file_data'],
  ),
];

const CAP: JsonSchema = { type: ['integer', 'null'], minimum: 1, maximum: 10_000_000 };

/** Differences between bodies of /v1 and of the contract. */
const FIELDS: Record<string, JsonSchema> = {
  messages: messagesWith(FURTHER_PARTS),
  max_tokens: {
    ...CAP,
    description: "The maximum number of tokens in the answer. Default: the model's own limit, else 32,000.",
  },
};

/** The contract's chat has the convention's form (contract 4.1). At /v1 only errors and defaults differ (beyond 11.6). */
export const chatRoutes: readonly Route[] = contractRoutes.map((route) => ({
  ...route,
  ...(route.body ? { body: { ...route.body, extra: { ...route.body.extra, ...FIELDS } } } : {}),
  dialect: 'chat',
}));
