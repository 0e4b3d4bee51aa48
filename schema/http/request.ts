import { ApiError } from '../../src/contract/errors.js';
import { checkJson, checkText } from '../../src/http/index.js';
import type { DocumentRequest } from '../documents/index.js';

/** A request's parts with the names of the GraphQL-over-HTTP draft; their types are checked. */
export interface GraphqlRequest extends DocumentRequest {
  extensions?: Record<string, unknown> | null | undefined;
  /** The id of a trusted document. */
  name?: string | undefined;
}

const MAX_NAME = 255;

const refuse = (message: string) => new ApiError('invalid_request', message);
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parameter at a path in a request, in the operation's spelling. */
export const paramOf = ([part, variable, field]: string[]): string | undefined =>
  part === 'variables' ? (variable === 'input' ? field : variable) : part;

/** The source of a request's parts: a POST's body, or a GET's query string. */
export type RequestSource = { json: unknown } | { query: string };

/** @throws ApiError invalid_request (batches included) */
export function parseRequest(source: RequestSource): GraphqlRequest {
  const parts = 'query' in source ? fromQuery(source.query) : source.json;
  if (Array.isArray(parts)) throw refuse('Batched operations are not supported');
  if (!isRecord(parts)) throw refuse('The request must be a JSON object with a query');
  const { operationName, variables, extensions } = parts;
  const name = nameIn(parts);
  // A request that names a trusted document needs no query.
  const query = parts['query'] ?? (name === undefined ? undefined : '');
  if (typeof query !== 'string' || (query.trim() === '' && name === undefined))
    throw refuse('query must be a string');
  if (operationName != null && typeof operationName !== 'string')
    throw refuse('operationName must be a string');
  if (variables != null && !isRecord(variables)) throw refuse('variables must be an object');
  if (extensions != null && !isRecord(extensions)) throw refuse('extensions must be an object');
  // Apollo distinguishes absent parts from undefined parts.
  const given = { operationName, variables, extensions: withoutHash(extensions) };
  const present = Object.entries(given).filter(([, part]) => part != null);
  const named = name === undefined ? {} : { name };
  return { query, ...named, ...Object.fromEntries(present) } as GraphqlRequest;
}

/** Removed, because it was read; Apollo would search for the document itself. */
function withoutHash(extensions: Record<string, unknown> | null | undefined): unknown {
  if (extensions == null || !('persistedQuery' in extensions)) return extensions;
  const { persistedQuery: _, ...others } = extensions;
  return others;
}

/** The name of a trusted document: `documentId`, or the hash that clients of Apollo's convention send. @throws ApiError invalid_request */
export function nameIn({ documentId, extensions }: Record<string, unknown>): string | undefined {
  const persisted = isRecord(extensions) ? extensions['persistedQuery'] : undefined;
  const hash = isRecord(persisted) ? (persisted['sha256Hash'] ?? '') : undefined;
  const name = documentId ?? hash;
  if (name === undefined || name === null) return undefined;
  if (typeof name !== 'string' || name.length > MAX_NAME) throw refuse('documentId must be a string');
  return name;
}

/** An empty part means an absent part (GraphQL-over-HTTP draft). */
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

/** Applies the limits of JSON bodies; escape sequences reveal characters that the text itself hides. */
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
