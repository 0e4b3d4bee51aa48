/**
 * The floor of the comparison: node:http in front, undici's dispatch behind, bytes passed through, nothing else done.
 * `PORT` and `UPSTREAM` from the environment; prints `ready` once it listens.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Pool } from 'undici';

const upstream = new Pool(String(process.env['UPSTREAM']), { connections: 256, pipelining: 1 });

function forward(response: ServerResponse, body: Buffer): void {
  upstream.dispatch(
    {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
      body,
    },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, status, headers) => {
        response.writeHead(status, { 'content-type': String(headers['content-type']) });
      },
      onResponseData: (controller, data) => {
        if (response.write(data)) return;
        controller.pause();
        response.once('drain', () => controller.resume());
      },
      onResponseEnd: () => response.end(),
      onResponseError: (_controller, error) => response.destroy(error),
    },
  );
}

function receive(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => forward(response, Buffer.concat(parts)));
}

const server = createServer({ keepAliveTimeout: 60_000 }, receive);
server.listen(Number(process.env['PORT']), '127.0.0.1', () => console.log('ready'));
process.on('SIGTERM', () => process.exit(0));
