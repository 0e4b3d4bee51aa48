import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OperationTracer } from '../../../subscriptions/index.js';
import type { Metrics, Tracer } from '../../telemetry/index.js';
import { observed } from '../http/observed-request.js';
import type { Route } from '../http/protocol-events.js';

const EXACT = new Set([
  '/',
  '/graphql',
  '/graphql/schema.graphql',
  '/graphql/client.graphql',
  '/asyncapi.json',
  '/docs',
  '/healthz',
  '/readyz',
  '/metrics',
  '/api/v1/openapi.json',
  '/v1/openapi.json',
]);

/** The path pattern that a request matched. Metrics and spans use patterns, never the path that a caller sent. */
function routeOf(request: IncomingMessage): string {
  const { pattern } = observed(request);
  if (pattern !== null) return pattern;
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  if (EXACT.has(path)) return path;
  if (path.startsWith('/files/')) return '/files/{file}';
  if (path.startsWith('/api/v1')) return '/api/v1/{unknown}';
  return /^\/v1(?:\/|$)/.test(path) ? '/v1/{unknown}' : '{unknown}';
}

/** Probes and scrapes come every few seconds and say nothing about callers. */
const UNTRACED = new Set(['/healthz', '/readyz', '/metrics']);

/** Counts each request by its route's pattern, and makes it a server span where traces are exported. */
export function observeHttp(
  route: Route,
  { metrics, tracer }: { metrics: Metrics; tracer: Tracer | null },
): Route {
  const counted: Route = (request, response) => {
    const startedAt = performance.now();
    response.on('close', () => {
      const seconds = (performance.now() - startedAt) / 1000;
      metrics.http({
        method: request.method ?? '',
        route: routeOf(request),
        status: response.statusCode,
        seconds,
      });
    });
    route(request, response);
  };
  return tracer === null ? counted : traced(counted, tracer);
}

function traced(route: Route, tracer: Tracer): Route {
  return (request, response) => {
    if (UNTRACED.has(request.url ?? '')) return route(request, response);
    const method = request.method ?? 'GET';
    const { traceparent } = request.headers;
    const parent = typeof traceparent === 'string' ? traceparent : null;
    const span = tracer.start(method, {
      kind: 'server',
      parent,
      attributes: { 'http.request.method': method },
    });
    response.once('close', () => {
      finish(response);
      span.end();
    });
    const finish = (answer: ServerResponse): void => {
      const pattern = routeOf(request);
      span.rename(`${method} ${pattern}`);
      span.set({ 'http.route': pattern, 'http.response.status_code': answer.statusCode });
      if (answer.statusCode >= 500) span.fail(String(answer.statusCode));
    };
    tracer.enter(span, () => route(request, response));
  };
}

/** Each operation on a WebSocket is a server span of its caller's trace. */
export function traceOperations(tracer: Tracer): OperationTracer {
  return (traceparent, run) =>
    tracer.within(
      'WS /graphql',
      {
        kind: 'server',
        parent: traceparent ?? null,
        attributes: { 'http.route': '/graphql', 'network.protocol.name': 'websocket' },
      },
      (span) => run(span.traceparent),
    );
}
