import type { Dialect } from '../../src/contract/words.js';
import type { ApiError } from '../../src/contract/errors.js';
import type { LiveOptions } from '../../src/contract/live.js';
import type { UploadedFile } from '../../src/http/index.js';
import type { Convention } from './convention.types.js';

/** A JSON Schema (draft 2020-12, as in OpenAPI 3.1). */
export type JsonSchema = { [keyword: string]: unknown };

/** JSON Schema keywords that a parameter's GraphQL type does not express. */
export interface ParameterHint {
  description: string;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  maxItems?: number;
  enum?: readonly string[];
  example?: string | number | boolean;
  /** For lists: whether commas separate values. Default true. */
  commas?: false;
}

/** The answer of a row, which an escape hatch may rewrite. */
export interface RouteAnswer {
  /** Sent as JSON. Bytes are sent unchanged, with the content type in `headers`. */
  body: unknown;
  headers?: Record<string, string>;
}

/** The data that an escape hatch can use, in addition to the document's answer. */
export interface RespondRequest {
  accept: string | undefined;
  /** The bytes of a file of the caller's organisation by its signed URL. */
  readFile(url: string): Promise<Buffer>;
  /** The body's fields. */
  requestFields: Record<string, unknown>;
  /** Whether the body is multipart/form-data. */
  isForm: boolean;
  /** The convention of the answer, if a row belongs to two conventions. */
  convention: Convention['name'];
  /** The query string without `?`. */
  query: string;
}

/** The data that a row's `read` can use, in addition to the body. */
export interface ReadRequest {
  convention: Convention['name'];
  requestId: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The file of a form. */
  upload: UploadedFile | undefined;
  /** The query string without `?`. */
  query: string;
}

/**
 * Turns the source events of a `streamOperation` (JSON texts) into the events of a dialect, one object for each stream. Each method
 * returns whole events with their blank lines, or '' for nothing.
 */
export interface EventWriter {
  event(source: string): string;
  /** The end of a successful stream. */
  ending(): string;
  /** The end of a failed stream. */
  fault(error: ApiError): string;
}

/** The parts that the code which writes an answer can use. */
export interface AnswerContext {
  /** The bytes of a file of the caller's organisation by its signed URL. */
  readFile(url: string): Promise<Buffer>;
  /** The value of an answer's JSON text, which may be long. */
  readJson(text: string): Promise<unknown>;
}

/** Writes the parts of a job's result and then the whole answer; one object for each call. */
export interface LiveForm<Piece> {
  /** The parts to read before the whole answer. */
  liveOptions: LiveOptions;
  /** Writes a part: whole events with their blank lines, or an empty text. */
  part(bytes: Buffer): Piece;
  /** Writes the end after the parts, or the complete answer if there were no parts. */
  rest(answer: unknown, carried: AnswerContext): AsyncIterable<Piece>;
}

/** A body of another dialect in the resolver's form, and the functions that write its answer. */
export interface DialectCall {
  /** The value of the variable `input`. */
  input: Record<string, unknown>;
  streams: boolean;
  /** Writes the whole answer from the document's answer, or from the engine's JSON text. Absent: that text is sent as it is. */
  whole?(answer: unknown, carried: AnswerContext): RouteAnswer | Promise<RouteAnswer>;
  /** The events of the answer, for a row without a streaming subscription. */
  answerEvents?(): LiveForm<string>;
  /** An answer of streamed bytes, and their content type. A retry with the key gets all bytes at once. */
  flow?(): { form: LiveForm<Buffer>; type: string };
  /** Absent: the source events as `data:` lines, and `data: [DONE]`. */
  events?(): EventWriter;
}

/**
 * Operations whose answers the engine writes as JSON texts in the contract's spelling. A document would have to parse the text and write it again.
 */
export type WrittenOperation = 'createChatCompletion' | 'createResponse' | 'createModelMessage';

