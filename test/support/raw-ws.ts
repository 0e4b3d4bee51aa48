import { WebSocket, type ClientOptions } from 'ws';

/** A WebSocket without a client library, with its received messages and its end. */
export interface RawWebSocket {
  socket: WebSocket;
  messages: Record<string, unknown>[];
  /** Resolves with the next message of a type (messages that were already received count). */
  next(type: string): Promise<Record<string, unknown>>;
  send(message: unknown): void;
  closed: Promise<{ code: number; reason: string }>;
}

/** Opens `graphql-transport-ws`. @throws Error naming the HTTP status of a refused upgrade */
export async function openRawWebSocket(
  url: string,
  options: Omit<ClientOptions, 'protocol'> & { protocol?: string | null } = {},
): Promise<RawWebSocket> {
  const { protocol = 'graphql-transport-ws', ...rest } = options;
  const socket = new WebSocket(url, protocol === null ? [] : [protocol], rest);
  const messages: Record<string, unknown>[] = [];
  const waiting: (() => void)[] = [];
  const wake = () => waiting.splice(0).forEach((resume) => resume());
  socket.on('message', (data) => {
    messages.push(JSON.parse(String(data)) as Record<string, unknown>);
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.on('close', (code, reason) => {
      resolve({ code, reason: reason.toString() });
      wake();
    }),
  );
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve());
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      reject(new Error(`upgrade refused with ${response.statusCode}`));
      socket.terminate();
    });
  });
  let taken = 0;
  return {
    socket,
    messages,
    closed,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async next(type) {
      for (;;) {
        const index = messages.findIndex((message, at) => at >= taken && message['type'] === type);
        if (index >= 0) {
          taken = index + 1;
          return messages[index]!;
        }
        if (socket.readyState > 1) throw new Error(`closed before a message of type ${type}`);
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}
