import { ApiError } from '../../src/contract/errors.js';
import { checkJson, checkText } from '../../src/http/index.js';
import type { DocumentRequest } from '../documents/index.js';

/** A request's parts as the GraphQL-over-HTTP draft names them, their kinds checked. */
export interface GraphqlRequest extends DocumentRequest {
  extensions?: Record<string, unknown> | null | undefined;
}

const refuse = (message: string) => new ApiError('invalid_request', message);
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parameter that a path of keys in a request leads to, in the operation's spelling. */
export const paramOf = ([part, variable, field]: string[]): string | undefined =>
  part === 'variables' ? (variable === 'input' ? field : variable) : part;

/** Where a request's parts stand: in a POST's body, or in a GET's query string. */
export type RequestSource = { json: unknown } | { query: string };

/** @throws ApiError invalid_request (batches included) */
export function parseRequest(source: RequestSource): GraphqlRequest {
  const parts = 'query' in source ? fromQuery(source.query) : source.json;
  if (Array.isArray(parts)) throw refuse('Batched operations are not supported');
  if (!isRecord(parts)) throw refuse('The request must be a JSON object with a query');
  const { query, operationName, variables, extensions } = parts;
  // The word on which clients that send hashes (APQ) send the document alone.
  if (isRecord(extensions) && isRecord(extensions['persistedQuery']))
    throw refuse('PersistedQueryNotSupported');
  if (typeof query !== 'string' || query.trim() === '') throw refuse('query must be a string');
  if (operationName != null && typeof operationName !== 'string')
    throw refuse('operationName must be a string');
  if (variables != null && !isRecord(variables)) throw refuse('variables must be an object');
  if (extensions != null && !isRecord(extensions)) throw refuse('extensions must be an object');
  // Apollo tells an absent part from an undefined one.
  const given = { operationName, variables, extensions };
  const present = Object.entries(given).filter(([, part]) => part != null);
  return { query, ...Object.fromEntries(present) } as GraphqlRequest;
}

/** An empty part stands for one that is left out, as the GraphQL-over-HTTP draft has it. */
function fromQuery(text: string): Record<string, unknown> {
  const parameters = new URLSearchParams(text);
  const parts: Record<string, unknown> = {};
  for (const [name, value] of parameters) {
    checkText(value, name);
    if (Object.hasOwn(parts, name)) throw refuse(`${name} may stand once only`);
    const isJson = name === 'variables' || name === 'extensions';
    parts[name] = value === '' ? undefined : isJson ? parseParameter(name, value) : value;
  }
  return parts;
}

/** Held to what a body is held to: escapes show what the text itself hides. */
function parseParameter(name: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    throw refuse(`${name} must be JSON`);
  }
  checkJson(value, text, (path) => paramOf([name, ...path]));
  return value;
}
