import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** A span received over OTLP/HTTP, its attributes by name; whole numbers are strings. */
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
  /** The headers of each export. */
  requests: { headers: IncomingHttpHeaders; resource: Record<string, unknown> }[];
  close(): Promise<void>;
}

type Wire = Omit<CollectedSpan, 'attributes'> & {
  attributes: { key: string; value: Record<string, unknown> }[];
};

interface Export {
  resourceSpans: { resource: Pick<Wire, 'attributes'>; scopeSpans: { spans: Wire[] }[] }[];
}

const byName = (attributes: Wire['attributes']): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [held] = Object.values(value);
      return [key, typeof held === 'number' ? String(held) : held];
    }),
  );

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const requests: Collector['requests'] = [];
  // The SDK batches for 5 s by default, which tests need not wait.
  const delay = process.env['OTEL_BSP_SCHEDULE_DELAY'];
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = '200';
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const bytes = Buffer.concat(parts);
      const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
      const body = JSON.parse(plain.toString()) as Export;
      for (const { resource } of body.resourceSpans)
        requests.push({ headers: request.headers, resource: byName(resource.attributes) });
      const scopes = body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans);
      spans.push(
        ...scopes.flatMap((scope) =>
          scope.spans.map(({ attributes, ...span }) => ({ ...span, attributes: byName(attributes) })),
        ),
      );
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    requests,
    async close() {
      if (delay === undefined) delete process.env['OTEL_BSP_SCHEDULE_DELAY'];
      else process.env['OTEL_BSP_SCHEDULE_DELAY'] = delay;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
