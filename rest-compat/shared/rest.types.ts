import type { IncomingMessage } from 'node:http';
import type { GraphQLField, GraphQLSchema } from 'graphql';
import type { ApiError } from '../../src/contract/errors.js';
import type { HttpEdge, RequestBody, SpooledFile, UploadedFile } from '../../src/http/index.js';
import type { Convention, Face } from './convention.types.js';
import type { Endpoint } from './mount.js';
import type { DialectCall, WrittenOperation } from './route.types.js';
import type { PathValues, TablePath } from './path-table.js';

/** One call, as the edge opened it. */
export type Call = Awaited<ReturnType<HttpEdge['open']>>;

/** An event of a run's stream: its payload in the contract's spelling, without `type` (contract 6.2). */
export interface StreamedEvent {
  sequence: number;
  type: string;
  data: Record<string, unknown>;
}

/** What a body brought besides the query's values. */
export interface ReceivedExtra {
  body?: Record<string, unknown>;
  upload?: UploadedFile;
  spooled?: SpooledFile;
}

/** What the composition root gives the REST face: the schema and what stands around it. No business rule is known here. */
export interface RestOptions {
  schema: GraphQLSchema;
  edge: HttpEdge;
  /** The resolvers' context. `body` stands in the place of the argument `input`. */
  context(call: Call, extra: ReceivedExtra): object;
  /** How large an uploaded knowledge file may be, by the caller's plan, and how a larger one is refused. */
  knowledgeLimit(call: Call): { bytes: number; refusal: ApiError };
  /** Where knowledge files lie while they come in. */
  spoolFolder: string;
  /** Scope and rate checks of a root field, from its extensions: steps 3 and 4 of decisions 1. @throws ApiError */
  guard(field: GraphQLField<unknown, object>, context: object): void | Promise<void>;
  /** Steps 4 and 5 of a root field, for faults that are told before it runs: every window's slot, then the plan. @throws ApiError rate_limited, plan_required, model_not_allowed, model_tier_not_allowed */
  takeSlots(field: GraphQLField<unknown, object>, request: Pick<RestRequest, 'call' | 'body'>): Promise<void>;
  /** The methods that write the JSON text of an operation's answer. */
  write: Record<WrittenOperation, (call: Call, body: Record<string, unknown>) => Promise<{ text: string }>>;
  /** Escape hatch of speech: a stored file's bytes by its signed URL. */
  readFile(call: Call, url: string): Promise<Buffer>;
  /** Escape hatch of runs: the events of a run from its start. */
  joinRun(call: Call, runId: string): Promise<AsyncIterable<StreamedEvent>>;
  /** A place among the open streams of the call's key, until the answer is called. @throws ApiError rate_limited */
  holdStream(call: Call): () => void;
  /** Told of the row that a request was matched to. */
  onRoute?(request: IncomingMessage, pattern: string): void;
  /** The model's id that a name without a slash stands for, where there is one; else the name (beyond 11.5). */
  fullModelId(name: string): string;
  /** How callers reach the installation, without a slash at its end. */
  publicUrl: string;
  /** The OpenAPI description of each face by its path, served as it is. */
  openapi: Record<string, string>;
}

/** An address with its rows compiled. */
export interface MountedFace extends Face {
  paths: readonly TablePath<Endpoint>[];
  openapi: Buffer;
  /** Where a path that this address does not know is known: the whole address, or null. */
  elsewhere(path: string): string | null;
}

/** Where a request's path leads: to a row, to others of its methods, or nowhere. */
export type Matched = { target: Endpoint; values: PathValues } | { allow: string } | null;

/** A request as it came, its caller known. */
export interface Incoming {
  request: IncomingMessage;
  call: Call;
  matched: Matched;
  face: MountedFace;
  convention: Convention;
  /** Below the face's path, percent-encoded. */
  path: string;
  /** Without its `?`. */
  query: string;
  incoming: RequestBody;
}

/** A request on its way: who calls, which row, what was sent. */
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
  /** Of a body under an Idempotency-Key: what it has in common with its retries only. */
  fingerprint: Buffer | null;
  body: Record<string, unknown> | null;
  /** What came beside it. */
  files: Omit<ReceivedExtra, 'body'>;
  /** What the row read from it. */
  asked?: DialectCall;
  /** The body came as multipart/form-data with a file. */
  isForm: boolean;
  /** What a body is refused for that is JSON, but none that the endpoint takes: told at step 6 of decisions 1. */
  fault: ApiError | null;
  context: object;
  /** Removes what the request left on the disk. */
  release?(): Promise<void>;
}
