import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../../src/contract/errors.js';
import type { BodyRules, KeyReader } from '../../src/http/index.js';
import type { JsonSchema, Route } from './route.types.js';

/** What all rows under one base path have in common: the parts in which conventions differ. */
export interface Convention {
  name: 'contract' | 'openai' | 'anthropic';
  /** Credentials. Absent: `Authorization` alone. */
  readKey?: KeyReader;
  /** Body rules. Absent: bodies must declare their type and must not be compressed. */
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

/** A base path with its table. */
export interface Face {
  /** Such as `/api/v1`. */
  path: string;
  routes: readonly Route[];
  /** The convention of a request's answer, also of an error. @param path below the address, without doubled slashes */
  conventionOf(request: Pick<IncomingMessage, 'headers'>, path: string): Convention;
  /** The prefix of paths for Idempotency-Keys, so that the same path below two base paths counts as two. */
  keyPrefix: string;
  /** A model's name may stand for the one available model whose id ends in it (beyond 11.5). */
  bareModelNames: boolean;
  /** What its OpenAPI document says of the whole. */
  description: string;
  /** How OpenAPI has the ways in which a key is shown; each is enough. */
  securitySchemes: Record<string, JsonSchema>;
}
