export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';
export type AttributeValue = string | number | boolean | string[];

/** A piece of work under way. */
export interface Span {
  /** W3C `traceparent` that makes what comes next a child of this span. */
  readonly traceparent: string;
  rename(name: string): void;
  /** Null and undefined set nothing. */
  set(attributes: Record<string, AttributeValue | null | undefined>): void;
  /** The word stands as `error.type`; messages that callers wrote stay out. */
  fail(errorType: string): void;
  /** Once; later calls do nothing. */
  end(): void;
}

export interface SpanOptions {
  /** Default `internal`. */
  kind?: SpanKind;
  /** A `traceparent`; null, and one that cannot be read, begin a trace. Absent: the active span. */
  parent?: string | null;
  attributes?: Record<string, AttributeValue>;
}

/** Makes spans. It exists only where traces are exported. */
export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
  /** Runs `work` with the span active; what it throws is the span's error. The span ends with it. */
  within<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Runs `work` with the span active and leaves it open. */
  enter<T>(span: Span, work: () => T): T;
}
