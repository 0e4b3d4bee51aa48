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
import { mount } from './mount.js';
import type { Endpoint } from './mount.js';
import { nameSource, readRequest, splitUrl } from './request.js';
import { answerOf, answerOrRefuse, errorAnswer, JSON_HEADERS } from './respond.js';
import type { Call, Matched, RestOptions, RestRequest } from './rest.types.js';
import type { Route } from './route.types.js';
import type { PathValues } from './router.js';
import { routes } from '../contract/index.js';
import { streamNewRun, streamRun } from './run-stream.js';
import { isStreaming, streamChat, streamOperation } from './streams.js';

/** The one public document below the base path. */
const OPENAPI_PATH = '/openapi.json';

/** Answers a request that its path and method lead to. Never rejects. */
export type RestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  values: PathValues,
) => Promise<void> | void;

/** A path below the base path, in Express' words (`/jobs/:jobId`). */
export interface RestPath {
  pattern: string;
  methods: ReadonlyMap<Route['method'], RestHandler>;
  /** For its other methods. */
  others: RestHandler;
}

/** The REST API, for a router to mount: of two paths that match the earlier one is meant. */
export interface RestTable {
  paths: readonly RestPath[];
  /** For what is none of them. */
  unknown: RestHandler;
}

/** @throws Error where a stored document no longer fits the schema */
export function createRestTable(options: RestOptions): RestTable {
  const handle = createHandler(options);
  const paths = mount(options.schema, routes).map(({ pattern, targets, allow }): RestPath => {
    const handlers = [...targets].map(([method, target]): [Route['method'], RestHandler] => [
      method,
      (request, response, values) => handle(request, response, { target, values }),
    ]);
    const others: RestHandler = (request, response) => handle(request, response, { allow });
    return { pattern, methods: new Map(handlers), others };
  });
  const description: RestPath = {
    pattern: OPENAPI_PATH,
    methods: new Map([['GET', createDescription(options)]]),
    others: (request, response) => handle(request, response, { allow: 'GET, HEAD' }),
  };
  return { paths: [description, ...paths], unknown: (request, response) => handle(request, response, null) };
}

/** Needs no key. */
function createDescription({ edge, openapi }: RestOptions): RestHandler {
  const body = Buffer.from(openapi);
  return (request, response) => {
    edge.dress(response);
    setRate(response, edge.strangerRate(request));
    sendAnswer(response, { status: 200, headers: JSON_HEADERS, body });
  };
}

function createHandler(
  options: RestOptions,
): (request: IncomingMessage, response: ServerResponse, matched: Matched) => Promise<void> {
  const { edge } = options;
  return async function handle(request, response, matched) {
    const { path, query } = splitUrl(request.url ?? '/');
    let call: Call | null = null;
    let rest: RestRequest | null = null;
    let incoming: RequestBody | null = null;
    try {
      const opened = edge.open(request, response);
      call = opened instanceof Promise ? await opened : opened;
      incoming = edge.body(request, call);
      rest = await readRequest(options, { request, call, matched, path, query, incoming });
      await serve(options, rest, response);
    } catch (cause) {
      const fault = rest === null ? cause : nameSource(cause, rest);
      const error = visibleError(edge, fault, call?.requestId ?? '');
      if (call !== null) await returnIfRefused(edge, call, error.status);
      discardBody(request);
      if (response.headersSent) response.destroy();
      else {
        edge.dress(response);
        // Without the database the key's window is unknown: the address's stands in for it.
        setRate(response, (await rateFor(edge, call, fault)) ?? edge.strangerRate(request));
        sendAnswer(response, errorAnswer(error));
      }
    } finally {
      incoming?.release();
      if (rest?.release) await rest.release();
    }
  };
}

/** Steps 3 to 8 of decisions 1. @throws ApiError while no byte of the answer was sent */
async function serve(options: RestOptions, rest: RestRequest, response: ServerResponse): Promise<void> {
  const { call, endpoint, path, query, fingerprint, idempotencyKey: key } = rest;
  const { edge } = options;
  const passing = options.guard(endpoint.document.field, rest.context);
  const early = passing && isReadBeside(rest) ? answerOf(options, rest) : null;
  early?.catch(() => undefined);
  if (passing) await passing;
  if (rest.fault !== null) {
    await options.takeSlots(endpoint.document.field, rest);
    throw rest.fault;
  }
  const idempotent =
    endpoint.route.method === 'POST' && fingerprint && key !== undefined
      ? { call, key, method: endpoint.route.method, path, query, body: fingerprint, singleEffect: true }
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
