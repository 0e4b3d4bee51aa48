export { createMetrics } from './metrics.js';
export type { Meters, Metrics } from './metrics.js';
export { createExporter } from './otlp-exporter.js';
export type { Exporter } from './otlp-exporter.js';
export { watchProcess } from './process-metrics.js';
export { activeSpan, currentTraceparent, formatTraceparent, parseTraceparent } from './trace-context.js';
export type { SpanContext } from './trace-context.js';
export { createTracer } from './tracer.js';
export type { AttributeValue, FinishedSpan, Span, SpanOptions, Tracer } from './tracer.js';
