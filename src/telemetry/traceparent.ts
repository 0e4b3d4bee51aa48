import { isSpanContextValid, trace } from '@opentelemetry/api';
import type { SpanContext } from '@opentelemetry/api';

/** A span's place as a W3C `traceparent`. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-0${(traceFlags & 1).toString()}`;

/** The `traceparent` to send along, or null where nothing is traced. */
export function currentTraceparent(): string | null {
  const active = trace.getActiveSpan()?.spanContext();
  return active !== undefined && isSpanContextValid(active) ? formatTraceparent(active) : null;
}
