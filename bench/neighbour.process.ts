/** Runs the attacks of its argument, a {@link NeighbourOrder}, until it is ended. It also serves slow pages on the loopback interface. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NEIGHBOUR_ATTACKS, type AttackTarget } from './neighbour-attacks.js';

/** The argument of the process. */
export interface NeighbourOrder {
  attack: string;
  aim: Omit<AttackTarget, 'pages'>;
}

const PAGE = `<html><body><p>${'\u2039aaaa'.repeat(400_000)}`;

const { attack, aim } = JSON.parse(String(process.argv[2])) as NeighbourOrder;
const server = createServer((_request, response) =>
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(PAGE),
);
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const pages = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
// The parent process may have died.
process.on('disconnect', () => process.exit(0));
await NEIGHBOUR_ATTACKS[attack]?.({ ...aim, pages });
