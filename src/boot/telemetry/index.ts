import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import { createOperatorAgent } from '../../egress/index.js';
import { createExporter, createMetrics, createTracer, watchProcess } from '../../telemetry/index.js';
import type { Metrics, Tracer } from '../../telemetry/index.js';
import type { Closers } from '../closers.js';

export { observeRuns } from './agents.js';
export { traceProviders } from './chat.js';
export { watchDatabase } from './gauges.js';
export { observeHttp, traceOperations } from './http.js';
export { createTraceLookup, type TraceLookup } from './lookup.js';
export { observeDeliveries, observeHandlers, traceBus, traceMetering } from './work.js';

/** What a process tells about itself. */
export interface Telemetry {
  metrics: Metrics;
  /** Null without OTEL_EXPORTER_OTLP_ENDPOINT: then nothing of tracing is built, and nothing is paid for it. */
  tracer: Tracer | null;
}

const EXPORT_TIMEOUT_MS = 5_000;

export function openTelemetry(options: { config: Config; logger: Logger; closers: Closers }): Telemetry {
  const { config, closers } = options;
  const metrics = createMetrics({ role: config.role });
  closers.add('the metrics', watchProcess(metrics));
  return { metrics, tracer: openTracer(options) };
}

function openTracer({ config, logger, closers }: Parameters<typeof openTelemetry>[0]): Tracer | null {
  const endpoint = config.telemetry.otlpEndpoint;
  if (endpoint === null) return null;
  const agent = createOperatorAgent({
    headersTimeoutMs: EXPORT_TIMEOUT_MS,
    bodyTimeoutMs: EXPORT_TIMEOUT_MS,
  });
  const url = new URL(`${endpoint}/v1/traces`);
  const exporter = createExporter({
    logger,
    resource: {
      'service.name': 'penstock',
      'service.instance.id': `${hostname()}-${process.pid}`,
      'penstock.role': config.role,
    },
    async post(body) {
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      await answer.body.dump();
      if (answer.statusCode >= 300) throw new Error(`the collector answered ${answer.statusCode}`);
    },
  });
  closers.add('the trace exporter', async () => {
    await exporter.close();
    await agent.destroy();
  });
  return createTracer((span) => exporter.add(span));
}
