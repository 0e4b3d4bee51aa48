import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answering } from './answering.js';

export interface FakeS3 {
  endpoint: string;
  objects: Map<string, Buffer>;
  /** Answers that the next requests get, first in first out: an error's status and code, or a reset connection. */
  faults: ({ status: number; code: string } | 'reset')[];
  close(): Promise<void>;
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

function send(request: IncomingMessage, response: ServerResponse, bytes: Buffer): void {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const part =
    from === undefined ? bytes : bytes.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
  response.writeHead(from === undefined ? 200 : 206, { 'content-length': part.length, etag: '"1"' });
  response.end(request.method === 'HEAD' ? undefined : part);
}

/** The part of S3 that a store needs, over real HTTP: objects in memory; signatures are required but not checked. */
export async function startFakeS3(): Promise<FakeS3> {
  const objects = new Map<string, Buffer>();
  const faults: FakeS3['faults'] = [];
  const server = createServer(
    answering(async (request, response) => {
      const path = decodeURIComponent((request.url ?? '').split('?')[0] ?? '');
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const fault = faults.shift();
      if (fault === 'reset') return void request.socket.resetAndDestroy();
      if (fault !== undefined) return refuse(response, fault.status, fault.code);
      if (!(request.headers.authorization ?? '').startsWith('AWS4-HMAC-SHA256 Credential=test/'))
        return refuse(response, 403, 'AccessDenied');
      if (request.method === 'PUT') {
        objects.set(path, Buffer.concat(chunks));
        return void response.writeHead(200, { etag: '"1"' }).end();
      }
      if (request.method === 'DELETE') {
        objects.delete(path);
        return void response.writeHead(204).end();
      }
      const bytes = objects.get(path);
      return bytes === undefined ? refuse(response, 404, 'NoSuchKey') : send(request, response, bytes);
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    faults,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
