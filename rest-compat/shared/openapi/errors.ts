import { ERROR_KINDS } from '../../../src/contract/errors.js';
import type { JsonSchema } from '../route.types.js';

const string = (description: string): JsonSchema => ({ type: 'string', description });

/** Contract 7.1. */
export const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    error: string('What is wrong, for people.'),
    code: { ...string('What is wrong, for programs.'), enum: Object.keys(ERROR_KINDS) },
    param: string('The offending field.'),
    remaining: { type: 'number', description: 'What is left of the exhausted bucket.' },
    retryAfter: { type: 'integer', minimum: 1, description: 'Seconds to wait.' },
  },
  required: ['error'],
};

interface ErrorResponse {
  description: string;
  example: Record<string, unknown>;
  retryAfter?: boolean;
  /** Also what becomes of a generation whose job was made. */
  ofJob?: boolean;
}

/** By status: what every endpoint can answer besides its success. */
const ERRORS: Record<string, ErrorResponse> = {
  BadRequest: {
    description: 'The request is malformed or a field is invalid.',
    example: { error: 'n must be between 1 and 10', code: 'invalid_request', param: 'n' },
    ofJob: true,
  },
  Unauthorized: {
    description: 'The key is missing, invalid, revoked or expired.',
    example: { error: 'Invalid or missing API key', code: 'unauthorized' },
  },
  PaymentRequired: {
    description: 'A quota bucket is exhausted.',
    example: { error: 'Quota exceeded for credits', code: 'quota_exceeded', remaining: 0 },
  },
  Forbidden: {
    description: 'The key lacks a scope, or the plan does not allow it.',
    example: { error: 'API key does not have required scope: image', code: 'forbidden' },
  },
  NotFound: {
    description: 'There is no such resource.',
    example: { error: 'Job not found', code: 'not_found' },
  },
  Conflict: {
    description: 'The same Idempotency-Key is in flight, or the job was cancelled meanwhile.',
    example: { error: 'A request with this Idempotency-Key is in progress', code: 'conflict', retryAfter: 1 },
    retryAfter: true,
    ofJob: true,
  },
  PayloadTooLarge: {
    description: 'The body is too large.',
    example: { error: 'Request body too large', code: 'payload_too_large' },
  },
  UnsupportedMediaType: {
    description: 'The body is not declared as JSON.',
    example: { error: 'Unsupported media type', code: 'unsupported_media_type' },
  },
  IdempotencyMismatch: {
    description: 'The Idempotency-Key was used with another request.',
    example: { error: 'Idempotency-Key was used with another request', code: 'idempotency_mismatch' },
  },
  RateLimited: {
    description: 'Too many requests.',
    example: { error: 'Rate limit exceeded', code: 'rate_limited', retryAfter: 12 },
    retryAfter: true,
  },
  ServerError: {
    description: 'The work failed; a retry is safe.',
    example: { error: 'Internal server error', code: 'server_error' },
    ofJob: true,
  },
  Unavailable: {
    description: 'The service cannot answer now.',
    example: { error: 'Still processing', code: 'unavailable', retryAfter: 5 },
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

/** `components.responses`. */
export function errorResponses(): Record<string, JsonSchema> {
  const entries = Object.entries(ERRORS).map(([name, { description, example, retryAfter, ofJob }]) => [
    name,
    {
      description,
      headers: {
        ...RATE_HEADERS,
        ...(retryAfter ? { 'Retry-After': headerReference('RetryAfter') } : {}),
        ...(ofJob ? { 'X-Job-Id': headerReference('JobId') } : {}),
      },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example } },
    },
  ]);
  return Object.fromEntries(entries) as Record<string, JsonSchema>;
}

/** References to the errors of these statuses. */
export function errorReferences(statuses: number[]): Record<string, JsonSchema> {
  return Object.fromEntries(
    statuses.map((status) => [String(status), { $ref: `#/components/responses/${STATUS[String(status)]}` }]),
  );
}
