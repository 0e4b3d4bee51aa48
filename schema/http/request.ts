import { ApiError } from '../../src/contract/errors.js';
import { checkJson, checkText } from '../../src/http/index.js';
import type { DocumentRequest } from '../documents/index.js';

/** A request's parts as the GraphQL-over-HTTP draft names them, their kinds checked. */
export interface GraphqlRequest extends DocumentRequest {
  extensions?: Record<string, unknown> | null | undefined;
  /** Of a trusted document. */
  name?: string | undefined;
}

const MAX_NAME = 255;

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
  const { operationName, variables, extensions } = parts;
  const name = nameIn(parts);
  // A document that is named need not be sent.
  const query = parts['query'] ?? (name === undefined ? undefined : '');
  if (typeof query !== 'string' || (query.trim() === '' && name === undefined))
    throw refuse('query must be a string');
  if (operationName != null && typeof operationName !== 'string')
    throw refuse('operationName must be a string');
  if (variables != null && !isRecord(variables)) throw refuse('variables must be an object');
  if (extensions != null && !isRecord(extensions)) throw refuse('extensions must be an object');
  // Apollo tells an absent part from an undefined one.
  const given = { operationName, variables, extensions: withoutHash(extensions) };
  const present = Object.entries(given).filter(([, part]) => part != null);
  const named = name === undefined ? {} : { name };
  return { query, ...named, ...Object.fromEntries(present) } as GraphqlRequest;
}

/** It has been read; Apollo would look for the document by itself. */
function withoutHash(extensions: Record<string, unknown> | null | undefined): unknown {
  if (extensions == null || !('persistedQuery' in extensions)) return extensions;
  const { persistedQuery: _, ...others } = extensions;
  return others;
}

/** What names a trusted document: `documentId`, or the hash that clients of Apollo's convention send. @throws ApiError invalid_request */
export function nameIn({ documentId, extensions }: Record<string, unknown>): string | undefined {
  const persisted = isRecord(extensions) ? extensions['persistedQuery'] : undefined;
  const hash = isRecord(persisted) ? (persisted['sha256Hash'] ?? '') : undefined;
  const name = documentId ?? hash;
  if (name === undefined || name === null) return undefined;
  if (typeof name !== 'string' || name.length > MAX_NAME) throw refuse('documentId must be a string');
  return name;
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
