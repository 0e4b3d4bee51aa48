import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import type { RestTable } from '../../../rest-compat/index.js';
import { isOfSingleConnection } from '../../../subscriptions/index.js';
import type { FileHandler } from '../../files/index.js';
import { eventStreamPreference, sendAnswer, setRate } from '../../http/index.js';
import type { RateState } from '../../metering/metering.types.js';
import type { Metrics } from '../../telemetry/index.js';
import { createPages, type Pages } from '../pages/index.js';
import type { AccessLog } from './access-log.js';
import { createProxyTrust, type AddressSource } from './client-address.js';
import type { Cors } from './cors.js';
import type { Health } from './health.js';
import { addCommonHeaders, requestIdOf } from './http-edge.js';
import { takeAccessToken } from './access-token.js';
import { observed } from './observed-request.js';
import type { Route } from './protocol-events.js';

/** Never rejects. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface RouterOptions {
  accessLog: AccessLog;
  cors: Cors;
  health: Health;
  metrics: Pick<Metrics, 'render' | 'contentType'>;
  files: FileHandler;
  /** The address that callers are given; if it begins with https, answers have HSTS. */
  publicUrl: string;
  trustProxy: string[];
  /** Null where the process serves no API (`ROLE=worker`). */
  api: ApiFaces | null;
}

export interface ApiFaces {
  /** REST tables by their base path: `/api/v1` and `/v1`. */
  rest: ReadonlyMap<string, RestTable>;
  graphql: Handler;
  graphqlSse: Handler;
  /** The SDL, at /graphql/schema.graphql. */
  sdl: Handler;
  /** The SDL for clients, at /graphql/client.graphql. */
  clientSdl: Handler;
  /** The description of webhooks and Kafka messages, at /asyncapi.json. */
  asyncApi: Handler;
  signIn: Handler;
  /** The rate window of the client's address: pages and preflights, which need no key, have the three rate headers too (decisions 4). */
  addressRate(request: AddressSource): RateState;
}

