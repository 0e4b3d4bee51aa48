import type { Logger } from 'pino';
import type { AttributeValue, FinishedSpan, SpanKind } from './tracer.js';

/** Sends one body to the collector. @throws where it was not taken */
export type Post = (body: string) => Promise<void>;

/** Spans on their way to a collector (OTLP/HTTP with JSON). */
export interface Exporter {
  add(span: FinishedSpan): void;
  /** Sends what is left, within the bound of one request. */
  close(): Promise<void>;
}

const FLUSH_MS = 1_000;
const BATCH = 512;
/** A collector that is away costs this much memory and no more. */
const MAX_WAITING = 4_096;

const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };

function toValue(value: AttributeValue): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map((item) => ({ stringValue: item })) } };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

const toAttributes = (attributes: Record<string, AttributeValue>): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }));

function toOtlp(span: FinishedSpan): object {
  const { context, parentSpanId, name, kind, start, end, attributes, error } = span;
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(end),
    attributes: toAttributes(attributes),
    status: error === null ? {} : { code: 2, message: error },
  };
}

function bodyOf(spans: FinishedSpan[], resource: Record<string, AttributeValue>): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: 'penstock' }, spans: spans.map(toOtlp) }],
      },
    ],
  });
}

/** Batches spans for a second. A collector that is away loses spans, never a call; one warning tells of each outage. */
export function createExporter(options: {
  post: Post;
  logger: Logger;
  /** Attributes of this process, `service.name` among them. */
  resource: Record<string, AttributeValue>;
}): Exporter {
  const { post, logger, resource } = options;
  const waiting: FinishedSpan[] = [];
  let dropped = 0;
  let failing = false;
  let timer: NodeJS.Timeout | null = null;
  let sending: Promise<void> | null = null;

  async function send(): Promise<void> {
    const batch = waiting.splice(0, BATCH);
    try {
      await post(bodyOf(batch, resource));
      if (failing) logger.info({ dropped }, 'traces are exported again');
      failing = false;
      dropped = 0;
    } catch (error) {
      dropped += batch.length;
      if (!failing) logger.warn({ err: error }, 'traces cannot be exported: spans are dropped');
      failing = true;
    }
  }

  async function flush(): Promise<void> {
    while (waiting.length > 0) await send();
  }

  const schedule = (): void => {
    if (timer !== null || sending !== null) return;
    timer = setTimeout(() => {
      timer = null;
      sending = flush().finally(() => (sending = null));
    }, FLUSH_MS);
    timer.unref();
  };

  return {
    add(span) {
      if (waiting.length >= MAX_WAITING) {
        dropped += 1;
        return;
      }
      waiting.push(span);
      schedule();
    },
    async close() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      await sending;
      await flush();
    },
  };
}
