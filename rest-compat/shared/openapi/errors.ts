import { ApiError } from '../../../src/contract/errors.js';
import type { Convention } from '../convention.types.js';
import type { JsonSchema } from '../route.types.js';

interface ErrorResponse {
  description: string;
  /** The message of the example. */
  fault: ApiError;
  retryAfter?: boolean;
  /** Whether it is also the answer for a failed generation whose job was created. */
  ofJob?: boolean;
}

/** The errors that endpoints can answer, one for each status. */
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

const NAMES = new Map(Object.entries(ERRORS).map(([name, { fault }]) => [fault.status, name]));

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
  RateLimitRemaining: { description: 'Requests that are left in the window.', schema: { type: 'integer' } },
  RateLimitReset: {
    description: 'The time at which the window next gains a slot, in Unix seconds.',
    schema: { type: 'integer' },
  },
  RequestId: {
    description: "The request's id, as in usage records and logs.",
    schema: { type: 'string' },
    required: true,
  },
  RetryAfter: { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  IdempotentReplayed: {
    description: 'Present if an earlier request with this Idempotency-Key got this answer.',
    schema: { type: 'string', const: 'true' },
  },
  Usage: { description: 'The `usage` as JSON, for an answer that is not JSON.', schema: { type: 'string' } },
  JobId: {
    description: 'The id of the job that does the work, also if it failed or has not finished.',
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

/** Different names, because one document has two conventions. */
const prefixOf = ({ errorName }: Convention): string => errorName.replace(/Error$/, '');

/** References to the errors of these statuses. */
export function errorReferences(convention: Convention, statuses: number[]): Record<string, JsonSchema> {
  const prefix = prefixOf(convention);
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      { $ref: `#/components/responses/${prefix}${NAMES.get(status)}` },
    ]),
  );
}
