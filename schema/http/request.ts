import { ApiError } from '../../src/errors.js';
import { checkText } from '../../src/http/index.js';
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

/**
 * @param json the POST body; null for a GET, whose parts stand in the query string
 * @throws ApiError invalid_request (batches included)
 */
export function parseRequest(json: unknown, search: string): GraphqlRequest {
  const parts = json === null && search !== '' ? fromSearch(search) : json;
  if (Array.isArray(parts)) throw refuse('Batched operations are not supported');
  if (!isRecord(parts)) throw refuse('The request must be a JSON object with a query');
  const { query, operationName, variables, extensions } = parts;
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

function fromSearch(search: string): Record<string, unknown> {
  const parameters = new URLSearchParams(search);
  const parts: Record<string, unknown> = {};
  for (const [name, value] of parameters) {
    checkText(value, name);
    if (Object.hasOwn(parts, name)) throw refuse(`${name} may stand once only`);
    const isJson = name === 'variables' || name === 'extensions';
    parts[name] = isJson && value !== '' ? parseParameter(name, value) : value;
  }
  return parts;
}

function parseParameter(name: string, value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw refuse(`${name} must be JSON`);
  }
}
