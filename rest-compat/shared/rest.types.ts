import type { IncomingMessage } from 'node:http';
import type { GraphQLField, GraphQLSchema } from 'graphql';
import type { ApiError } from '../../src/contract/errors.js';
import type { HttpEdge, RequestBody, SpooledFile, UploadedFile } from '../../src/http/index.js';
import type { Convention, Face } from './convention.types.js';
import type { Endpoint } from './mount.js';
import type { DialectCall, WrittenOperation } from './route.types.js';
import type { PathValues, TablePath } from './path-table.js';

/** One call that the edge has opened. */
export type Call = Awaited<ReturnType<HttpEdge['open']>>;

/** An event of a run's stream: its payload in the contract's spelling, without `type` (contract 6.2). */
export interface StreamedEvent {
  sequence: number;
  type: string;
  data: Record<string, unknown>;
}

/** The values of a body, in addition to the query's values. */
export interface ReceivedExtra {
  body?: Record<string, unknown>;
  upload?: UploadedFile;
  spooled?: SpooledFile;
}

/** The dependencies of the REST API from the composition root. This layer contains no business rules. */
export interface RestOptions {
  schema: GraphQLSchema;
  edge: HttpEdge;
  /** The resolvers' context. `body` replaces the argument `input`. */
  context(call: Call, extra: ReceivedExtra): object;
  /** The maximum size of an uploaded knowledge file in the caller's plan, and the error for a larger one. */
  knowledgeLimit(call: Call): { bytes: number; refusal: ApiError };
  /** The directory for knowledge files during their upload. */
  spoolFolder: string;
  /** Scope and rate checks of a root field, from its extensions: steps 3 and 4 of decisions 1. @throws ApiError */
  guard(field: GraphQLField<unknown, object>, context: object): void | Promise<void>;
  /** Steps 4 and 5 of a root field, for errors that are thrown before it runs: takes every window's slot, then checks the plan. @throws ApiError rate_limited, plan_required, model_not_allowed, model_tier_not_allowed */
  takeSlots(field: GraphQLField<unknown, object>, request: Pick<RestRequest, 'call' | 'body'>): Promise<void>;
  /** The methods that write the JSON text of an operation's answer. */
  write: Record<WrittenOperation, (call: Call, body: Record<string, unknown>) => Promise<{ text: string }>>;
  /** Escape hatch of speech: a stored file's bytes by its signed URL. */
  readFile(call: Call, url: string): Promise<Buffer>;
  /** Escape hatch of runs: the events of a run from its start. */
  joinRun(call: Call, runId: string): Promise<AsyncIterable<StreamedEvent>>;
  /** A place among the open streams of the call's key, until the answer is called. @throws ApiError rate_limited */
  holdStream(call: Call): () => void;
  /** Called with the row that a request matched. */
  onRoute?(request: IncomingMessage, pattern: string): void;
  /** The model's id for a name without a slash if there is one, else the name (beyond 11.5). */
  fullModelId(name: string): string;
  /** The installation's address for callers, without a slash at its end. */
  publicUrl: string;
  /** The OpenAPI description of each base path, served unchanged. */
  openapi: Record<string, string>;
}

/** An address with its rows compiled. */
export interface MountedFace extends Face {
  paths: readonly TablePath<Endpoint>[];
  openapi: Buffer;
  /** The full address at which an unknown path exists, or null. */
  elsewhere(path: string): string | null;
}

/** The match of a request's path: a row, only other methods of the path, or nothing. */
export type RouteMatch = { target: Endpoint; values: PathValues } | { allow: string } | null;

/** An unread request with its authenticated caller. */
export interface Incoming {
  request: IncomingMessage;
  call: Call;
  matched: RouteMatch;
  face: MountedFace;
  convention: Convention;
  /** The path below the base path, percent-encoded. */
  path: string;
  /** The query string without `?`. */
  query: string;
  incoming: RequestBody;
}

/** A request in progress: its caller, its row and its content. */
export interface RestRequest {
  call: Call;
  face: MountedFace;
  convention: Convention;
  request: IncomingMessage;
  endpoint: Endpoint;
  segments: Record<string, string>;
  path: string;
  query: string;
  lastEventId: string | undefined;
  accept: string | undefined;
  idempotencyKey: string | undefined;
  /** The hash of a body with an Idempotency-Key, which is equal for all its retries. */
  fingerprint: Buffer | null;
  body: Record<string, unknown> | null;
  /** The body's uploaded files. */
  files: Omit<ReceivedExtra, 'body'>;
  /** The row's result of reading the body. */
  dialectCall?: DialectCall;
  /** The body came as multipart/form-data with a file. */
  isForm: boolean;
  /** The error of a body that is JSON but not in a form of the endpoint; thrown at step 6 of decisions 1. */
  fault: ApiError | null;
  context: object;
  /** Removes the request's files from the disk. */
  release?(): Promise<void>;
}
