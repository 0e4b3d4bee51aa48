import type { Convention } from '../../shared/convention.types.js';
import { FORGIVING } from '../body-rules.js';
import { readKey } from '../credentials.js';
import { ERROR_SCHEMA, errorObject } from './errors.js';

/** The behaviour that clients of OpenAI's convention expect from every endpoint. */
export const OPENAI: Convention = {
  name: 'openai',
  readKey,
  bodies: FORGIVING,
  errorBody: (error) => ({ error: errorObject(error) }),
  errorName: 'Error',
  errorSchema: ERROR_SCHEMA,
  errorEvent: (error) => `data: ${JSON.stringify({ error: errorObject(error) })}\n\n`,
  headers: (requestId) => ({ 'request-id': requestId }),
};
