import type { GraphQLError, GraphQLFormattedError } from 'graphql';
import type { ErrorCode } from '../src/contract/errors.js';
import { ApiError, ERROR_KINDS, toApiError } from '../src/contract/errors.js';
import { camel } from './names.js';

/** `extensions` of an error of this API (contract 7, decisions 1). */
export interface ErrorExtensions {
  code: ErrorCode;
  httpStatus: number;
  param?: string;
  remaining?: number | string;
  retryAfter?: number;
}

/** The values of an ApiError that callers see. */
export function errorExtensions(error: ApiError): ErrorExtensions {
  const { param, remaining, retryAfter } = error.details;
  return {
    code: error.code,
    httpStatus: error.status,
    ...(param === undefined ? {} : { param: argumentOf(param) }),
    ...(remaining === undefined ? {} : { remaining }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

/** Not the contract's name in camelCase; `image_url` stands inside a message's JSON content, which is spelled alike everywhere. */
const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['cursor', 'after'],
  ['image_url', 'image_url'],
]);

/** `param` in the request's spelling (decisions 1): services speak the contract's, which REST shows as it is. */
function argumentOf(param: string): string {
  return SPELLINGS.get(param) ?? camel(param);
}

/** The ApiError inside a GraphQL error; an unknown fault becomes the 500 that tells nothing; null: graphql-js's own refusal. */
export function apiErrorOf(error: GraphQLError): ApiError | null {
  const original = error.originalError;
  if (original == null) return null;
  if (original instanceof ApiError) return original;
  // A coercion refusal of a scalar is a GraphQLError that wraps another GraphQLError or a TypeError of its `parseValue`.
  if (error.path === undefined) return null;
  return toApiError(original);
}

/**
 * An execution or request error as callers see it, on HTTP, WebSocket and Server-Sent Events alike: the contract's code in `extensions`,
 * unknown faults masked. Pass what was masked to a log by `onFault`.
 */
export function presentError(
  error: GraphQLError,
  onFault?: (fault: unknown) => void,
): GraphQLFormattedError & { extensions: Record<string, unknown> } {
  const apiError = apiErrorOf(error);
  const { locations, path } = error;
  const place = { ...(locations ? { locations } : {}), ...(path ? { path } : {}) };
  if (apiError === null) {
    const code = ERROR_KINDS[error.extensions['code'] as ErrorCode]
      ? error.extensions['code']
      : 'invalid_request';
    return { message: readable(error.message), ...place, extensions: { code, httpStatus: 400 } };
  }
  if (apiError.code === 'server_error' && onFault) onFault(apiError.details.cause ?? apiError);
  return { message: apiError.message, ...place, extensions: { ...errorExtensions(apiError) } };
}

const MAX_MESSAGE = 1000;
const SUGGESTION = ' Did you mean ';

/**
 * A message of graphql-js. It may quote what the caller sent, megabytes of it, and ends with a hint at names of the schema, which strangers shall not
 * learn by guessing. The hint is cut off by its place: a pattern looks at each of a million beginnings that a caller may have sent.
 */
function readable(message: string): string {
  const hint = message.endsWith('?') ? message.lastIndexOf(SUGGESTION) : -1;
  const said = hint < 0 ? message : message.slice(0, hint);
  return said.length > MAX_MESSAGE ? `${said.slice(0, MAX_MESSAGE - 1).toWellFormed()}…` : said;
}