/** Express routes every request: first the middleware that each request needs, then the routes by frequency. URLs are normalised before. */
export function createRouter(options: RouterOptions): Route {
  const { api, cors, files, publicUrl } = options;
  const app = createApp(options);
  app.use(entrance(options));
  mountProbes(app, options);
  app.use(accountOf(options));
  if (cors.handler) app.use(cors.handler);
  app.route(/^\/files\//).all((request, response) => files(request, response));
  if (api) {
    const pages = createPages(publicUrl);
    mountGraphql(app, api, pages);
    app.route(ASYNC_API_PATH).get((request, response) => api.asyncApi(request, response));
    app.route(/^\/auth\//).all((request, response) => api.signIn(request, response));
    for (const [base, table] of api.rest) mountRest(app, base, table);
    app.use(pages.router);
  }
  return (request, response) => {
    takeAccessToken(request);
    request.url = plainUrl(request.url ?? '/');
    app(request as Request, response as Response, (error?: unknown) => {
      const table = isUndecodable(error) ? restOf(api, request) : undefined;
      // A REST path that cannot be decoded is an unknown path (404).
      if (table) void table.unknown(request, response, {});
      else answerUnrouted(response, error);
    });
  };
}

function createApp({ trustProxy }: RouterOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', createProxyTrust(trustProxy));
  return app;
}

/** One year. Without includeSubDomains: other hosts of the domain may have other owners. */
const HSTS = 'max-age=31536000';

/** What every answer carries. */
function entrance({ publicUrl, api }: RouterOptions): RequestHandler {
  const isSecure = publicUrl.startsWith('https:');
  return (request, response, next) => {
    observed(request).requestId = requestIdOf(request);
    if (isSecure) response.setHeader('Strict-Transport-Security', HSTS);
    // REST answers set these headers themselves; a preflight never reaches REST.
    if (api === null || request.method === 'OPTIONS' || !isRest(request.url)) addCommonHeaders(response);
    next();
  };
}

/** Probes and scrapes come every few seconds, of any method, and are not logged. */
function mountProbes(app: Express, { health, metrics }: RouterOptions): void {
  app.route('/healthz').all((_request, response) => health.live(response));
  app.route('/readyz').all((_request, response) => health.ready(response));
  app.route('/metrics').all(async (_request, response) => {
    const text = await metrics.render();
    response.writeHead(200, { 'content-type': metrics.contentType, 'cache-control': 'no-store' });
    response.end(text);
  });
}

/** Writes the access log, and sets the rate headers of requests that need no key. */
function accountOf({ accessLog, api }: RouterOptions): RequestHandler {
  return (request, response, next) => {
    accessLog.watch(request, response);
    if (api && isKeyless(request)) setRate(response, api.addressRate(request));
    next();
  };
}

/** Requests to the API that need no key: a browser's preflight, GraphiQL, and descriptions. */
function isKeyless({ url, method }: IncomingMessage): boolean {
  const path = pathOf(url ?? '');
  return (
    path === '/graphql' ||
    path === SDL_PATH ||
    path === CLIENT_SDL_PATH ||
    path === ASYNC_API_PATH ||
    (method === 'OPTIONS' && isRest(url ?? ''))
  );
}

/** Case-insensitive and with an optional slash at its end, as for all pages. */
const GRAPHQL = /^\/graphql\/?$/i;

const SDL_PATH = '/graphql/schema.graphql';
const CLIENT_SDL_PATH = '/graphql/client.graphql';
const ASYNC_API_PATH = '/asyncapi.json';

function mountGraphql(app: Express, api: ApiFaces, { graphiql }: Pages): void {
  const { graphql, graphqlSse, sdl, clientSdl } = api;
  app.route(SDL_PATH).get((request, response) => sdl(request, response));
  app.route(CLIENT_SDL_PATH).get((request, response) => clientSdl(request, response));
  app
    .route(GRAPHQL)
    .get(graphiql)
    .all((request, response) => {
      const isStream =
        eventStreamPreference(request.headers.accept) === 'preferred' || isOfSingleConnection(request);
      return isStream ? graphqlSse(request, response) : graphql(request, response);
    });
}

/** Each row is a route. The key is checked before a caller learns that a path does not exist (decisions 1). */
function mountRest(app: Express, base: string, { paths, unknown }: RestTable): void {
  for (const { pattern, methods, others } of paths) {
    const route = app.route(base + pattern);
    for (const [method, handler] of methods) {
      route[METHOD_NAMES[method]]((request: Request, response: Response) =>
        handler(request, response, request.params),
      );
    }
    route.all((request, response) => others(request, response, request.params));
  }
  app.route([base, `${base}/*rest`]).all((request, response) => unknown(request, response, {}));
}

const METHOD_NAMES = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete', PUT: 'put' } as const;

/** Answers what no route handled, or what Express refused (a path that cannot be decoded). Express's own error page would show the stack. */
function answerUnrouted(response: ServerResponse, error?: unknown): void {
  if (response.headersSent) return void response.destroy();
  const [status, message, code] =
    error === undefined
      ? ([404, 'Not found', 'not_found'] as const)
      : isUndecodable(error)
        ? ([400, 'Bad request', 'invalid_request'] as const)
        : ([500, 'Internal server error', 'server_error'] as const);
  const body = JSON.stringify({ error: message, code });
  sendAnswer(response, { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body });
}

function isUndecodable(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
}

function restOf(api: ApiFaces | null, { url = '' }: IncomingMessage): RestTable | undefined {
  return [...(api?.rest ?? [])].find(([base]) => url.startsWith(`${base}/`))?.[1];
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;
/** The base paths of the REST APIs, with the doubled slashes that clients make when they join URLs. */
const REST_BASE = /^\/{1,64}(api\/{1,64})?v1(?=[/?]|$)/;
const REST_PATH = /^\/(?:api\/)?v1(?=[/?]|$)/;

function isRest(url: string): boolean {
  return REST_PATH.test(url);
}

/** Normalises a URL: the absolute form that proxies send (RFC 9112, 3.2.2), and, for REST, doubled slashes and a slash at the end. */
function plainUrl(given: string): string {
  const url = given.startsWith('http') ? given.replace(ORIGIN, '') || '/' : given;
  const based = isRest(url)
    ? url
    : url.replace(REST_BASE, (_, api: string | undefined) => (api === undefined ? '/v1' : '/api/v1'));
  if (!isRest(based)) return based;
  const path = pathOf(based);
  if (!path.includes('//') && !path.endsWith('/')) return based;
  return `/${path.split('/').filter(Boolean).join('/')}${based.slice(path.length)}`;
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
