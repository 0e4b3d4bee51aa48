import { activeSpan, newSpanId, newTraceId } from './trace-context.js';
import type { SpanContext } from './trace-context.js';

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';
export type AttributeValue = string | number | boolean | string[];

/** A span as it is exported. */
export interface FinishedSpan {
  context: SpanContext;
  parentSpanId: string | null;
  name: string;
  kind: SpanKind;
  /** Unix nanoseconds. */
  start: bigint;
  end: bigint;
  attributes: Record<string, AttributeValue>;
  /** A fault's message. */
  error: string | null;
}

/** A piece of work under way. */
export interface Span {
  readonly context: SpanContext;
  rename(name: string): void;
  set(attributes: Record<string, AttributeValue | null | undefined>): void;
  /** The word stands as `error.type`; messages of callers' making stay out. */
  fail(errorType: string): void;
  /** Once; later calls do nothing. */
  end(): void;
}

export interface SpanOptions {
  kind?: SpanKind;
  /** Null begins a trace; absent: the active span. */
  parent?: SpanContext | null;
  attributes?: Record<string, AttributeValue>;
}

export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
  /** Runs `work` with the span active; what it throws is the span's error. The span ends with it. */
  within<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Runs `work` with the span active and leaves it open. */
  enter<T>(span: Span, work: () => T): T;
}

const now = (): bigint => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));

const errorTypeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'error';
};

/** Spans of sampled traces go to `finished`; those of others only carry their context on. */
export function createTracer(finished: (span: FinishedSpan) => void): Tracer {
  const tracer: Tracer = {
    start(name, { kind = 'internal', parent = activeSpan.getStore() ?? null, attributes = {} } = {}) {
      const context = {
        traceId: parent?.traceId ?? newTraceId(),
        spanId: newSpanId(),
        sampled: parent?.sampled ?? true,
      };
      return new OpenSpan(
        { context, parentSpanId: parent?.spanId ?? null, name, kind, attributes },
        finished,
      );
    },
    async within(name, options, work) {
      const span = tracer.start(name, options);
      try {
        return await activeSpan.run(span.context, work, span);
      } catch (error) {
        span.fail(errorTypeOf(error));
        throw error;
      } finally {
        span.end();
      }
    },
    enter: (span, work) => activeSpan.run(span.context, work),
  };
  return tracer;
}

class OpenSpan implements Span {
  private readonly startedAt = now();
  private error: string | null = null;
  private done = false;

  constructor(
    private readonly span: Omit<FinishedSpan, 'start' | 'end' | 'error'>,
    private readonly finished: (span: FinishedSpan) => void,
  ) {}

  get context(): SpanContext {
    return this.span.context;
  }

  rename(name: string): void {
    this.span.name = name;
  }

  set(attributes: Record<string, AttributeValue | null | undefined>): void {
    for (const [name, value] of Object.entries(attributes))
      if (value !== null && value !== undefined) this.span.attributes[name] = value;
  }

  fail(errorType: string): void {
    this.error = errorType;
    this.span.attributes['error.type'] = errorType;
  }

  end(): void {
    if (this.done) return;
    this.done = true;
    if (this.span.context.sampled)
      this.finished({ ...this.span, start: this.startedAt, end: now(), error: this.error });
  }
}
