import { ApiError } from '../../../src/contract/errors.js';
import type { Convention } from '../convention.types.js';
import type { JsonSchema } from '../route.types.js';

interface ErrorResponse {
  description: string;
  /** As the example tells it. */
  fault: ApiError;
  retryAfter?: boolean;
  /** Also what becomes of a generation whose job was made. */
  ofJob?: boolean;
}

/** By status: what every endpoint can answer besides its success. */
const ERRORS: Record<string, ErrorResponse> = {
  BadRequest: {
    description: 'The request is malformed or a field is invalid.',
    fault: new ApiError('invalid_request', 'n must be between 1 and 10', { param: 'n' }),
    ofJob: true,
  },
  Unauthorized: {
    description: 'The key is missing, invalid, revoked or expired.',
    fault: new ApiError('unauthorized', 'Invalid or missing API key'),
  },
  PaymentRequired: {
    description: 'A quota bucket is exhausted, or a budget is spent.',
    fault: new ApiError('quota_exceeded', 'Quota exceeded for credits', { remaining: 0 }),
  },
  Forbidden: {
    description: 'The key lacks a scope, or the plan does not allow it.',
    fault: new ApiError('forbidden', 'API key does not have required scope: image'),
  },
  NotFound: {
    description: 'There is no such resource.',
    fault: new ApiError('not_found', 'Job not found'),
  },
  Conflict: {
    description: 'The same Idempotency-Key is in flight, or the job was cancelled meanwhile.',
    fault: new ApiError('conflict', 'A request with this Idempotency-Key is in progress', { retryAfter: 1 }),
    retryAfter: true,
    ofJob: true,
  },
  PayloadTooLarge: {
    description: 'The body is too large.',
    fault: new ApiError('payload_too_large', 'Request body too large'),
  },
  UnsupportedMediaType: {
    description: 'The body is not declared as JSON.',
    fault: new ApiError('unsupported_media_type', 'Unsupported media type'),
  },
  IdempotencyMismatch: {
    description: 'The Idempotency-Key was used with another request.',
    fault: new ApiError('idempotency_mismatch', 'Idempotency-Key was used with another request'),
  },
  RateLimited: {
    description: 'Too many requests.',
    fault: new ApiError('rate_limited', 'Rate limit exceeded', { retryAfter: 12 }),
    retryAfter: true,
  },
  ServerError: {
    description: 'The work failed; a retry is safe.',
    fault: new ApiError('server_error', 'Internal server error'),
    ofJob: true,
  },
  Unavailable: {
    description: 'The service cannot answer now.',
    fault: new ApiError('unavailable', 'Still processing', { retryAfter: 5 }),
    retryAfter: true,
    ofJob: true,
  },
};

const STATUS: Record<string, string> = {
  '400': 'BadRequest',
  '401': 'Unauthorized',
  '402': 'PaymentRequired',
  '403': 'Forbidden',
  '404': 'NotFound',
  '409': 'Conflict',
  '413': 'PayloadTooLarge',
  '415': 'UnsupportedMediaType',
  '422': 'IdempotencyMismatch',
  '429': 'RateLimited',
  '500': 'ServerError',
  '503': 'Unavailable',
};

/** A reference to one of {@link HEADERS}. */
export const headerReference = (name: string): JsonSchema => ({ $ref: `#/components/headers/${name}` });

export const RATE_HEADERS = {
  'X-RateLimit-Limit': headerReference('RateLimitLimit'),
  'X-RateLimit-Remaining': headerReference('RateLimitRemaining'),
  'X-RateLimit-Reset': headerReference('RateLimitReset'),
  'X-Request-Id': headerReference('RequestId'),
};

export const HEADERS: Record<string, JsonSchema> = {
  RateLimitLimit: {
    description: 'Requests that the window allows.',
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimitRemaining: { description: 'Requests left in it.', schema: { type: 'integer' } },
  RateLimitReset: { description: 'Unix seconds at which it next gains a slot.', schema: { type: 'integer' } },
  RequestId: {
    description: "The request's id, as in usage records and logs.",
    schema: { type: 'string' },
    required: true,
  },
  RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  IdempotentReplayed: {
    description: 'Where an earlier request with this Idempotency-Key got the answer.',
    schema: { type: 'string', const: 'true' },
  },
  Usage: { description: 'The `usage` of an answer that is no JSON, as JSON.', schema: { type: 'string' } },
  JobId: {
    description: 'The job that does the work, also where it failed or is not done.',
    schema: { type: 'string' },
  },
};

const EXAMPLE_ID = 'req_01JABCDEFGHJKMNPQRSTVWXYZ0';

/** `components.responses` of a convention. */
export function errorResponses(convention: Convention): Record<string, JsonSchema> {
  const { errorName } = convention;
  const entries = Object.entries(ERRORS).map(([name, { description, fault, retryAfter, ofJob }]) => [
    prefixOf(convention) + name,
    {
      description,
      headers: {
        ...RATE_HEADERS,
        ...(retryAfter ? { 'Retry-After': headerReference('RetryAfter') } : {}),
        ...(ofJob ? { 'X-Job-Id': headerReference('JobId') } : {}),
      },
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${errorName}` },
          example: convention.errorBody(fault, EXAMPLE_ID),
        },
      },
    },
  ]);
  return Object.fromEntries(entries) as Record<string, JsonSchema>;
}

/** Names of two conventions stand in one document. */
const prefixOf = ({ errorName }: Convention): string => errorName.replace(/Error$/, '');

/** References to the errors of these statuses. */
export function errorReferences(convention: Convention, statuses: number[]): Record<string, JsonSchema> {
  const prefix = prefixOf(convention);
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      { $ref: `#/components/responses/${prefix}${STATUS[String(status)]}` },
    ]),
  );
}
