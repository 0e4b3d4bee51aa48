import type { ErrorResponse } from '@anthropic-ai/sdk/resources/shared';
import type { ApiError, ErrorCode } from '../../../src/contract/errors.js';
import type { JsonSchema } from '../../shared/route.types.js';

type ErrorType = ErrorResponse['error']['type'] | 'request_too_large';

/** Beyond 11.3: codes that are not listed are the caller's errors. */
const TYPES: Partial<Record<ErrorCode, ErrorType>> = {
  unauthorized: 'authentication_error',
  quota_exceeded: 'billing_error',
  budget_exceeded: 'billing_error',
  forbidden: 'permission_error',
  plan_required: 'permission_error',
  model_not_allowed: 'permission_error',
  model_tier_not_allowed: 'permission_error',
  not_found: 'not_found_error',
  payload_too_large: 'request_too_large',
  rate_limited: 'rate_limit_error',
  server_error: 'api_error',
  unavailable: 'overloaded_error',
};

/** The body of every refusal, and of the event `error` of a stream that fails. */
export function errorResponse({ message, code, details: { reason } }: ApiError, requestId: string) {
  const type: ErrorType = TYPES[code] ?? 'invalid_request_error';
  const more = reason === 'thread_not_found' ? { details: { error_code: reason } } : {};
  return { type: 'error', error: { type, message, ...more }, request_id: requestId } as const;
}

export const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    type: { type: 'string', const: 'error' },
    error: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: [...new Set(['invalid_request_error', ...Object.values(TYPES)])] },
        message: { type: 'string', description: 'The error as text for people.' },
        details: {
          type: 'object',
          description:
            'Errors that the maker’s clients handle by themselves: after `thread_not_found` they send the whole conversation.',
          properties: { error_code: { type: 'string' } },
        },
      },
      required: ['type', 'message'],
    },
    request_id: { type: ['string', 'null'] },
  },
  required: ['type', 'error'],
};
