/** Attacks until it is ended: what its argument names, as {@link NeighbourOrder}. Slow pages are served here too, on loopback. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NEIGHBOUR_ATTACKS, type Aim } from './neighbour-attacks.js';

/** What it is started with. */
export interface NeighbourOrder {
  attack: string;
  aim: Omit<Aim, 'pages'>;
}

const PAGE = `<html><body><p>${'\u2039aaaa'.repeat(400_000)}`;

const { attack, aim } = JSON.parse(String(process.argv[2])) as NeighbourOrder;
const server = createServer((_request, response) =>
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(PAGE),
);
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const pages = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
// Whoever started it may be gone without a word.
process.on('disconnect', () => process.exit(0));
await NEIGHBOUR_ATTACKS[attack]?.({ ...aim, pages });
