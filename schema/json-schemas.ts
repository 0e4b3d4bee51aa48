import { AGENT_TOOLS as TOOLS } from '../src/agents/index.js';
import { WEBHOOK_EVENT_TYPES } from '../src/webhooks/webhook.types.js';

// JSON Schema keywords that GraphQL's types cannot express: inputs name them in `@Extensions({ jsonSchema })` for the OpenAPI description.

/** A text that is not blank; files have their limits in bytes. */
export const nonBlank = (maxLength?: number) => ({
  minLength: 1,
  ...(maxLength === undefined ? {} : { maxLength }),
  pattern: '\\S',
});

/** A model id, `<provider>/<name>`. */
export const modelId = (example: string) => ({ pattern: '^[^/]+/.+$', examples: [example] });

/** `model_inputs` of models with a seed; other models have other names. */
export const SEED_INPUTS = {
  type: 'object',
  properties: {
    seed: {
      type: ['integer', 'null'],
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
    },
  },
};

/** The tools of contract 4.8, and an operator's MCP tools. */
export const AGENT_TOOLS = {
  items: {
    type: 'string',
    anyOf: [
      {
        enum: [...TOOLS],
      },
      { pattern: '^mcp:[^/]+/.+$' },
    ],
  },
};

/** Event types of contract 6.1. */
export const EVENT_TYPES = { minItems: 1, items: { type: 'string', enum: [...WEBHOOK_EVENT_TYPES] } };

/** Headers that a webhook's owner may add; Penstock's own headers are excluded. */
export const CUSTOM_HEADERS = {
  type: 'object',
  maxProperties: 20,
  propertyNames: {
    pattern: "^(?![Xx]-[Ss][Ee][Rr][Vv][Ii][Cc][Ee]-)[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$",
  },
  additionalProperties: {
    type: 'string',
    maxLength: 1024,
    pattern: '^([\\x21-\\x7e]([\\x20-\\x7e\\t]*[\\x21-\\x7e])?)?$',
  },
};
