import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';

/** Where a span stands (W3C Trace Context). */
export interface SpanContext {
  /** 32 hex. */
  traceId: string;
  /** 16 hex. */
  spanId: string;
  sampled: boolean;
}

/** Entered only while traces are exported: without them nothing is ever stored, and looking costs a property read. */
export const activeSpan = new AsyncLocalStorage<SpanContext>();

const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** Null for anything that is not a usable `traceparent`. */
export function parseTraceparent(value: unknown): SpanContext | null {
  if (typeof value !== 'string' || value.length > 100 || value.startsWith('ff')) return null;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(value) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export const formatTraceparent = ({ traceId, spanId, sampled }: SpanContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

/** The `traceparent` to send along, or null where nothing is traced. */
export function currentTraceparent(): string | null {
  const span = activeSpan.getStore();
  return span === undefined ? null : formatTraceparent(span);
}

export const newTraceId = (): string => randomBytes(16).toString('hex');
export const newSpanId = (): string => randomBytes(8).toString('hex');
