import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../../src/contract/errors.js';
import type { BodyRules, KeyReader } from '../../src/http/index.js';
import type { JsonSchema, Route } from './route.types.js';

/** How an address speaks, row by row the same: the named parts in which one convention differs from another. */
export interface Convention {
  name: 'contract' | 'openai' | 'anthropic';
  /** Credentials. Absent: `Authorization` alone. */
  readKey?: KeyReader;
  /** Body rules. Absent: bodies are declared as what they are, and come as they are. */
  bodies?: BodyRules;
  /** Errors: the JSON body of a refusal. */
  errorBody(error: ApiError, requestId: string): unknown;
  /** Its schema, and the name of that in descriptions: it ends in `Error`. */
  errorName: string;
  errorSchema: JsonSchema;
  /** The event that ends a stream that failed, with its blank line. */
  errorEvent(error: ApiError, requestId: string): string;
  /** Headers that each of its answers carries besides. */
  headers?(requestId: string): Record<string, string>;
}

/** An address with its table. */
export interface Face {
  /** Such as `/api/v1`. */
  path: string;
  routes: readonly Route[];
  /** The convention that a request is answered in, whatever becomes of it. @param path below the address, without doubled slashes */
  conventionOf(request: Pick<IncomingMessage, 'headers'>, path: string): Convention;
  /** What an Idempotency-Key's path begins with, so that the same path of two addresses is two paths. */
  keyPrefix: string;
  /** A model's name may stand for the one available model whose id ends in it (beyond 11.5). */
  bareModelNames: boolean;
  /** What its OpenAPI document says of the whole. */
  description: string;
  /** How OpenAPI has the ways in which a key is shown; each is enough. */
  securitySchemes: Record<string, JsonSchema>;
}