/** One row of the table: a REST endpoint as a stored GraphQL document, or as an operation whose answer the engine writes. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path below the base path, with `{name}` for a segment. The last may be `{name+}`: the rest of the path, including slashes. */
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
  /** Escape hatch: the mutation that the row calls. Its guard is the row's guard, and its type describes the answer. */
  operation?: WrittenOperation;
  /** The subscription that streams the same call (`stream: true`). Its source events are JSON texts, and are written unchanged. */
  streamOperation?: string;
  /**
   * Escape hatch: the arguments of `streamOperation` if the row has no body, from the path's values and the query string. @throws ApiError
   */
  streamArguments?(values: Record<string, unknown>, query: string): Record<string, unknown>;
  /** Writes the source events of a stream, unless `read` returns another writer. */
  events?(): EventWriter;
  /** By REST name: path and query parameters. */
  parameters?: Record<string, ParameterHint>;
  /** Whether it may answer 404 although its path has no variable: for something that its body names, or for work that no provider does. */
  mayNotFind?: true;
  /** For paths whose segments are not single variables. */
  pathVariables?(segments: Record<string, string>): Record<string, unknown>;
  /**
   * The request's JSON body. The resolver gets it unchanged as the variable `input`, and checks it, because the plan is checked before the
   * fields (decisions 1).
   */
  body?: {
    limitBytes: number;
    example: Record<string, unknown>;
    /** The schema of a body that `read` converts; it replaces the input type's schema. */
    schema?: JsonSchema;
    /** Fields besides those of the input type. */
    extra?: Record<string, JsonSchema>;
    /** JSON Schema keywords of the whole body, for rules between fields. */
    rules?: JsonSchema;
    /** A request without a body means `{}`. */
    optional?: boolean;
    /** Unknown fields are ignored (chat, embeddings) instead of refused. */
    open?: boolean;
  };
  /**
   * Escape hatch: the request may (or, without `body`, must) be multipart/form-data. Its fields are the body; the resolver also gets the
   * file of this form field. The limit is a number of bytes, or the plan's for knowledge files; `accepts` lists content types.
   */
  upload?: {
    field: string;
    limit: number | 'knowledge';
    accepts: string;
    /** Fields of the JSON body that a form does not have, because the file is in their place. */
    replaces?: readonly string[];
  };
  /**
   * Escape hatch: the body has another dialect than the resolver's. It is read when the caller's scope is known. Its errors are thrown at step 6
   * of decisions 1, after windows and plan.
   */
  read?(body: Record<string, unknown>, request: ReadRequest): DialectCall | Promise<DialectCall>;
  /** The dialect of the call for the engine, which decides defaults that differ from the contract's. */
  dialect?: Dialect;
  /** A path variable with a model's name, which may be a short name if the base path allows it. */
  modelVariable?: string;
  /** Escape hatch: rewrites the document's answer. */
  respond?(body: Record<string, unknown>, request: RespondRequest): RouteAnswer | Promise<RouteAnswer>;
  /**
   * Escape hatch: answers that need more than the document. `run`: the mutation starts a run, whose events are streamed. `run-events`: the source
   * events have the form of contract 6.2. `text`: the answer is the texts of the source events, one after the other.
   */
  raw?: 'run' | 'run-events' | 'text';
  /** For a row that answers with text: its headers, from the parameters. */
  textHeaders?(values: Record<string, unknown>): Record<string, string>;
  /** Content types of further forms of the answer, bytes or text. */
  alsoAnswers?: readonly string[];
  /** Headers of the answer that only this row has. */
  headers?: Record<string, JsonSchema>;
  /** The document reads one row and does nothing else: without a query string it runs while the call's slot is taken. */
  readsDuringAdmission?: true;
  /** Name of the answer's schema in the description. */
  schemaName: string;
  /** The answer's schema if `respond` or `read` rewrites the answer, from the schema of the document or of the operation's type. */
  describe?(schema: JsonSchema): JsonSchema;
  /** The schema of the `data` of an event that `answerEvents` writes. */
  answerEventSchema?: JsonSchema;
  /** The answer is never JSON; it has one of the types in `alsoAnswers`. */
  bytesOnly?: true;
  /** The same for an event's `data`. */
  describeEvent?(schema: JsonSchema): JsonSchema;
}

const MB = 1024 * 1024;

/** Request body limits (decisions 6, "Generations"). */
export const BODY_LIMITS = { edits: 60 * MB, large: 35 * MB, small: MB } as const;
