import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createDocument,
  discardBody,
  rateFor,
  returnIfRefused,
  sendAnswer,
  sendWithCommonHeaders,
  sendOnce,
  setRate,
  visibleError,
} from '../../src/http/index.js';
import type { RequestBody } from '../../src/http/index.js';
import type { Face } from './convention.types.js';
import { sendLive } from './live-answer.js';
import { mountFaces } from './mount.js';
import type { Endpoint } from './mount.js';
import type { PathValues } from './path-table.js';
import { nameSource, readDialect, readRequest, splitUrl } from './request.js';
import { answerOf, answerOrRefuse, errorAnswer, JSON_HEADERS } from './respond.js';
import type { Call, RouteMatch, MountedFace, RestOptions, RestRequest } from './rest.types.js';
import type { Route } from './route.types.js';
import { streamText } from './text-stream.js';
import { streamNewRun, streamRun } from './run-stream.js';
import { isStreaming, streamChat, streamOperation } from './streams.js';

/** The only document below a base path that needs no key. */
const OPENAPI_PATH = '/openapi.json';

/** Answers a request of its path and method. Never rejects. */
export type RestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  values: PathValues,
) => Promise<void> | void;

/** A path below the base path, in Express's form (`/jobs/:jobId`). */
export interface RestPath {
  pattern: string;
  methods: ReadonlyMap<Route['method'], RestHandler>;
  /** The handler of all other methods. */
  others: RestHandler;
}

/** A REST API for the router: if two paths match, the earlier one is used. */
export interface RestTable {
  paths: readonly RestPath[];
  /** The handler of all other paths. */
  unknown: RestHandler;
}

/**
 * One table for each base path.
 * @throws Error if a stored document no longer fits the schema
 */
export function createRestTables(
  options: RestOptions,
  faces: readonly Face[],
): ReadonlyMap<string, RestTable> {
  return new Map(mountFaces(options, faces).map((face) => [face.path, createTable(options, face)]));
}

function createTable(options: RestOptions, face: MountedFace): RestTable {
  const reach =
    (matched: RouteMatch): RestHandler =>
    (request, response) =>
      handle(options, face, { request, response, matched });
  const paths = face.paths.map(({ pattern, targets, allow }): RestPath => {
    const handlers = [...targets].map(([method, target]): [Route['method'], RestHandler] => [
      method,
      (request, response, values) =>
        handle(options, face, { request, response, matched: { target, values } }),
    ]);
    return { pattern, methods: new Map(handlers), others: reach({ allow }) };
  });
  const description: RestPath = {
    pattern: OPENAPI_PATH,
    methods: new Map([['GET', createDescription(options, face)]]),
    others: reach({ allow: 'GET, HEAD' }),
  };
  return { paths: [description, ...paths], unknown: reach(null) };
}

/** Needs no API key. */
function createDescription({ edge }: RestOptions, face: MountedFace): RestHandler {
  const send = createDocument(face.openapi, JSON_HEADERS);
  return (request, response) => {
    const headers = face.conventionOf(request, OPENAPI_PATH).headers?.(edge.requestId(request));
    for (const name in headers) response.setHeader(name, headers[name] ?? '');
    edge.addCommonHeaders(response);
    setRate(response, edge.addressRate(request));
    return send(request, response);
  };
}

