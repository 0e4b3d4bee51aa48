import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const MOST_OF_ADDRESS = 2_000;
const AT_ONCE = 100;
let server: TestServer;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = await startPenstock();
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server?.close();
});

/** Opens connections that say `words` and nothing else. */
async function open(count: number, words = ''): Promise<Socket[]> {
  const opened: Socket[] = [];
  while (opened.length < count) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - opened.length) }, () => {
      const socket = connect(Number(new URL(server.origin).port), '127.0.0.1').on('error', () => undefined);
      if (words) socket.write(words);
      socket.resume();
      return socket;
    });
    await Promise.all(some.map((socket) => once(socket, 'connect')));
    opened.push(...some);
  }
  sockets.push(...opened);
  return opened;
}

const isOpen = ({ readyState }: Socket): boolean => readyState === 'open';

it('connections that never show a key are bounded for each address, and keys go on as before', async () => {
  const { key } = await server.createOrg();
  const shown = await openRawWebSocket(server.wsUrl);
  shown.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
  await shown.next('connection_ack');
  const silent = await openRawWebSocket(server.wsUrl);
  // Nothing said, half a request, and a whole one that needs no key.
  const idle = await open(100, 'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  await open(900, 'POST /graphql HTTP/1.1\r\nhost: a\r\n');
  await open(MOST_OF_ADDRESS - 1000);
  // Its time to show a key is over after 3 seconds anyhow: a busy machine may need them for the rest.
  expect([4429, 4408]).toContain((await silent.closed).code);
  await open(1000);
  await eventually(() => !idle.some(isOpen) && sockets.filter(isOpen).length <= MOST_OF_ADDRESS, {
    what: 'the end of those that wait longest',
  });
  const { status } = await server.rest('GET', '/models', { key });
  expect(status).toBe(200);
  shown.send({ type: 'ping' });
  await shown.next('pong');
  const late = await openRawWebSocket(server.wsUrl);
  late.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
  await late.next('connection_ack');
});
