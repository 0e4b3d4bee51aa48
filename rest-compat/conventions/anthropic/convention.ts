import type { Convention } from '../../shared/convention.types.js';
import { FORGIVING } from '../body-rules.js';
import { readKey } from '../credentials.js';
import { ERROR_SCHEMA, errorResponse } from './errors.js';

/** The behaviour that clients of Anthropic's convention expect from every endpoint. */
export const ANTHROPIC: Convention = {
  name: 'anthropic',
  readKey,
  bodies: FORGIVING,
  errorBody: errorResponse,
  errorName: 'AnthropicError',
  errorSchema: ERROR_SCHEMA,
  errorEvent: (error, requestId) =>
    `event: error\ndata: ${JSON.stringify(errorResponse(error, requestId))}\n\n`,
  headers: (requestId) => ({ 'request-id': requestId }),
};
