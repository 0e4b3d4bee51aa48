import { firstCharacters } from '../text/characters.js';

/**
 * The one table of faults: every refusal that a caller can see is an {@link ApiError} of one of these kinds
 * (contract 7, decisions 1). REST shows it as `{error, code, param, remaining, retryAfter}`, GraphQL as an
 * error with the same values in `extensions`, WebSocket as a close code.
 */
export const ERROR_KINDS = {
  invalid_request: { status: 400, closeCode: 4400 },
  unauthorized: { status: 401, closeCode: 4403 },
  quota_exceeded: { status: 402, closeCode: 4400 },
  budget_exceeded: { status: 402, closeCode: 4400 },
  forbidden: { status: 403, closeCode: 4403 },
  plan_required: { status: 403, closeCode: 4403 },
  model_not_allowed: { status: 403, closeCode: 4403 },
  model_tier_not_allowed: { status: 403, closeCode: 4403 },
  not_found: { status: 404, closeCode: 4400 },
  method_not_allowed: { status: 405, closeCode: 4400 },
  conflict: { status: 409, closeCode: 4400 },
  payload_too_large: { status: 413, closeCode: 1009 },
  unsupported_media_type: { status: 415, closeCode: 4400 },
  idempotency_mismatch: { status: 422, closeCode: 4400 },
  rate_limited: { status: 429, closeCode: 4400 },
  server_error: { status: 500, closeCode: 1011 },
  unavailable: { status: 503, closeCode: 1013 },
} as const;

/** A word of the error table; also the `code` of an error body. */
export type ErrorCode = keyof typeof ERROR_KINDS;

/** What an error may carry besides its message. */
export interface ErrorDetails {
  /** The offending field in the request's own spelling (validation errors). */
  param?: string;
  /** What is left of the exhausted bucket, in its units, or of the budget: of one in USD a decimal as text (402). */
  remaining?: number | string;
  /** Whole seconds, at least 1 (429, 409 in flight, 503). */
  retryAfter?: number;
  /** What the conventions of /v1 have a word of their own for (beyond 11.3). */
  reason?: 'model_not_found' | 'thread_not_found' | 'previous_response_not_found';
  /** Further response headers, such as `X-Job-Id` or `Allow`. */
  headers?: Record<string, string>;
  cause?: unknown;
}

/** Far more than any message of ours: what is longer repeats what a caller wrote. */
const MAX_MESSAGE = 2000;
const MAX_PARAM = 200;

/** A refusal with the contract's message. Never holds a stack trace, SQL, a file path or a credential in its message. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(
      firstCharacters(message, MAX_MESSAGE),
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.name = 'ApiError';
    this.code = code;
    const { param } = details;
    this.details =
      param === undefined || param.length <= MAX_PARAM
        ? details
        : { ...details, param: firstCharacters(param, MAX_PARAM) };
  }

  get status(): number {
    return ERROR_KINDS[this.code].status;
  }
}

/** 400 with the field's name in `param`. */
export function invalid(message: string, param?: string): ApiError {
  return new ApiError('invalid_request', message, param === undefined ? {} : { param });
}

/** 413 for a file in a field (decisions 6, "Limits"). */
export function fileTooLarge(field: string, maxMb: number): ApiError {
  return new ApiError('payload_too_large', `${field} exceeds the maximum size of ${maxMb} MB`, {
    param: field,
  });
}

/** 404 for a resource that does not exist or belongs to another organisation (the two look the same). */
export function notFound(message = 'Not found'): ApiError {
  return new ApiError('not_found', message);
}

/** Turns whatever was thrown into an ApiError: unknown faults become a 500 that tells nothing of the inside. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('server_error', 'Internal server error', { cause: error });
}
