import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  discardBody,
  rateFor,
  returnIfRefused,
  sendAnswer,
  sendDressed,
  sendOnce,
  setRate,
  visibleError,
} from '../../src/http/index.js';
import type { RequestBody } from '../../src/http/index.js';
import type { Face } from './convention.types.js';
import { mountFaces } from './mount.js';
import type { Endpoint } from './mount.js';
import { nameSource, readDialect, readRequest, refuseMethod, splitUrl } from './request.js';
import { answerOf, answerOrRefuse, errorAnswer, JSON_HEADERS } from './respond.js';
import type { Call, MountedFace, RestOptions, RestRequest } from './rest.types.js';
import { streamNewRun, streamRun } from './run-stream.js';
import { isStreaming, streamChat, streamOperation } from './streams.js';

/** The one public document below a face's path. */
const OPENAPI_PATH = '/openapi.json';

/** Serves the addresses of the REST API on plain node:http. Never rejects. */
export type RestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * One handler for each face, by its path.
 * @throws Error where a stored document no longer fits the schema
 */
export function createRestHandlers(
  options: RestOptions,
  faces: readonly Face[],
): ReadonlyMap<string, RestHandler> {
  const mounted = mountFaces(options, faces);
  return new Map(mounted.map((face) => [face.path, (...exchange) => handle(options, face, exchange)]));
}

async function handle(
  options: RestOptions,
  face: MountedFace,
  [request, response]: Parameters<RestHandler>,
): Promise<void> {
  const { edge } = options;
  const { path, query } = splitUrl(request.url ?? '/', face.path);
  const convention = face.conventionOf(request, path);
  const requestId = edge.requestId(request);
  const headers = convention.headers?.(requestId);
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
  if (path === OPENAPI_PATH && (request.method === 'GET' || request.method === 'HEAD')) {
    edge.dress(response);
    setRate(response, edge.strangerRate(request));
    return sendAnswer(response, { status: 200, headers: JSON_HEADERS, body: face.openapi });
  }
  let call: Call | null = null;
  let rest: RestRequest | null = null;
  let incoming: RequestBody | null = null;
  try {
    const opened = edge.open(request, response, convention.readKey);
    call = opened instanceof Promise ? await opened : opened;
    if (path === OPENAPI_PATH) await refuseMethod(options, call, 'GET, HEAD');
    incoming = edge.body(request, call, convention.bodies);
    rest = await readRequest(options, { request, call, face, convention, path, query, incoming });
    await serve(options, rest, response);
  } catch (cause) {
    const fault = rest === null ? cause : nameSource(cause, rest);
    const error = visibleError(edge, fault, requestId);
    if (call !== null) await returnIfRefused(edge, call, error.status);
    discardBody(request);
    if (response.headersSent) response.destroy();
    else {
      edge.dress(response);
      // Without the database the key's window is unknown: the address's stands in for it.
      setRate(response, (await rateFor(edge, call, fault)) ?? edge.strangerRate(request));
      sendAnswer(response, errorAnswer(error, convention, requestId));
    }
  } finally {
    incoming?.release();
    if (rest?.release) await rest.release();
  }
}

/** Steps 3 to 8 of decisions 1. @throws ApiError while no byte of the answer was sent */
async function serve(options: RestOptions, rest: RestRequest, response: ServerResponse): Promise<void> {
  const { call, face, endpoint, path, query, fingerprint, idempotencyKey: key } = rest;
  const { edge } = options;
  const passing = options.guard(endpoint.document.field, rest.context);
  const early = passing && isReadBeside(rest) ? answerOf(options, rest) : null;
  early?.catch(() => undefined);
  if (passing) await passing;
  if (rest.fault !== null) {
    await options.takeSlots(endpoint.document.field, rest);
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
  const asked = isStreaming(options, rest);
  const streams = typeof asked === 'boolean' ? asked : await asked;
  if (!streams && !idempotent && isWhole(endpoint)) {
    const answer = await (early ?? answerOf(options, rest));
    const rate = call.rate ?? (await rateFor(edge, call));
    return sendDressed(response, { requestId: call.requestId, rate }, answer);
  }
  edge.dress(response);
  if (streams) return streamChat({ options, rest, response, idempotent });
  if (idempotent && endpoint.route.raw !== 'run')
    return sendOnce({ edge, response, request: idempotent, answer: () => answerOrRefuse(options, rest) });
  const leave = options.holdStream(call);
  try {
    if (endpoint.route.raw === 'run') await streamNewRun({ options, rest, response, idempotent });
    else if (endpoint.route.raw === 'run-events') await streamRun({ options, rest, response });
    else await streamOperation({ options, rest, response });
  } finally {
    leave();
  }
}

/**
 * One row of a table, read while the call's slot is taken instead of after: one round trip to PostgreSQL instead of two. The slot's refusal
 * comes before whatever was read.
 */
function isReadBeside({ endpoint, query, fault }: RestRequest): boolean {
  return endpoint.route.beside === true && query === '' && fault === null;
}

/** Answered in one piece, unless its caller asks otherwise. */
function isWhole({ route, document }: Endpoint): boolean {
  if (route.raw === 'run' || route.raw === 'run-events') return false;
  return document.operation.operation !== 'subscription';
}
