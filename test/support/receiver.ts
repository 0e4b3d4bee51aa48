import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8');

/** A self-signed certificate for 127.0.0.1 and localhost that only tests trust. */
export const RECEIVER_CERTIFICATE = fixture('receiver-cert.pem');

/** Makes this process trust the receivers; spawned processes get NODE_EXTRA_CA_CERTS. */
export function trustReceivers(): void {
  setDefaultCACertificates([...getCACertificates('default'), RECEIVER_CERTIFICATE]);
}

export interface ReceivedRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
  at: number;
}

export interface Receiver {
  url: string;
  requests: ReceivedRequest[];
  close(): Promise<void>;
}

/** A webhook receiver over real HTTPS. `answer` decides the answer to each request; default 204. */
export async function startReceiver(
  answer: (request: ReceivedRequest, response: ServerResponse) => void = (_, response) =>
    response.writeHead(204).end(),
): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const server = createServer(
    { key: fixture('receiver-key.pem'), cert: RECEIVER_CERTIFICATE },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const received = {
          path: request.url ?? '',
          headers: request.headers,
          body: Buffer.concat(chunks).toString('utf8'),
          at: Date.now(),
        };
        requests.push(received);
        answer(received, response);
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
