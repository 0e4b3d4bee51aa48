import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLError } from 'graphql';
import { getOperationAST } from 'graphql';
import { ApiError } from '../../src/errors.js';
import type { HttpAnswer, HttpEdge, Progress, RequestBody } from '../../src/http/index.js';
import {
  discardBody,
  errorHeaders,
  eventStreamWish,
  rateFor,
  sendAnswer,
  sendOnce,
  setRate,
  visibleError,
} from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import { errorExtensions, presentError } from '../errors.js';
import { createApollo } from './apollo.js';
import type { Apollo } from './apollo.js';
import type { GraphqlHandlerOptions } from './handler.types.js';
import { isStrict, mediaTypeOf } from './media-type.js';
import type { GraphqlRequest, RequestSource } from './request.js';
import { paramOf, parseRequest } from './request.js';
import { executeSerially, rootNames } from './serial-mutation.js';
import type { DoneFields, SerialMutation } from './serial-mutation.js';

/** Request bodies of /graphql (decisions 6): files may come in them as base64. */
const BODY_LIMIT_BYTES = 60 * 1024 * 1024;

export interface GraphqlHandler {
  /** Serves GET and POST /graphql. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** GraphQL over HTTP: decisions 1 and 8. The caller is known before a byte of the body is read. */
export async function createGraphqlHandler(options: GraphqlHandlerOptions): Promise<GraphqlHandler> {
  const apollo = await createApollo(options);
  const { edge } = options;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let call: CallContext | null = null;
    let body: RequestBody | null = null;
    try {
      call = await edge.open(request, response, 'sessions');
      body = edge.body(request, call);
      // What is streamed is all that is kept of the request: the stream may stay open for days.
      const streamed = await serve({ request, response, call, body });
      if (streamed) await options.stream({ request: streamed, response, call, holding: body.holding });
    } catch (fault) {
      await refuse(edge, { request, response, call }, fault);
    } finally {
      body?.release();
    }
  }

  /** Answers, or tells what is to be streamed. */
  async function serve({ request, response, call, body }: Incoming): Promise<GraphqlRequest | null> {
    const { method, query, fingerprint, source } = await read(request, body);
    const answer = (progress: Progress) => run({ request, call, graphql: parseRequest(source), progress });
    const key = request.headers['idempotency-key'];
    if (fingerprint && key !== undefined) {
      const identity = { call, key: String(key), method, path: '/graphql', query };
      await sendOnce({
        edge,
        response,
        request: { ...identity, body: fingerprint, singleEffect: false },
        answer,
      });
      return null;
    }
    const streamed = streamedOf(options, request, source);
    if (streamed !== null) return streamed;
    await edge.takeSlot(call);
    const graphql = parseRequest(source);
    const given = await run({ request, call, graphql, progress: undefined });
    await sendRated(edge, { response, call }, given);
    return null;
  }

  const run = (work: Work): Promise<HttpAnswer> => runWork({ options, apollo }, work);

  return { handle, close: () => apollo.close() };
}

interface Means {
  options: GraphqlHandlerOptions;
  apollo: Apollo;
}

async function runWork({ options, apollo }: Means, work: Work): Promise<HttpAnswer> {
  try {
    const { graphql, request, progress } = work;
    const prepared = options.documents.prepare(graphql);
    const mediaType = mediaTypeOf(request.headers.accept);
    if ('errors' in prepared) return presentRefused(prepared.errors, mediaType);
    const operation = getOperationAST(prepared.document, graphql.operationName ?? null);
    if (request.method === 'GET' && operation?.operation === 'mutation') throw methodNotAllowed('POST');
    if (operation?.operation === 'subscription') throw streamNeeded();
    const headers: Record<string, string> = { ...progress?.done?.headers };
    const onJob = (id: string): void => void (headers['x-job-id'] ??= id);
    const execute = (query: string) =>
      apollo.execute({ call: work.call, mediaType, graphql: { ...graphql, query }, onJob });
    const { document } = prepared;
    const steps = progress && stepsOf(progress, headers);
    const serial = steps && operation?.operation === 'mutation' && { document, operation, ...steps };
    const answer =
      serial && rootNames(serial).length > 1
        ? await executeSerially({ ...graphql, ...serial, execute })
        : await execute(graphql.query);
    const part = answer.part && { ...answer.part, headers };
    return { ...answer, headers: { ...answer.headers, ...headers }, ...(part ? { part } : {}) };
  } catch (fault) {
    return refusal(visibleError(options.edge, fault, work.call.requestId));
  }
}

const streamNeeded = () =>
  new ApiError('invalid_request', 'Subscriptions need WebSocket or Accept: text/event-stream');

async function sendRated(
  edge: HttpEdge,
  { response, call }: Pick<Incoming, 'response' | 'call'>,
  answer: HttpAnswer,
): Promise<void> {
  setRate(response, await rateFor(edge, call));
  sendAnswer(response, answer);
}

async function refuse(
  edge: HttpEdge,
  { request, response, call }: Omit<Incoming, 'call' | 'body'> & { call: CallContext | null },
  fault: unknown,
): Promise<void> {
  const error = visibleError(edge, fault, call?.requestId ?? '');
  setRate(response, await rateFor(edge, call, fault));
  discardBody(request);
  sendAnswer(response, refusal(error));
}

interface Incoming {
  request: IncomingMessage;
  response: ServerResponse;
  call: CallContext;
  body: RequestBody;
}

interface Read {
  method: string;
  /** Without its `?`. */
  query: string;
  /** Of a POST with an Idempotency-Key: what its body has in common with its retries only. */
  fingerprint: Buffer | null;
  source: RequestSource;
}

interface Work {
  request: IncomingMessage;
  call: CallContext;
  graphql: GraphqlRequest;
  /** With an Idempotency-Key. */
  progress: Progress | undefined;
}

/** What a request brings. @throws ApiError for a body that cannot be read, or another method */
async function read(request: IncomingMessage, body: RequestBody): Promise<Read> {
  const { method = 'GET', url = '/' } = request;
  if (method !== 'GET' && method !== 'POST') throw methodNotAllowed('GET, POST');
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  if (method === 'GET') return { method, query, fingerprint: null, source: { query } };
  const bytes = await body.readJson(BODY_LIMIT_BYTES);
  const json = await body.parse(bytes, paramOf);
  const isKeyed = request.headers['idempotency-key'] !== undefined;
  return { method, query, fingerprint: isKeyed ? await body.fingerprint(bytes) : null, source: { json } };
}

/** A subscription of a client that accepts event streams beside JSON. Its slot is not taken: it may be one of another window. */
function streamedOf(
  { documents }: GraphqlHandlerOptions,
  request: IncomingMessage,
  source: RequestSource,
): GraphqlRequest | null {
  if (eventStreamWish(request.headers.accept) !== 'accepted') return null;
  const graphql = parsedOrNull(source);
  const prepared = graphql && documents.prepare(graphql);
  if (prepared === null || 'errors' in prepared) return null;
  const { query, operationName, variables } = graphql as GraphqlRequest;
  const operation = getOperationAST(prepared.document, operationName ?? null);
  return operation?.operation === 'subscription' ? { query, operationName, variables } : null;
}

/** Null: it is refused after its slot was taken. */
function parsedOrNull(source: RequestSource): GraphqlRequest | null {
  try {
    return parseRequest(source);
  } catch {
    return null;
  }
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

/** A refusal of the whole request: its status, whatever the client accepts (decisions 8). */
function refusal(error: ApiError): HttpAnswer {
  const errors = [{ message: error.message, extensions: errorExtensions(error) }];
  return {
    status: error.status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...errorHeaders(error) },
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
