import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually, inParallel } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';

const STALLED = 1000;
const MEGABYTE = 1024 * 1024;

let cluster: Cluster;
let sockets: Socket[] = [];
beforeAll(async () => {
  cluster = await startCluster([{ role: 'all', env: { WORKER_CONCURRENCY: 'image:4' } }]);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await cluster.close();
});

function residentBytes(pid: number): number {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** A client's text frame, masked as the protocol demands. */
function frame(text: string): Buffer {
  const payload = Buffer.from(text);
  const mask = randomBytes(4);
  const head =
    payload.length < 126
      ? Buffer.from([0x81, 0x80 | payload.length])
      : Buffer.from([0x81, 0xfe, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))]);
}

/** A WebSocket that subscribes to all job updates and then reads nothing more, with the smallest buffers. */
function stalledSubscriber(port: number, key: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    sockets.push(socket);
    socket.on('error', reject);
    socket.write(
      'GET /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`,
    );
    let seen = '';
    socket.on('data', (part) => {
      const before = seen;
      seen += part.toString('latin1');
      if (!before.includes('\r\n\r\n') && seen.includes('\r\n\r\n')) {
        socket.write(
          frame(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })),
        );
      }
      if (!before.includes('connection_ack') && seen.includes('connection_ack')) {
        const query =
          'subscription { jobUpdates { sequence type job { id status progress inputParams outputData } } }';
        socket.write(frame(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } })));
        socket.removeAllListeners('data');
        socket.removeAllListeners('error');
        socket.on('error', () => undefined);
        socket.pause();
        resolve(socket);
      }
    });
  });
}

async function latencies(server: SpawnedServer, key: string): Promise<number[]> {
  const times: number[] = [];
  for (let call = 0; call < 300; call += 1) {
    const start = performance.now();
    const answer = await server.rest('GET', '/quota', { key });
    times.push(performance.now() - start);
    expect(answer.status).toBe(200);
  }
  return times.toSorted((a, b) => a - b);
}

const p99 = (times: number[]): number => times[Math.floor(times.length * 0.99)] ?? 0;

/** Jobs whose updates carry much text, so that what a stalled reader is sent cannot hide in the kernel's buffers. */
async function makeUpdates(server: SpawnedServer, key: string, jobs: number): Promise<void> {
  const prompt = 'a mill by the water '.repeat(400);
  await inParallel(Array.from({ length: jobs }), 8, (_, seed) =>
    server.rest('POST', '/images/generations', { key, body: { prompt, size: '512x512', seed } }),
  );
}

test('1,000 subscribers that stop reading cost at most 100 MB, and the others are answered as before', async () => {
  const server = cluster.servers[0];
  if (server === undefined) throw new Error('no server');
  const { key } = await cluster.installation.createOrg();
  await makeUpdates(server, key, 20);
  await latencies(server, key);
  const quiet = p99(await latencies(server, key));
  const healthy = server.ws(key);
  let received = 0;
  healthy.subscribe(
    { query: 'subscription { jobUpdates { sequence } }' },
    { next: () => (received += 1), error: () => undefined, complete: () => undefined },
  );
  const before = residentBytes(server.pid);

  await inParallel(Array.from({ length: STALLED }), 50, () => stalledSubscriber(server.port, key));
  await makeUpdates(server, key, 100);
  const loaded = p99(await latencies(server, key));

  expect((residentBytes(server.pid) - before) / MEGABYTE).toBeLessThanOrEqual(100);
  // The same machine, the same calls: only a queue behind the stalled ones would multiply the time.
  expect(loaded).toBeLessThan(quiet * 3 + 10);
  await eventually(() => received >= 300, { what: 'the updates of a subscriber that reads' });
});
