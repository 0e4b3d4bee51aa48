import { createServer, request as ask, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Installation } from './installation.js';
import { startPenstock } from './server.js';

interface PathProxy {
  /** The address for callers, with the path. */
  publicUrl: string;
  /** Sets the target of requests, because a server can only start when the public address is known. */
  serve(origin: string): void;
  close(): Promise<void>;
}

/** A proxy that serves a server below a path, which it removes; other paths are answered with 404. */
async function startPathProxy(path: string): Promise<PathProxy> {
  let target = '';
  const pass = ({ url = '', method, headers }: IncomingMessage) =>
    url.startsWith(`${path}/`) ? ask(target + url.slice(path.length), { method, headers }) : null;
  const server = createServer((request, response) => {
    const passed = pass(request);
    if (!passed) return void response.writeHead(404).end();
    passed.on('response', (answer) => answer.pipe(response.writeHead(answer.statusCode!, answer.headers)));
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  const sockets = new Set<Duplex>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const passed = pass(request);
    if (!passed) return void socket.destroy();
    sockets.add(socket);
    passed.on('error', () => socket.destroy());
    // A page may be closed before its upgrade is answered.
    socket.on('close', () => passed.destroy());
    passed.on('upgrade', ({ rawHeaders }, upstream: Duplex, first: Buffer) => {
      const lines = rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`));
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
      socket.write(first);
      upstream.write(head);
      for (const [one, other] of [
        [socket, upstream],
        [upstream, socket],
      ] as const) {
        sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => other.destroy());
        one.pipe(other);
      }
    });
    passed.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    publicUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    serve: (origin) => (target = origin),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A server on an installation, behind such a proxy. */
export interface Behind {
  /** The address with the path that the proxy removes. */
  publicUrl: string;
  /** The server's own address. */
  origin: string;
  close(): Promise<void>;
}

/** Starts another server of the installation behind a proxy that removes `path`. */
export async function startBehindPath(path: string, installation: Installation): Promise<Behind> {
  const proxy = await startPathProxy(path);
  const { publicUrl } = proxy;
  const server = await startPenstock({ installation, env: { PUBLIC_URL: publicUrl } });
  proxy.serve(server.origin);
  return {
    publicUrl,
    origin: server.origin,
    async close() {
      await proxy.close();
      await server.close();
    },
  };
}