/** The state of a request while it is handled. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  matched: RouteMatch;
}

async function handle(
  options: RestOptions,
  face: MountedFace,
  { request, response, matched }: Exchange,
): Promise<void> {
  const { edge } = options;
  const { path, query } = splitUrl(request.url ?? '/', face.path);
  const convention = face.conventionOf(request, path);
  const requestId = edge.requestId(request);
  const headers = convention.headers?.(requestId);
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
  let call: Call | null = null;
  let rest: RestRequest | null = null;
  let incoming: RequestBody | null = null;
  try {
    const accepts = { from: convention.readKey, isEventStream: isEventStream(matched, query) };
    const opened = edge.open(request, response, accepts);
    call = opened instanceof Promise ? await opened : opened;
    incoming = edge.body(request, call, convention.bodies);
    rest = await readRequest(options, { request, call, face, convention, matched, path, query, incoming });
    await serve(options, rest, response);
  } catch (cause) {
    const fault = rest === null ? cause : nameSource(cause, rest);
    const error = visibleError(edge, fault, requestId);
    if (call !== null) await returnIfRefused(edge, call, error.status);
    discardBody(request);
    if (response.headersSent) response.destroy();
    else {
      edge.addCommonHeaders(response);
      // Without the database the key's window is unknown, so the address's window is reported.
      setRate(response, (await rateFor(edge, call, fault)) ?? edge.addressRate(request));
      sendAnswer(response, errorAnswer(error, convention, requestId));
    }
  } finally {
    incoming?.release();
    if (rest?.release) await rest.release();
  }
}

/** Whether a GET row answers with events: always, or because the query requests it. */
function isEventStream(matched: RouteMatch, query: string): boolean {
  if (matched === null || !('target' in matched) || matched.target.route.method !== 'GET') return false;
  const { route, operation, stream } = matched.target;
  if (operation.kind === 'subscription' || route.raw === 'run-events') return true;
  return stream !== null && new URLSearchParams(query).get('stream') === 'true';
}

/** Steps 3 to 8 of decisions 1. @throws ApiError before the first byte of the answer */
async function serve(options: RestOptions, rest: RestRequest, response: ServerResponse): Promise<void> {
  const { call, face, endpoint, path, query, fingerprint, idempotencyKey: key } = rest;
  const { edge } = options;
  const passing = options.guard(endpoint.operation.field, rest.context);
  const early = passing && isReadBeside(rest) ? answerOf(options, rest) : null;
  early?.catch(() => undefined);
  if (passing) await passing;
  if (rest.fault !== null) {
    await options.takeSlots(endpoint.operation.field, rest);
    throw rest.fault;
  }
  const { method, read, dialect } = endpoint.route;
  if (dialect !== undefined) call.dialect = dialect;
  if (read) await readDialect(options, rest);
  const routed = face.keyPrefix + path;
  const idempotent =
    method === 'POST' && fingerprint && key !== undefined
      ? { call, key, method, path: routed, query, body: fingerprint, singleEffect: true }
      : null;
  const requested = isStreaming(options, rest);
  const streams = typeof requested === 'boolean' ? requested : await requested;
  const flow = streams || idempotent ? undefined : rest.dialectCall?.flow?.();
  if (flow) return await sendLive({ options, rest, response }, flow);
  if (!streams && !idempotent && isWhole(endpoint)) {
    const answer = await (early ?? answerOf(options, rest));
    const rate = call.rate ?? (await rateFor(edge, call));
    return sendWithCommonHeaders(response, { requestId: call.requestId, rate }, answer);
  }
  edge.addCommonHeaders(response);
  if (streams) {
    // A stream that follows work without a reader counts as an open stream.
    const leave = endpoint.route.streamArguments ? options.holdStream(call) : () => undefined;
    try {
      return await streamChat({ options, rest, response, idempotent });
    } finally {
      leave();
    }
  }
  if (idempotent && endpoint.route.raw !== 'run')
    return sendOnce({ edge, response, request: idempotent, answer: () => answerOrRefuse(options, rest) });
  const leave = options.holdStream(call);
  try {
    if (endpoint.route.raw === 'run') await streamNewRun({ options, rest, response, idempotent });
    else if (endpoint.route.raw === 'run-events') await streamRun({ options, rest, response });
    else if (endpoint.route.raw === 'text') await streamText({ options, rest, response });
    else await streamOperation({ options, rest, response });
  } finally {
    leave();
  }
}

/**
 * Reads a table's row while the call's slot is taken, so one round trip to PostgreSQL instead of two. If the slot is refused, the row is
 * discarded.
 */
function isReadBeside({ endpoint, query, fault }: RestRequest): boolean {
  return endpoint.route.readsDuringAdmission === true && query === '' && fault === null;
}

/** A whole answer, unless the caller asks for a stream. */
function isWhole({ route, operation }: Endpoint): boolean {
  if (route.raw === 'run' || route.raw === 'run-events') return false;
  return operation.kind !== 'subscription';
}
