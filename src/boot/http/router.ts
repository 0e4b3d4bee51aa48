import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import type { FileHandler } from '../../files/index.js';
import { eventStreamPreference, sendAnswer, setRate } from '../../http/index.js';
import type { RateState } from '../../metering/metering.types.js';
import type { Metrics } from '../../telemetry/index.js';
import { mountPages } from '../pages/index.js';
import type { AccessLog } from './access-log.js';
import type { Addressed } from './client-address.js';
import type { Cors } from './cors.js';
import type { Health } from './health.js';
import { dress, requestIdOf } from './http-edge.js';
import { observed } from './observed-request.js';
import type { Route } from './odd-requests.js';

/** Never rejects. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface RouterOptions {
  accessLog: AccessLog;
  cors: Cors;
  health: Health;
  metrics: Pick<Metrics, 'render' | 'contentType'>;
  files: FileHandler;
  /** What callers are told; as https it is the only way here. */
  publicUrl: string;
  /** Null where the process serves no API (`ROLE=worker`). */
  api: ApiFaces | null;
}

export interface ApiFaces {
  /** By the path of the address: `/api/v1` and `/v1`. */
  rest: ReadonlyMap<string, Handler>;
  graphql: Handler;
  graphqlSse: Handler;
  signIn: Handler;
  /** The address's window, for what needs no key: pages and preflights carry the three headers too (decisions 4). */
  strangerRate(request: Addressed): RateState;
}

/** Where a request goes. The REST API and files come before Express, which costs as much as they do themselves. */
export function createRouter(options: RouterOptions): Route {
  const { accessLog, cors, health, metrics, files, publicUrl, api } = options;
  const app = createApp(api, publicUrl);
  const isSecure = publicUrl.startsWith('https:');
  return (request, response) => {
    // A proxy's absolute form names the same resource.
    if (request.url?.startsWith('http')) request.url = request.url.replace(ORIGIN, '') || '/';
    request.url = plainBase(request.url ?? '/');
    const path = pathOf(request.url);
    observed(request).requestId = requestIdOf(request);
    if (isSecure) response.setHeader('Strict-Transport-Security', HSTS);
    const [address = ''] = REST_ADDRESS.exec(path) ?? [];
    const isRest = address !== '';
    // REST tells them with its own headers; a preflight never comes there.
    if (!isRest || request.method === 'OPTIONS') dress(response);
    if (path === '/healthz') return health.live(response);
    if (path === '/readyz') return void health.ready(response);
    if (path === '/metrics') return void sendMetrics(metrics, response);
    accessLog.watch(request, response);
    if (api && isKeyless(request, path)) setRate(response, api.strangerRate(request));
    if (cors.handle(request, response)) return;
    const rest = isRest ? api?.rest.get(address) : undefined;
    if (rest) return void rest(request, response);
    if (isRest) dress(response);
    if (api && path.startsWith('/auth/')) return void api.signIn(request, response);
    if (path.startsWith('/files/')) return void files(request, response);
    app(request as Request, response as Response, (error?: unknown) => answerUnrouted(response, error));
  };
}

/** Addresses that were put together of parts have doubled slashes before and within the API's path. */
function plainBase(url: string): string {
  if (url.startsWith('/api/v1') || url.startsWith('/v1')) return url;
  return url.replace(REST_BASE, (_, api: string | undefined) => (api === undefined ? '/v1' : '/api/v1'));
}

const REST_BASE = /^\/{1,64}(api\/{1,64})?v1(?=[/?]|$)/;
/** The addresses of the REST API. */
const REST_ADDRESS = /^\/(?:api\/)?v1(?=\/|$)/;
/** A year. Other hosts of the domain are their owners' own affair. */
const HSTS = 'max-age=31536000';

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** What the API may answer before it asks for a key: a browser's preflight, and GraphiQL. */
function isKeyless(request: IncomingMessage, path: string): boolean {
  return path === '/graphql' || (request.method === 'OPTIONS' && REST_ADDRESS.test(path));
}

async function sendMetrics(metrics: RouterOptions['metrics'], response: ServerResponse): Promise<void> {
  const text = await metrics.render();
  response.writeHead(200, { 'content-type': metrics.contentType, 'cache-control': 'no-store' });
  response.end(text);
}

/** What no route of Express took, or what it refused itself (a path that cannot be decoded): its own page would show the stack. */
function answerUnrouted(response: ServerResponse, error?: unknown): void {
  if (response.headersSent) return void response.destroy();
  const isRefusal = typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
  const [status, message, code] =
    error === undefined
      ? ([404, 'Not found', 'not_found'] as const)
      : isRefusal
        ? ([400, 'Bad request', 'invalid_request'] as const)
        : ([500, 'Internal server error', 'server_error'] as const);
  const body = JSON.stringify({ error: message, code });
  sendAnswer(response, { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body });
}

function createApp(api: RouterOptions['api'], publicUrl: string): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  if (api) {
    mountPages(app, publicUrl);
    app.all('/graphql', (request, response) => {
      const isStream = eventStreamPreference(request.headers.accept) === 'preferred';
      return isStream ? api.graphqlSse(request, response) : api.graphql(request, response);
    });
  }
  return app;
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
