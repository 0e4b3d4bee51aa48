/**
 * The bare proxy with a durable charge (bench/charge.ts) and nothing else: the minimum cost of a gateway that meters according to
 * decisions 2. `PORT`, `UPSTREAM` and `DATA_DIR` from the environment.
 */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { openCharges } from './charge.js';
import { passHead, sendOn, serveProxy } from './proxy.js';

const charges = await openCharges(String(process.env['DATA_DIR']), 'floor');

async function finish(id: string, response: ServerResponse, answer: Buffer[]): Promise<void> {
  await charges.charge(id);
  response.end(answer.length === 1 ? answer[0] : Buffer.concat(answer));
}

async function forward(response: ServerResponse, body: Buffer): Promise<void> {
  const id = randomUUID();
  await charges.reserve(id);
  const answer: Buffer[] = [];
  sendOn(response, body, {
    onResponseStart: passHead(response),
    onResponseData: (_controller, data) => void answer.push(data),
    onResponseEnd: () => void finish(id, response, answer),
  });
}

serveProxy((response, body) => void forward(response, body));
process.on('SIGTERM', () => void charges.close().finally(() => process.exit(0)));
