import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually, inParallel } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';

const STALLED = 1000;
const UPDATED_JOBS = 100;
const UPDATES =
  'subscription { jobUpdates { sequence type job { id status progress inputParams outputData } } }';
const MEGABYTE = 1024 * 1024;

let cluster: Cluster;
let sockets: Socket[] = [];
beforeAll(async () => {
  cluster = await startCluster([
    { role: 'api' },
    { role: 'api' },
    { role: 'worker', env: { WORKER_CONCURRENCY: 'image:4' } },
  ]);
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
        socket.write(frame(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: UPDATES } })));
        socket.removeAllListeners('data');
        socket.removeAllListeners('error');
        socket.on('error', () => undefined);
        socket.pause();
        resolve(socket);
      }
    });
  });
}

/** Times of the same call at each server in turn: what disturbs the machine disturbs both. */
async function latencies(servers: SpawnedServer[], key: string): Promise<number[][]> {
  const times = servers.map((): number[] => []);
  for (let call = 0; call < 300; call += 1) {
    for (const [index, server] of servers.entries()) {
      const start = performance.now();
      const answer = await server.rest('GET', '/quota', { key });
      times[index]?.push(performance.now() - start);
      expect(answer.status).toBe(200);
    }
  }
  return times.map((list) => list.toSorted((a, b) => a - b));
}

const p99 = (times: number[] = []): number => times[Math.floor(times.length * 0.99)] ?? 0;

/**
 * Jobs whose updates carry much text, so that what a stalled reader is sent cannot hide in the kernel's buffers; made through both servers alike.
 */
async function makeUpdates(servers: SpawnedServer[], key: string): Promise<void> {
  const prompt = 'a mill by the water '.repeat(400);
  await inParallel(
    Array.from({ length: UPDATED_JOBS }),
    8,
    (_, seed) =>
      servers[seed % servers.length]?.rest('POST', '/images/generations', {
        key,
        body: { prompt, size: '512x512', seed },
      }) ?? Promise.reject(new Error('no server')),
  );
}

/** Counts what a subscriber that does read receives. */
function follow(server: SpawnedServer, key: string): () => number {
  let received = 0;
  server
    .ws(key)
    .subscribe(
      { query: UPDATES },
      { next: () => (received += 1), error: () => undefined, complete: () => undefined },
    );
  return () => received;
}

test('1,000 subscribers that stop reading cost at most 100 MB, and the others are answered as before', async () => {
  const [server, control] = cluster.servers;
  if (server === undefined || control === undefined) throw new Error('no server');
  const { key } = await cluster.installation.createOrg();
  await makeUpdates([server, control], key);
  const received = [server, control].map((one) => follow(one, key));

  await inParallel(Array.from({ length: STALLED }), 50, () => stalledSubscriber(server.port, key));
  await makeUpdates([server, control], key);
  const [stalled, calm] = await latencies([server, control], key);

  // The same work on the same machine but for the stalled ones: the difference is theirs.
  expect((residentBytes(server.pid) - residentBytes(control.pid)) / MEGABYTE).toBeLessThanOrEqual(100);
  expect(p99(stalled)).toBeLessThan(p99(calm) * 3 + 10);
  for (const count of received) {
    await eventually(() => count() >= 3 * UPDATED_JOBS, { what: 'the updates of a subscriber that reads' });
  }
});

/** A download that nothing of is read yet. */
function download(url: URL, port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => undefined).pause();
  socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
  return socket;
}

test('downloads that nobody reads end after a minute and leave no file open; one that is read slowly is whole', async () => {
  const [server] = cluster.servers;
  if (server === undefined) throw new Error('no server');
  const { key } = await cluster.installation.createOrg();
  const made = await server.rest<{ data: { audio_url: string } }>('POST', '/music/generations', {
    key,
    body: { prompt: 'a mill', duration_seconds: 45, output_format: 'wav' },
  });
  const url = new URL(made.body.data.audio_url);
  const files = () => readdirSync(`/proc/${server.pid}/fd`).length;
  const before = files();

  const slow = download(url, server.port);
  let received = 0;
  slow.on('close', () => slow.destroy());
  for (let n = 0; n < 50; n += 1) download(url, server.port);
  await eventually(() => files() >= before + 100);
  for (let second = 0; second < 75; second += 1) {
    received += (slow.read() as Buffer | null)?.length ?? 0;
    await sleep(1_000);
  }
  await eventually(() => files() <= before + 4, { timeoutMs: 15_000, what: 'the end of 50 downloads' });
  slow.on('data', (part: Buffer) => (received += part.length)).resume();
  await eventually(() => slow.destroyed);
  // The sound and its header, and the answer's.
  expect(received).toBeGreaterThan(45 * 44_100 * 2);
});
