import type { Face } from '../shared/convention.types.js';
import { ANTHROPIC } from './anthropic/convention.js';
import { anthropicRoutes } from './anthropic/index.js';
import { OPENAI } from './openai/convention.js';
import { openaiRoutes } from './openai/index.js';

const MESSAGES = /^\/messages(?:\/|$)/;

/** /v1: the address of both makers' clients (beyond 11). */
export const conventionsFace: Face = {
  path: '/v1',
  routes: [...openaiRoutes, ...anthropicRoutes],
  conventionOf: ({ headers }, path) =>
    headers['anthropic-version'] !== undefined || MESSAGES.test(path) ? ANTHROPIC : OPENAI,
  keyPrefix: '/v1',
  bareModelNames: true,
};
