/** The shared code of the bare proxies: node:http for callers, undici's dispatch for the upstream. Settings from the environment: `PORT`, `UPSTREAM`. */
import { createServer, type ServerResponse } from 'node:http';
import { Pool, type Dispatcher } from 'undici';

const { PORT, UPSTREAM } = process.env;
const upstream = new Pool(String(UPSTREAM), { connections: 256, pipelining: 1 });

type Handler = Required<Dispatcher.DispatchHandler>;

/** The headers of the answer are sent unchanged. */
export function passHead(response: ServerResponse): Handler['onResponseStart'] {
  return (_controller, status, headers) => {
    response.writeHead(status, { 'content-type': String(headers['content-type']) });
  };
}

/** Forwards a chat. */
export function sendOn(
  response: ServerResponse,
  body: Buffer,
  rest: Pick<Handler, 'onResponseStart' | 'onResponseData' | 'onResponseEnd'>,
): void {
  upstream.dispatch(
    {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
      body,
    },
    {
      onRequestStart: () => undefined,
      onResponseError: (_controller, error) => response.destroy(error),
      ...rest,
    },
  );
}

/** Prints `ready` once it listens. */
export function serveProxy(forward: (response: ServerResponse, body: Buffer) => void): void {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => forward(response, Buffer.concat(parts)));
  });
  server.listen(Number(PORT), '127.0.0.1', () => console.log('ready'));
}
