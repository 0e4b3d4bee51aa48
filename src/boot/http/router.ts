import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';
import type { FileHandler } from '../../files/index.js';
import { mountPages } from '../pages/index.js';
import type { AccessLog } from './access-log.js';
import type { Cors } from './cors.js';
import type { Health } from './health.js';
import type { Route } from './http-server.js';

/** Never rejects. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface RouterOptions {
  accessLog: AccessLog;
  cors: Cors;
  health: Health;
  files: FileHandler;
  /** Null where the process serves no API (`ROLE=worker`). */
  api: { rest: Handler; graphql: Handler; graphqlSse: Handler } | null;
}

/** Where a request goes. The REST API and files come before Express, which costs as much as they do themselves. */
export function createRouter({ accessLog, cors, health, files, api }: RouterOptions): Route {
  const app = createApp(api);
  return (request, response) => {
    const path = pathOf(request.url ?? '/');
    if (path === '/healthz') return health.live(response);
    if (path === '/readyz') return void health.ready(response);
    accessLog.watch(request, response);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (cors.handle(request, response)) return;
    if (api && (path.startsWith('/api/v1/') || path === '/api/v1')) return void api.rest(request, response);
    if (path.startsWith('/files/')) return void files(request, response);
    app(request, response);
  };
}

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
  return app;
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
