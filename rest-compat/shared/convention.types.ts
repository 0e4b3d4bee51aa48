import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../../src/contract/errors.js';
import type { BodyRules, KeyReader } from '../../src/http/index.js';
import type { JsonSchema, Route } from './route.types.js';

/** The parts that all rows under one base path share, and in which conventions differ. */
export interface Convention {
  name: 'contract' | 'openai' | 'anthropic';
  /** Credentials. Absent: `Authorization` alone. */
  readKey?: KeyReader;
  /** Body rules. Absent: bodies must declare their type and must not be compressed. */
  bodies?: BodyRules;
  /** The JSON body of an error. */
  errorBody(error: ApiError, requestId: string): unknown;
  /** Its schema, and the schema's name in descriptions, which ends in `Error`. */
  errorName: string;
  errorSchema: JsonSchema;
  /** The last event of a failed stream, with its blank line. */
  errorEvent(error: ApiError, requestId: string): string;
  /** Additional headers of all answers. */
  headers?(requestId: string): Record<string, string>;
}

/** A base path with its table. */
export interface Face {
  /** Such as `/api/v1`. */
  path: string;
  routes: readonly Route[];
  /** The convention of a request's answer, also of an error. @param path below the base path, without doubled slashes */
  conventionOf(request: Pick<IncomingMessage, 'headers'>, path: string): Convention;
  /** The prefix of paths for Idempotency-Keys, so that the same path below two base paths counts as two. */
  keyPrefix: string;
  /** Whether a short name may mean the only available model whose id ends with it (beyond 11.5). */
  bareModelNames: boolean;
  /** The general description in its OpenAPI document. */
  description: string;
  /** The security schemes of OpenAPI; one of them is enough. */
  securitySchemes: Record<string, JsonSchema>;
}
