import { ERROR_KINDS } from '../../src/contract/errors.js';
import type { Convention, Face } from '../shared/convention.types.js';
import type { JsonSchema } from '../shared/route.types.js';
import { routes } from './index.js';

const string = (description: string): JsonSchema => ({ type: 'string', description });

/** Contract 7.1. */
const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    error: string('The error as text for people.'),
    code: { ...string('The error code for programs.'), enum: Object.keys(ERROR_KINDS) },
    param: string('The offending field.'),
    remaining: { type: 'number', description: 'The remaining amount of the exhausted bucket.' },
    retryAfter: { type: 'integer', minimum: 1, description: 'Seconds to wait.' },
  },
  required: ['error'],
};

/** The contract's error codes (contract 7.1). */
export const CONTRACT: Convention = {
  name: 'contract',
  errorBody({ message, code, details: { param, remaining, retryAfter } }) {
    return { error: message, code, param, remaining, retryAfter };
  },
  errorName: 'Error',
  errorSchema: ERROR_SCHEMA,
  errorEvent: ({ message, code }) => `data: ${JSON.stringify({ error: message, code })}\n\n`,
};

/** Headers of all operations are described here. As a parameter of each operation, generated clients would repeat them in every method. */
const DESCRIPTION = `A metered platform for generative models.

Every POST takes an \`Idempotency-Key\` (1 to 255 characters of your choice): the same key and request within 24 hours get the first answer
again, with \`Idempotent-Replayed: true\`; the same key with another request is 422, and one that is still in flight 409. Every answer
carries \`X-Request-Id\` and the three \`X-RateLimit-*\` headers.`;

/** /api/v1. */
export const contractFace: Face = {
  path: '/api/v1',
  routes,
  conventionOf: () => CONTRACT,
  keyPrefix: '',
  bareModelNames: false,
  description: DESCRIPTION,
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: '`Authorization: Bearer sk_…`' },
  },
};
