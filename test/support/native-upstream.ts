import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request that a provider's API got. */
export interface NativeRequest {
  method: string;
  /** The path with the query. */
  path: string;
  headers: IncomingHttpHeaders;
  bytes: Buffer;
  /** The body if it is JSON. */
  json: Record<string, unknown>;
}

export interface NativeReply {
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON; bytes and text are sent unchanged. */
  body?: object | string | Buffer;
  /** Objects are sent as Server-Sent Events with their `type` as the event's name; strings are sent unchanged. */
  events?: (object | string)[];
  /** Sent one by one when they are available, in the form of `events`, or as unchanged bytes. */
  pieces?: AsyncIterable<object | string | Buffer>;
}

export interface NativeUpstream {
  /** The address without a path. */
  origin: string;
  requests: NativeRequest[];
  /** The replies to requests whose path contains the key, until another reply is set. */
  on(path: string, reply: NativeReply | ((request: NativeRequest) => NativeReply)): void;
  /** Deletes the recorded requests and the replies. */
  clear(): void;
  close(): Promise<void>;
}

function jsonOf(bytes: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function textOf(event: object | string): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  const type = (event as { type?: unknown }).type;
  return `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
}

async function sendPieces(
  response: ServerResponse,
  { headers, pieces }: Pick<NativeReply, 'headers'> & Required<Pick<NativeReply, 'pieces'>>,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
  response.flushHeaders();
  try {
    for await (const piece of pieces) response.write(Buffer.isBuffer(piece) ? piece : textOf(piece));
    response.end();
  } catch {
    response.destroy();
  }
}

/** A provider's own API over real HTTP, with answers in recorded forms. */
export async function startNativeUpstream(): Promise<NativeUpstream> {
  const requests: NativeRequest[] = [];
  const replies = new Map<string, NativeReply | ((request: NativeRequest) => NativeReply)>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const { method = '', url: path = '', headers } = request;
      const seen = { method, path, headers, bytes, json: jsonOf(bytes) };
      requests.push(seen);
      const [, found] = [...replies].find(([part]) => path.includes(part)) ?? [];
      const reply = typeof found === 'function' ? found(seen) : (found ?? { status: 404 });
      if (reply.events !== undefined) {
        response.writeHead(reply.status ?? 200, { 'content-type': 'text/event-stream' });
        response.end(reply.events.map(textOf).join(''));
        return;
      }
      const { pieces, headers: own = {} } = reply;
      if (pieces !== undefined) return void sendPieces(response, { headers: own, pieces });
      const raw = typeof reply.body === 'string' || Buffer.isBuffer(reply.body);
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
      response.end(raw ? (reply.body as string | Buffer) : JSON.stringify(reply.body ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    on: (path, reply) => void replies.set(path, reply),
    clear() {
      requests.length = 0;
      replies.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
