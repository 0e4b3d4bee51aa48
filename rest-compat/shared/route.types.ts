import type { Dialect } from '../../src/contract/words.js';
import type { ApiError } from '../../src/contract/errors.js';
import type { UploadedFile } from '../../src/http/index.js';
import type { Convention } from './convention.types.js';

/** A JSON Schema (draft 2020-12, as OpenAPI 3.1 has it). */
export type JsonSchema = { [keyword: string]: unknown };

/** JSON Schema keywords that a parameter's GraphQL type does not tell. */
export interface ParameterHint {
  description: string;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  enum?: readonly string[];
  example?: string | number | boolean;
  /** Of a list. False: what stands between commas is one value; default true. */
  commas?: false;
}

/** The answer to a stored document, as an escape hatch may rewrite it. */
export interface RouteAnswer {
  /** Sent as JSON; bytes as they are, with the content type that `headers` names. */
  body: unknown;
  headers?: Record<string, string>;
}

/** What an escape hatch may look at besides the document's answer. */
export interface RespondRequest {
  accept: string | undefined;
  /** The bytes of a file of the caller's organisation by its signed URL. */
  readFile(url: string): Promise<Buffer>;
  /** The body's fields. */
  asked: Record<string, unknown>;
  /** It came as multipart/form-data. */
  isForm: boolean;
  /** The one that the caller is answered in, where a row is a form of two conventions. */
  convention: Convention['name'];
  /** Without its `?`. */
  query: string;
}

/** What a row's `read` may look at besides the body. */
export interface ReadRequest {
  convention: Convention['name'];
  requestId: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The file of a form. */
  upload: UploadedFile | undefined;
  /** Without its `?`. */
  query: string;
}

/**
 * Turns the source events of a `streamOperation` (JSON texts) into the events of a dialect, one object for each stream. Each method gives
 * whole events with their blank lines, or '' for nothing.
 */
export interface EventWriter {
  event(source: string): string;
  /** What ends a stream that did not fail. */
  ending(): string;
  /** What ends one that failed. */
  fault(error: ApiError): string;
}

/** The parts that the code which writes an answer can use. */
export interface Carried {
  /** The bytes of a file of the caller's organisation by its signed URL. */
  readFile(url: string): Promise<Buffer>;
  /** The value of an answer's JSON text, which may be long. */
  readJson(text: string): Promise<unknown>;
}

/** A body of another dialect, as the row's resolver takes it, and how its answer is written. */
export interface DialectCall {
  /** In the place of the variable `input`. */
  input: Record<string, unknown>;
  streams: boolean;
  /** The whole answer, from the document's, or from the JSON text that the engine wrote. */
  whole(answer: unknown, carried: Carried): RouteAnswer | Promise<RouteAnswer>;
  /** Where the row has no subscription that streams: the events of its answer, each as it is written. */
  told?(answer: unknown, carried: Carried): AsyncIterable<string>;
  /** Absent: the source events as `data:` lines, and `data: [DONE]`. */
  events?(): EventWriter;
}

/**
 * Operations whose answers the engine writes as JSON texts in the contract's spelling, once: a document would parse a text to write it again.
 */
export type WrittenOperation = 'createChatCompletion' | 'createResponse' | 'createModelMessage';

/** One row of the table: a REST endpoint as a stored GraphQL document, or as an operation whose answer the engine writes. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the face's path, `{name}` for a segment; the last may be `{name+}`: the rest of the path, slashes included. */
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description?: string;
  /**
   * Its operation has one root field, aliased `body`; variables carry the REST names, aliases the REST spelling of the answer. A row has
   * either this or `operation`.
   */
  document?: string;
  /** Escape hatch: the mutation that the row stands for. Its guard is the row's; its type describes the answer. */
  operation?: WrittenOperation;
  /** The subscription that streams the same call (`stream: true`). Its source events are JSON texts, and are written as they are. */
  streamOperation?: string;
  /**
   * Escape hatch: the arguments of `streamOperation` where the row has no body, from the path's values and the query string. @throws ApiError
   */
  streamArguments?(values: Record<string, unknown>, query: string): Record<string, unknown>;
  /** How the source events of a stream are written, where `read` does not say it. */
  events?(): EventWriter;
  /** By REST name: path and query parameters. */
  parameters?: Record<string, ParameterHint>;
  /** For paths whose segments are not variables one by one. */
  pathVariables?(segments: Record<string, string>): Record<string, unknown>;
  /**
   * The request's JSON body. It reaches the resolver as it was sent, in the place of the variable `input`, and is refused there: the plan is
   * checked before the fields (decisions 1).
   */
  body?: {
    limitBytes: number;
    example: Record<string, unknown>;
    /** Of a body that `read` takes: its schema, in the place of the input type's. */
    schema?: JsonSchema;
    /** Fields besides those of the input type. */
    extra?: Record<string, JsonSchema>;
    /** JSON Schema keywords of the whole body: what some fields mean for others. */
    rules?: JsonSchema;
    /** A request without a body stands for `{}`. */
    optional?: boolean;
    /** Unknown fields are ignored (chat, embeddings) instead of refused. */
    open?: boolean;
  };
  /**
   * Escape hatch: the request may (or, without `body`, must) be multipart/form-data. Its fields are the body, the file of this form field
   * reaches the resolver beside it. The limit is a number of bytes, or the plan's for knowledge files; `accepts` lists content types.
   */
  upload?: { field: string; limit: number | 'knowledge'; accepts: string };
  /**
   * Escape hatch: the body is one of another dialect than the resolver's. It is read once the caller's scope is known; what it throws is told at
   * step 6 of decisions 1, after windows and plan.
   */
  read?(body: Record<string, unknown>, request: ReadRequest): DialectCall | Promise<DialectCall>;
  /** What the engine knows of the form that the call came in: defaults that the contract has otherwise. */
  dialect?: Dialect;
  /** A path variable that holds a model's name, which may be short where the face takes such. */
  modelVariable?: string;
  /** Escape hatch: what the document answered, rewritten. */
  respond?(body: Record<string, unknown>, request: RespondRequest): RouteAnswer | Promise<RouteAnswer>;
  /**
   * Escape hatch: answers that are not made by executing the document alone. `run`: the mutation starts a run, whose events are streamed;
   * `run-events`: the source events are shown as contract 6.2 has them. `text`: the answer is the texts of the source events, one after the other.
   */
  raw?: 'run' | 'run-events' | 'text';
  /** Of a row that answers with text: its headers, by the parameters. */
  textHeaders?(values: Record<string, unknown>): Record<string, string>;
  /** Content types of further forms of the answer, bytes or text. */
  alsoAnswers?: readonly string[];
  /** Headers of the answer that only this row has. */
  headers?: Record<string, JsonSchema>;
  /** The document reads one row and does nothing else: without a query string it runs while the call's slot is taken. */
  beside?: true;
  /** Name of the answer's schema in the description. */
  schemaName: string;
  /** The answer's schema where `respond` or `read` rewrites the answer: from that of the document, or of the operation's type. */
  describe?(schema: JsonSchema): JsonSchema;
  /** Of an event that `told` writes: its `data`. */
  toldSchema?: JsonSchema;
  /** The answer is never JSON, but of the types of `alsoAnswers`. */
  bytesOnly?: true;
  /** The same of an event's `data`. */
  describeEvent?(schema: JsonSchema): JsonSchema;
}

const MB = 1024 * 1024;

/** Request body limits (decisions 6, "Generations"). */
export const BODY_LIMITS = { edits: 60 * MB, large: 35 * MB, small: MB } as const;
