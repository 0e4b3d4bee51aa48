import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GraphQLError } from 'graphql';
import { getOperationAST } from 'graphql';
import { ApiError } from '../../src/contract/errors.js';
import type { HttpAnswer, HttpEdge, Progress, RequestBody } from '../../src/http/index.js';
import {
  discardBody,
  errorHeaders,
  etagOf,
  eventStreamPreference,
  isKnown,
  rateFor,
  sendAnswer,
  sendOnce,
  setRate,
  visibleError,
} from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import { readJson } from '../../src/text/read-json.js';
import type { Prepared } from '../documents/index.js';
import { errorExtensions, presentError } from '../errors.js';
import { createApollo } from './apollo.js';
import type { Apollo } from './apollo.js';
import type { GraphqlHandlerOptions } from './handler.types.js';
import { isStrict, mediaTypeOf } from './media-type.js';
import type { GraphqlRequest, RequestSource } from './request.js';
import { paramOf, parseRequest } from './request.js';
import { sameCallOf } from './same-call.js';
import { executeSerially, rootNames } from './serial-mutation.js';
import type { DoneFields, SerialMutation } from './serial-mutation.js';

/** Request bodies of /graphql (decisions 6): they may contain files as base64. */
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
  const trusted = options.services.trustedDocuments;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let call: CallContext | null = null;
    let body: RequestBody | null = null;
    try {
      call = await edge.open(request, response, { from: 'sessions' });
      body = edge.body(request, call);
      // Only what the stream needs is kept of the request, because the stream may stay open for days.
      const streamed = await serve({ request, response, call, body });
      if (streamed)
        await options.stream({ request: streamed, response, call, byteReservation: body.byteReservation });
    } catch (fault) {
      await refuse(edge, { request, response, call }, fault);
    } finally {
      body?.release();
    }
  }

  /** Answers, or returns the operation to stream. */
  async function serve({ request, response, call, body }: Incoming): Promise<GraphqlRequest | null> {
    const source = await read(request, body);
    const streamed = await streamedOf(options, { request, call }, source);
    if (streamed !== null) return streamed;
    await edge.takeSlot(call);
    const { name, ...graphql } = await trusted.resolve(parseRequest(source), call.principal);
    const prepared = options.documents.prepare(graphql);
    const work = { request, call, graphql, prepared };
    const key = request.headers['idempotency-key'];
    const isMutation = operationOf(prepared, graphql)?.operation === 'mutation';
    if (isMutation && request.method === 'POST' && key !== undefined) {
      const keyed = {
        call,
        key: String(key),
        ...(await sameCallOf(graphql)),
        singleEffect: false,
        sharesKey: true,
      };
      const answer = (progress: Progress) => run({ ...work, progress });
      await sendOnce({ edge, response, request: keyed, answer });
      return null;
    }
    const answer = await run({ ...work, progress: undefined });
    await sendRated(edge, { response, call }, name === undefined ? answer : tagged(request, answer));
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
  const mediaType = mediaTypeOf(work.request.headers.accept);
  try {
    return await execute(apollo, { ...work, timeSlicer: options.edge.timeSlicer }, mediaType);
  } catch (fault) {
    return refusal(visibleError(options.edge, fault, work.call.requestId), mediaType);
  }
}

/** @throws ApiError for an operation that is not allowed here */
async function execute(
  apollo: Apollo,
  work: Work & Pick<HttpEdge, 'timeSlicer'>,
  mediaType: string,
): Promise<HttpAnswer> {
  const { call, graphql, prepared, request, progress, timeSlicer } = work;
  if ('errors' in prepared) return presentRefused(prepared.errors, mediaType);
  const { document } = prepared;
  const operation = operationOf(prepared, graphql);
  if (request.method === 'GET' && operation?.operation === 'mutation') throw methodNotAllowed('POST');
  if (operation?.operation === 'subscription') throw streamNeeded();
  const headers: Record<string, string> = { ...progress?.done?.headers };
  const onJob = (id: string): void => void (headers['x-job-id'] ??= id);
  const run = (query: string, structured = false) =>
    apollo.execute({ call, mediaType, graphql: { ...graphql, query }, onJob, structured });
  const steps = progress && (await stepsOf(progress, { headers, timeSlicer }));
  const serial = steps && operation?.operation === 'mutation' && { document, operation, ...steps };
  const answer =
    serial && rootNames(serial).length > 1
      ? await executeSerially({
          ...graphql,
          ...serial,
          timeSlicer,
          execute: run,
          presentFault: (fault) => apollo.presentFault(fault),
        })
      : await run(graphql.query);
  const part = answer.part && { ...answer.part, headers };
  return { ...answer, headers: { ...answer.headers, ...headers }, ...(part ? { part } : {}) };
}

