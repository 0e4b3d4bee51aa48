export { createMetrics } from './metrics.js';
export type { Meters, Metrics } from './metrics.js';
export { watchProcess } from './process-metrics.js';
export { currentTraceparent } from './traceparent.js';
/** OpenTelemetry's SDK, loaded by the first call. */
export const loadTracing = () => import('./tracing.js');
export type { AttributeValue, Span, SpanOptions, Tracer } from './tracer.types.js';
