import type { ErrorObject } from 'openai/resources/shared';
import type { ApiError, ErrorCode } from '../../../src/contract/errors.js';
import type { JsonSchema } from '../../shared/route.types.js';

/** Beyond 11.3: codes that are not listed are the caller's errors. */
const TYPES: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'authentication_error',
  quota_exceeded: 'insufficient_quota',
  budget_exceeded: 'insufficient_quota',
  forbidden: 'permission_error',
  plan_required: 'permission_error',
  model_not_allowed: 'permission_error',
  model_tier_not_allowed: 'permission_error',
  rate_limited: 'rate_limit_error',
  server_error: 'server_error',
  unavailable: 'server_error',
};

/** The `error` of every refusal, and of a stream that fails. */
export function errorObject({ message, code, details }: ApiError): ErrorObject {
  return {
    message,
    type: TYPES[code] ?? 'invalid_request_error',
    param: details.param ?? null,
    code: code === 'unauthorized' ? 'invalid_api_key' : (details.reason ?? code),
  };
}

const nullable = (description: string): JsonSchema => ({ type: ['string', 'null'], description });

export const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        message: { type: 'string', description: 'The error as text for people.' },
        type: { type: 'string', enum: [...new Set(['invalid_request_error', ...Object.values(TYPES)])] },
        param: nullable('The offending field.'),
        code: nullable('The error code for programs.'),
      },
      required: ['message', 'type', 'param', 'code'],
    },
  },
  required: ['error'],
};
