import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it came over OTLP/HTTP, its attributes by name; whole numbers come as strings. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  status: { code?: number; message?: string };
  attributes: Record<string, unknown>;
}

/** A receiver of traces over real HTTP. */
export interface Collector {
  endpoint: string;
  spans: CollectedSpan[];
  close(): Promise<void>;
}

type Wire = Omit<CollectedSpan, 'attributes'> & {
  attributes: { key: string; value: Record<string, unknown> }[];
};

interface Export {
  resourceSpans: { scopeSpans: { spans: Wire[] }[] }[];
}

function toSpan({ attributes, ...span }: Wire): CollectedSpan {
  const values = attributes.map(({ key, value }) => [key, Object.values(value)[0]]);
  return { ...span, attributes: Object.fromEntries(values) as Record<string, unknown> };
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Export;
      const scopes = body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans);
      spans.push(...scopes.flatMap((scope) => scope.spans.map(toSpan)));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
