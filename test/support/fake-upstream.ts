import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** One request that the upstream got. */
export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
  /** True after the other side closed the connection before the answer was complete. */
  aborted: boolean;
  /** Resolves when the other side closes the connection early. */
  hungUp: Promise<void>;
}

/** The upstream's reaction to one request. */
export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  body?: unknown;
  /** Sent unchanged, one after the other (Server-Sent Events). */
  chunks?: (string | Buffer)[];
  chunkMs?: number;
  delayMs?: number;
  /** After the chunks: `end` (default), `hang` for ever, or `reset` the connection. */
  then?: 'end' | 'hang' | 'reset';
}

export interface FakeUpstream {
  /** The base URL with `/v1`. */
  baseUrl: string;
  requests: SeenRequest[];
  /** The number of all connections so far. */
  connections(): number;
  /** The next requests get these replies, in order; then the default again. */
  queue(...replies: (Reply | ((request: SeenRequest) => Reply))[]): void;
  /** The reply to requests without a queued reply. */
  always(reply: Reply | ((request: SeenRequest) => Reply)): void;
  close(): Promise<void>;
}

/** A whole answer in the convention's form. */
export function completion(text: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: 'chatcmpl-up1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'up-model',
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    system_fingerprint: 'fp_up',
    ...more,
  };
}

/** One streamed chunk as an SSE event. */
export function chunk(delta: Record<string, unknown>, more: Record<string, unknown> = {}): string {
  const { finish_reason = null, ...rest } = more;
  return event({
    id: 'chatcmpl-up1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'up-model',
    choices: [{ index: 0, delta, finish_reason }],
    ...rest,
  });
}

export const event = (data: unknown): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

/** The usage chunk that upstreams send if `stream_options.include_usage` is set. */
export const usageChunk = (prompt: number, tokens: number): string =>
  event({
    id: 'chatcmpl-up1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'up-model',
    choices: [],
    usage: { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens },
  });

export const DONE_EVENT = 'data: [DONE]\n\n';

function defaultReply(request: SeenRequest): Reply {
  if (request.body['stream'] !== true) return { body: completion('Hello from upstream.') };
  const words = ['Hello', ' from', ' up', 'stream', '.'];
  return {
    chunks: [
      chunk({ role: 'assistant', content: '' }),
      ...words.map((content) => chunk({ content })),
      chunk({}, { finish_reason: 'stop' }),
      usageChunk(10, words.length),
      DONE_EVENT,
    ],
  };
}

/** Waits until the reader accepts more, or has disconnected. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

async function answer(response: ServerResponse, reply: Reply): Promise<void> {
  if (reply.delayMs !== undefined) await sleep(reply.delayMs);
  if (reply.then === 'reset' && reply.chunks === undefined) return void response.socket?.destroy();
  if (reply.chunks === undefined) {
    const given = reply.body ?? {};
    const body = typeof given === 'string' || Buffer.isBuffer(given) ? given : JSON.stringify(given);
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
    response.end(body);
    return;
  }
  response.writeHead(reply.status ?? 200, { 'content-type': 'text/event-stream', ...reply.headers });
  response.flushHeaders();
  for (const piece of reply.chunks) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
    if (reply.chunkMs !== undefined) await sleep(reply.chunkMs);
  }
  if (reply.then === 'reset') {
    await sleep(20);
    response.socket?.destroy();
  } else if (reply.then !== 'hang') response.end();
}

async function read(request: IncomingMessage, response: ServerResponse): Promise<SeenRequest> {
  let text = '';
  for await (const piece of request) text += String(piece);
  let hangUp = (): void => undefined;
  const hungUp = new Promise<void>((resolve) => {
    hangUp = resolve;
  });
  const seen: SeenRequest = {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    // A form with a file is not parsed.
    body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {},
    aborted: false,
    hungUp,
  };
  response.once('close', () => {
    if (response.writableFinished) return;
    seen.aborted = true;
    hangUp();
  });
  return seen;
}

/** An upstream of the chat-completions convention over real HTTP, whose replies a test decides. */
export async function startFakeUpstream(): Promise<FakeUpstream> {
  const requests: SeenRequest[] = [];
  const queued: (Reply | ((request: SeenRequest) => Reply))[] = [];
  let standard: Reply | ((request: SeenRequest) => Reply) = defaultReply;
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    void (async () => {
      const seen = await read(request, response);
      requests.push(seen);
      const reply = queued.shift() ?? standard;
      await answer(response, typeof reply === 'function' ? reply(seen) : reply);
    })();
  });
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    connections: () => connections,
    queue: (...replies) => void queued.push(...replies),
    always(reply) {
      standard = reply;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
