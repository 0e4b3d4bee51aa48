import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Express } from 'express';
import type { FileHandler } from '../../files/index.js';
import { setRate } from '../../http/index.js';
import type { RateState } from '../../metering/metering.types.js';
import type { Metrics } from '../../telemetry/index.js';
import { mountPages } from '../pages/index.js';
import type { AccessLog } from './access-log.js';
import type { Cors } from './cors.js';
import type { Health } from './health.js';
import { requestIdOf } from './http-edge.js';
import type { Route } from './http-server.js';

/** Never rejects. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface RouterOptions {
  accessLog: AccessLog;
  cors: Cors;
  health: Health;
  metrics: Pick<Metrics, 'render' | 'contentType'>;
  files: FileHandler;
  /** Null where the process serves no API (`ROLE=worker`). */
  api: ApiFaces | null;
}

export interface ApiFaces {
  rest: Handler;
  graphql: Handler;
  graphqlSse: Handler;
  /** The address's window, for what needs no key: pages and preflights carry the three headers too (decisions.md 4). */
  strangerRate(request: IncomingMessage): RateState;
}

/** Where a request goes. The REST API and files come before Express, which costs as much as they do themselves. */
export function createRouter({ accessLog, cors, health, metrics, files, api }: RouterOptions): Route {
  const app = createApp(api);
  return (request, response) => {
    const path = pathOf(request.url ?? '/');
    response.setHeader('X-Request-Id', requestIdOf(request));
    if (path === '/healthz') return health.live(response);
    if (path === '/readyz') return void health.ready(response);
    if (path === '/metrics') return void sendMetrics(metrics, response);
    accessLog.watch(request, response);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (api && isKeyless(request, path)) setRate(response, api.strangerRate(request));
    if (cors.handle(request, response)) return;
    if (api && (path.startsWith('/api/v1/') || path === '/api/v1')) return void api.rest(request, response);
    if (path.startsWith('/files/')) return void files(request, response);
    app(request, response);
  };
}

/** What the API may answer before it asks for a key: a browser's preflight, and GraphiQL. */
function isKeyless(request: IncomingMessage, path: string): boolean {
  return path === '/graphql' || (request.method === 'OPTIONS' && path.startsWith('/api/v1'));
}

async function sendMetrics(metrics: RouterOptions['metrics'], response: ServerResponse): Promise<void> {
  const text = await metrics.render();
  response.writeHead(200, { 'content-type': metrics.contentType, 'cache-control': 'no-store' });
  response.end(text);
}

/** Express would show the stack. What it refuses itself (a path that cannot be decoded) is the caller's fault. */
const answerFault: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (response.headersSent) return next(error);
  const refused = typeof error === 'object' && error !== null && 'status' in error && error.status === 400;
  if (refused) response.status(400).json({ error: 'Bad request', code: 'invalid_request' });
  else response.status(500).json({ error: 'Internal server error', code: 'server_error' });
};

function createApp(api: RouterOptions['api']): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  if (api) {
    mountPages(app);
    app.all('/graphql', (request, response) => {
      const isStream = (request.headers.accept ?? '').includes('text/event-stream');
      return isStream ? api.graphqlSse(request, response) : api.graphql(request, response);
    });
  }
  app.use((_request, response) => {
    response.status(404).json({ error: 'Not found', code: 'not_found' });
  });
  app.use(answerFault);
  return app;
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