/** Null for a document that is refused. */
function operationOf(prepared: Prepared, { operationName }: GraphqlRequest) {
  return 'errors' in prepared ? null : getOperationAST(prepared.document, operationName ?? null);
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
  sendAnswer(response, refusal(error, mediaTypeOf(request.headers.accept)));
}

interface Incoming {
  request: IncomingMessage;
  response: ServerResponse;
  call: CallContext;
  body: RequestBody;
}

interface Work {
  request: IncomingMessage;
  call: CallContext;
  graphql: GraphqlRequest;
  prepared: Prepared;
  /** Set with an Idempotency-Key. */
  progress: Progress | undefined;
}

/** Reads a request's parts. @throws ApiError for a body that cannot be read, or another method */
async function read(request: IncomingMessage, body: RequestBody): Promise<RequestSource> {
  const { method = 'GET', url = '/' } = request;
  if (method === 'GET') return { query: url.includes('?') ? url.slice(url.indexOf('?') + 1) : '' };
  if (method !== 'POST') throw methodNotAllowed('GET, POST');
  return { json: await body.parseJson(BODY_LIMIT_BYTES, paramOf) };
}

/** The headers of a trusted document's answer: a browser may cache the answer and revalidate it. */
function tagged(request: IncomingMessage, answer: HttpAnswer): HttpAnswer {
  if (answer.status !== 200) return answer;
  const etag = etagOf(answer.body);
  const headers = { ...answer.headers, 'cache-control': 'private', etag };
  if (request.method === 'GET' && isKnown(request, etag))
    return { ...answer, status: 304, headers, body: '' };
  return { ...answer, headers };
}

/** A subscription of a client that accepts event streams as well as JSON. Its slot is not taken yet, because it may belong to another window. */
async function streamedOf(
  { documents, services }: GraphqlHandlerOptions,
  { request, call }: Pick<Incoming, 'request' | 'call'>,
  source: RequestSource,
): Promise<GraphqlRequest | null> {
  if (eventStreamPreference(request.headers.accept) !== 'accepted') return null;
  const parsed = parsedOrNull(source);
  const graphql =
    parsed && (await services.trustedDocuments.resolve(parsed, call.principal).catch(() => null));
  const prepared = graphql && documents.prepare(graphql);
  if (prepared === null || 'errors' in prepared) return null;
  const { query, operationName, variables } = graphql as GraphqlRequest;
  const operation = getOperationAST(prepared.document, operationName ?? null);
  return operation?.operation === 'subscription' ? { query, operationName, variables } : null;
}

/** Null if it is refused after its slot was taken. */
function parsedOrNull(source: RequestSource): GraphqlRequest | null {
  try {
    return parseRequest(source);
  } catch {
    return null;
  }
}

/** @param headers of the whole answer, which a partial answer gets too */
async function stepsOf(
  { done, note }: Progress,
  { headers, timeSlicer }: { headers: Record<string, string>; timeSlicer: HttpEdge['timeSlicer'] },
): Promise<Pick<SerialMutation, 'done' | 'note'>> {
  return {
    done: done && ((await readJson(done.body, timeSlicer)) as DoneFields),
    note: (part) => note({ ...part, headers }),
  };
}

function methodNotAllowed(allow: string): ApiError {
  return new ApiError('method_not_allowed', 'Method not allowed', { headers: { allow } });
}

/** A refusal of the whole request: its status, whatever the client accepts (decisions 8), in the media type that it accepts. */
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
