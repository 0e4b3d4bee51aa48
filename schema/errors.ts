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

/** Names that are not the contract's name in camelCase. `image_url` is inside a message's JSON content, which has one spelling in all APIs. */
const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['cursor', 'after'],
  ['image_url', 'image_url'],
]);

/** `param` in the request's spelling (decisions 1): services use the contract's spelling, which REST shows unchanged. */
function argumentOf(param: string): string {
  return SPELLINGS.get(param) ?? camel(param);
}

/** The ApiError inside a GraphQL error; an unknown error becomes a 500 without details; null: an error of graphql-js itself. */
export function apiErrorOf(error: GraphQLError): ApiError | null {
  const original = error.originalError;
  if (original == null) return null;
  if (original instanceof ApiError) return original;
  // A coercion refusal of a scalar is a GraphQLError that wraps another GraphQLError or a TypeError of its `parseValue`.
  if (error.path === undefined) return null;
  return toApiError(original);
}

/**
 * An execution or request error in the form for callers, over HTTP, WebSocket and Server-Sent Events: the contract's code in
 * `extensions`, unknown errors masked. `onFault` gets the masked error, for the log.
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
 * A message of graphql-js. It may quote megabytes of the caller's text, and ends with a hint at names of the schema, which clients without a key must
 * not learn by guessing. The hint is found by its position, because a regular expression would try each of a million beginnings in the caller's text.
 */
function readable(message: string): string {
  const hint = message.endsWith('?') ? message.lastIndexOf(SUGGESTION) : -1;
  const said = hint < 0 ? message : message.slice(0, hint);
  return said.length > MAX_MESSAGE ? `${said.slice(0, MAX_MESSAGE - 1).toWellFormed()}…` : said;
}
