import { chatRoutes as contractRoutes } from '../../contract/chat.js';
import { messagesWith } from '../../shared/openapi/chat-schema.js';
import type { JsonSchema, Route } from '../../shared/route.types.js';

const TEXT: JsonSchema = { type: 'string', minLength: 1 };
const NAME: JsonSchema = { type: ['string', 'null'] };

/** A part that holds what its type says. */
const partOf = (type: string, properties: Record<string, JsonSchema>, required: string[]): JsonSchema => ({
  type: 'object',
  properties: {
    type: { type: 'string', const: type },
    [type]: { type: 'object', properties, required },
  },
  required: ['type', type],
});

const FURTHER_PARTS: JsonSchema[] = [
  partOf('input_audio', { data: TEXT, format: { type: 'string', examples: ['wav', 'mp3'] } }, [
    'data',
    'format',
  ]),
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

/** What bodies of /v1 have otherwise than those of the contract. */
const FIELDS: Record<string, JsonSchema> = {
  messages: messagesWith(FURTHER_PARTS),
  max_tokens: {
    ...CAP,
    description: "The maximum number of tokens in the answer. Default: the model's own limit, else 32,000.",
  },
};

/** The contract's chat speaks the convention already (contract 4.1): errors and defaults of /v1 aside it is the same (beyond 11.6). */
export const chatRoutes: readonly Route[] = contractRoutes.map((route) => ({
  ...route,
  ...(route.body ? { body: { ...route.body, extra: { ...route.body.extra, ...FIELDS } } } : {}),
  dialect: 'chat',
}));
