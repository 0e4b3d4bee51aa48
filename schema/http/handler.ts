import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLError } from 'graphql';
import { getOperationAST } from 'graphql';
import { ApiError } from '../../src/errors.js';
import type { HttpAnswer, IdempotentRequest, Progress } from '../../src/http/index.js';
import {
  discardBody,
  errorHeaders,
  eventStreamWish,
  parseJson,
  rateFor,
  readJsonBody,
  sendAnswer,
  sendOnce,
  setRate,
  visibleError,
} from '../../src/http/index.js';
import { sortedJson } from '../../src/json.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { Prepared } from '../documents/index.js';
import { errorExtensions, presentError } from '../errors.js';
import { createApollo } from './apollo.js';
import type { Apollo } from './apollo.js';
import type { GraphqlHandlerOptions } from './handler.types.js';
import { isStrict, mediaTypeOf } from './media-type.js';
import type { GraphqlRequest, RequestSource } from './request.js';
import { paramOf, parseRequest } from './request.js';
import { executeSerially, rootNames } from './serial-mutation.js';
import type { DoneFields, SerialMutation } from './serial-mutation.js';

/** Request bodies of /graphql (decisions.md 6): files may come in them as base64. */
const BODY_LIMIT_BYTES = 60 * 1024 * 1024;

export interface GraphqlHandler {
  /** Serves GET and POST /graphql. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** GraphQL over HTTP: decisions.md 1 and 8. The caller is known before a byte of the body is read. */
export async function createGraphqlHandler(options: GraphqlHandlerOptions): Promise<GraphqlHandler> {
  const apollo = await createApollo(options);
  const { edge } = options;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let call: CallContext | null = null;
    try {
      call = await edge.open(request, response, 'sessions');
      await serve(request, response, call);
    } catch (fault) {
      const error = visibleError(edge, fault, call?.requestId ?? '');
      setRate(response, await rateFor(edge, call, fault));
      discardBody(request);
      sendAnswer(response, refusal(error, mediaTypeOf(request.headers.accept)));
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse, call: CallContext): Promise<void> {
    const source = await read(request);
    await edge.takeSlot(call);
    const graphql = parseRequest(source);
    const prepared = options.documents.prepare(graphql);
    const kind = operationOf(prepared, graphql)?.operation;
    const work = { request, call, graphql, prepared };
    const key = request.headers['idempotency-key'];
    if (kind === 'mutation' && request.method === 'POST' && key !== undefined) {
      const keyed = { call, key: String(key), ...identityOf(graphql), singleEffect: false, sharesKey: true };
      const answer = (progress: Progress) => run({ ...work, progress });
      return sendOnce({ edge, response, request: keyed, answer });
    }
    // A client that accepts event streams beside JSON means its subscriptions.
    if (kind === 'subscription' && eventStreamWish(request.headers.accept) === 'accepted')
      return options.stream({ request: graphql, response, call });
    const given = await run({ ...work, progress: undefined });
    setRate(response, await rateFor(edge, call));
    sendAnswer(response, given);
  }

  async function run(work: Work): Promise<HttpAnswer> {
    const mediaType = mediaTypeOf(work.request.headers.accept);
    try {
      return await execute(apollo, work, mediaType);
    } catch (fault) {
      return refusal(visibleError(edge, fault, work.call.requestId), mediaType);
    }
  }

  return { handle, close: () => apollo.close() };
}

interface Work {
  request: IncomingMessage;
  call: CallContext;
  graphql: GraphqlRequest;
  prepared: Prepared;
  /** With an Idempotency-Key. */
  progress: Progress | undefined;
}

/** @throws ApiError for an operation that is not for here */
async function execute(apollo: Apollo, work: Work, mediaType: string): Promise<HttpAnswer> {
  const { call, graphql, prepared, request, progress } = work;
  if ('errors' in prepared) return presentRefused(prepared.errors, mediaType);
  const { document } = prepared;
  const operation = operationOf(prepared, graphql);
  if (request.method === 'GET' && operation?.operation === 'mutation') throw methodNotAllowed('POST');
  if (operation?.operation === 'subscription')
    throw new ApiError('invalid_request', 'Subscriptions need WebSocket or Accept: text/event-stream');
  const headers: Record<string, string> = { ...progress?.done?.headers };
  const onJob = (id: string): void => void (headers['x-job-id'] ??= id);
  const run = (query: string) => apollo.execute({ call, mediaType, graphql: { ...graphql, query }, onJob });
  const steps = progress && stepsOf(progress, headers);
  const serial = steps && operation?.operation === 'mutation' && { document, operation, ...steps };
  const answer =
    serial && rootNames(serial).length > 1
      ? await executeSerially({ ...graphql, ...serial, execute: run })
      : await run(graphql.query);
  const part = answer.part && { ...answer.part, headers };
  return { ...answer, headers: { ...answer.headers, ...headers }, ...(part ? { part } : {}) };
}

/** Where a request's parts stand. @throws ApiError for a body that cannot be read, or another method */
async function read(request: IncomingMessage): Promise<RequestSource> {
  const { method = 'GET', url = '/' } = request;
  if (method === 'POST') return { json: parseJson(await readJsonBody(request, BODY_LIMIT_BYTES), paramOf) };
  if (method !== 'GET') throw methodNotAllowed('GET, POST');
  return { query: url.includes('?') ? url.slice(url.indexOf('?') + 1) : '' };
}

/** None of a document that is refused. */
function operationOf(prepared: Prepared, { operationName }: GraphqlRequest) {
  return 'errors' in prepared ? null : getOperationAST(prepared.document, operationName ?? null);
}

/** What makes two mutations the same call: the document, its operation and its variables, however a client or router writes them down. */
function identityOf({
  query,
  operationName,
  variables,
}: GraphqlRequest): Pick<IdempotentRequest, 'method' | 'path' | 'query' | 'body'> {
  const parts = { query, operationName: operationName ?? null, variables: variables ?? {} };
  return { method: 'POST', path: '/graphql', query: '', body: Buffer.from(sortedJson(parts)) };
}

/** @param headers of the whole answer: they go with what is done of it */
function stepsOf(
  { done, note }: Progress,
  headers: Record<string, string>,
): Pick<SerialMutation, 'done' | 'note'> {
  return {
    done: done && (JSON.parse(done.body.toString()) as DoneFields),
    note: (part) => note({ ...part, headers }),
  };
}

function methodNotAllowed(allow: string): ApiError {
  return new ApiError('method_not_allowed', 'Method not allowed', { headers: { allow } });
}

/** A refusal of the whole request: its status, whatever the client accepts (decisions.md 8), in the media type that it accepts. */
function refusal(error: ApiError, mediaType: string): HttpAnswer {
  const errors = [{ message: error.message, extensions: errorExtensions(error) }];
  return {
    status: error.status,
    headers: { 'content-type': mediaType, ...errorHeaders(error) },
    body: JSON.stringify({ errors }),
    errorStatuses: [error.status],
  };
}

/** Parse and validation errors follow the GraphQL-over-HTTP draft: 200 in application/json. Limits are 400 always. */
function presentRefused(errors: readonly GraphQLError[], mediaType: string): HttpAnswer {
  const strict = isStrict(mediaType);
  const refused = errors.some((error) => error.extensions['refused'] === true);
  return {
    status: refused || strict ? 400 : 200,
    headers: { 'content-type': mediaType },
    body: JSON.stringify({ errors: errors.map((error) => presentError(error)) }),
    errorStatuses: [400],
  };
}
