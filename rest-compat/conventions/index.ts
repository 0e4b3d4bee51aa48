import type { Face } from '../shared/convention.types.js';
import { ANTHROPIC } from './anthropic/convention.js';
import { anthropicRoutes } from './anthropic/index.js';
import { OPENAI } from './openai/convention.js';
import { openaiRoutes } from './openai/index.js';

const MESSAGES = /^\/messages(?:\/|$)/;

const DESCRIPTION = `Penstock for clients of OpenAI's and Anthropic's conventions. OpenAI's clients use \`…/v1\` as their base
address, Anthropic's clients the address without \`/v1\`. Errors under \`/messages\`, and of requests with the header \`anthropic-version\`, have Anthropic's form.

Every POST takes an \`Idempotency-Key\` (1 to 255 characters of your choice): the same key and request within 24 hours get the first answer
again, with \`Idempotent-Replayed: true\`. Every answer carries \`X-Request-Id\`, also as \`request-id\`, and the three \`X-RateLimit-*\` headers. Bodies may
be compressed (\`Content-Encoding: gzip\` or \`deflate\`).`;

/** /v1: the address of both makers' clients (beyond 11). */
export const conventionsFace: Face = {
  path: '/v1',
  routes: [...openaiRoutes, ...anthropicRoutes],
  conventionOf: ({ headers }, path) =>
    headers['anthropic-version'] !== undefined || MESSAGES.test(path) ? ANTHROPIC : OPENAI,
  keyPrefix: '/v1',
  bareModelNames: true,
  description: DESCRIPTION,
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: '`Authorization: Bearer sk_…`' },
    xApiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    apiKey: { type: 'apiKey', in: 'header', name: 'api-key' },
  },
};
