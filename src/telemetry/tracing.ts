/** OpenTelemetry's SDK. Imported only where traces are exported: nothing of it is loaded otherwise. */
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Span as SdkSpan, Tracer as SdkTracer } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import type { Logger } from 'pino';
import { formatTraceparent } from './traceparent.js';
import type { AttributeValue, Span, SpanOptions, Tracer } from './tracer.types.js';

export interface Tracing {
  tracer: Tracer;
  /** Sends what is left. */
  close(): Promise<void>;
}

/**
 * Batches spans and sends them over OTLP/HTTP. Headers, compression, time-outs, the sampler, batch sizes and further resource attributes come from the
 * SDK's own variables (`OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER`, `OTEL_RESOURCE_ATTRIBUTES` …).
 */
export function openTracing(options: {
  /** Where spans are posted. */
  url: string;
  /** Attributes of this process; the operator's variables win. */
  resource: Record<string, AttributeValue>;
  logger: Logger;
}): Tracing {
  const { url, resource, logger } = options;
  // One for the process, as `context.active()` is global; a second call keeps the first.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes(resource))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(reportOutages(new OTLPTraceExporter({ url }), logger))],
  });
  return { tracer: createTracer(provider.getTracer('penstock')), close: () => provider.shutdown() };
}

/** A collector that is away loses spans, never a call: one warning tells of each outage. */
function reportOutages(exporter: SpanExporter, logger: Logger): SpanExporter {
  let dropped = 0;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) {
          if (dropped > 0) logger.info({ dropped }, 'exporting traces works again');
          dropped = 0;
        } else {
          if (dropped === 0)
            logger.warn({ err: result.error }, 'traces cannot be exported: spans are dropped');
          dropped += spans.length;
        }
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

const errorTypeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'error';
};

function contextOf(parent: string | null | undefined) {
  if (parent === undefined) return context.active();
  const remote = parent === null ? null : parseTraceParent(parent);
  return remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true });
}

function createTracer(sdk: SdkTracer): Tracer {
  const start = (name: string, { kind = 'internal', parent, attributes = {} }: SpanOptions = {}): OpenSpan =>
    new OpenSpan(sdk.startSpan(name, { kind: KINDS[kind], attributes }, contextOf(parent)));
  const enter = <T>(span: Span, work: () => T): T =>
    span instanceof OpenSpan ? context.with(trace.setSpan(context.active(), span.inner), work) : work();
  return {
    start,
    enter,
    async within(name, options, work) {
      const span = start(name, options);
      try {
        return await enter(span, () => work(span));
      } catch (error) {
        span.fail(errorTypeOf(error));
        throw error;
      } finally {
        span.end();
      }
    },
  };
}

class OpenSpan implements Span {
  constructor(readonly inner: SdkSpan) {}

  get traceparent(): string {
    return formatTraceparent(this.inner.spanContext());
  }

  rename(name: string): void {
    this.inner.updateName(name);
  }

  set(attributes: Record<string, AttributeValue | null | undefined>): void {
    for (const [name, value] of Object.entries(attributes))
      if (value !== null && value !== undefined) this.inner.setAttribute(name, value);
  }

  fail(errorType: string): void {
    this.inner.setStatus({ code: SpanStatusCode.ERROR, message: errorType });
    this.inner.setAttribute('error.type', errorType);
  }

  end(): void {
    if (this.inner.isRecording()) this.inner.end();
  }
}
