import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Config } from '../../config/index.js';
import { createMetrics, loadTracing, watchProcess } from '../../telemetry/index.js';
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
  /** Null where no endpoint for traces is set; then no tracing code is loaded. */
  tracer: Tracer | null;
}

export async function openTelemetry(options: {
  config: Config;
  logger: Logger;
  closers: Closers;
}): Promise<Telemetry> {
  const { config, closers } = options;
  const metrics = createMetrics({ role: config.role });
  closers.add('the metrics', watchProcess(metrics));
  return { metrics, tracer: await openTracer(options) };
}

async function openTracer(options: Parameters<typeof openTelemetry>[0]): Promise<Tracer | null> {
  const { config, logger, closers } = options;
  const url = config.telemetry.tracesUrl;
  if (url === null) return null;
  const { openTracing } = await loadTracing();
  const { tracer, close } = openTracing({
    url,
    logger,
    resource: {
      'service.name': 'penstock',
      'service.instance.id': `${hostname()}-${process.pid}`,
      'penstock.role': config.role,
    },
  });
  closers.add('the trace exporter', close);
  return tracer;
}
