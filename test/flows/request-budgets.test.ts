import { once } from 'node:events';
import { connect } from 'node:net';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';

const MB = 1024 * 1024;
const CHAT = '/api/v1/chat/completions';

let server: TestServer;
let key: string;

beforeAll(async () => {
  // An organisation may hold 80 MB of these, and requests of over 1 MB 140 MB in all.
  server = await startPenstock({ env: { BODY_BUDGET_MB: '160' } });
  ({ key } = await server.createOrg());
});
afterAll(() => server?.close());

const headersOf = (of: string, more: Record<string, string> = {}) => ({
  authorization: `Bearer ${of}`,
  'content-type': 'application/json',
  ...more,
});

/** A POST whose body is declared, begun, and does not go on. */
function begin(of: string, bytes: number): ClientRequest {
  const headers = headersOf(of, { 'content-length': String(bytes) });
  const request = httpRequest(server.origin + CHAT, { method: 'POST', headers });
  request.on('error', () => undefined);
  request.write('{"model":');
  return request;
}

async function answerTo(request: ClientRequest) {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  const { statusCode: status, headers } = response;
  return {
    status,
    retryAfter: headers['retry-after'],
    body: JSON.parse(Buffer.concat(parts).toString()) as object,
  };
}

async function chat(of: string, content = 'Hello'): Promise<number> {
  const body = { messages: [{ role: 'user', content }], max_tokens: 5 };
  return (await server.rest('POST', '/chat/completions', { key: of, body })).status;
}

it('bodies that are not finished count: their key is refused, then everybody’s large ones, and small ones go on', async () => {
  const [other, third] = await Promise.all([server.createOrg(), server.createOrg()]);
  const open = [begin(key, 35 * MB), begin(key, 35 * MB)];
  await sleep(300);
  const refused = begin(key, 35 * MB);
  expect(await answerTo(refused)).toEqual({
    status: 429,
    retryAfter: '1',
    body: { error: 'Too many request bytes in progress', code: 'rate_limited', retryAfter: 1 },
  });
  open.push(begin(other.key, 35 * MB), begin(other.key, 34 * MB));
  await sleep(300);
  expect(await answerTo(begin(third.key, 20 * MB))).toMatchObject({
    status: 503,
    retryAfter: '1',
    body: { code: 'unavailable' },
  });
  expect(await Promise.all([chat(third.key), chat(key)])).toEqual([200, 200]);
  for (const request of [...open, refused]) request.destroy();
  await sleep(300);
  expect(await chat(key, 'x'.repeat(20 * MB))).toBe(400);
});

it('what is not declared counts as it comes', async () => {
  const { key: own } = await server.createOrg();
  const headers = headersOf(own, { 'transfer-encoding': 'chunked' });
  const requests = Array.from({ length: 4 }, () =>
    httpRequest(server.origin + CHAT, { method: 'POST', headers }).on('error', () => undefined),
  );
  const answers = requests.map((request) =>
    answerTo(request).then(
      ({ status }) => status,
      () => 0,
    ),
  );
  for (const request of requests) request.write(`{"a":"${'x'.repeat(25 * MB)}`);
  const first = await Promise.race(answers);
  expect(first).toBe(429);
  for (const request of requests) request.destroy();
  await Promise.all(answers);
});

const QUERY = 'query ($id: ID!) { job(id: $id) { id } }';

it('a variable that no operation declares is a 400, over HTTP, event streams and WebSockets', async () => {
  const message = 'Variable "$extra" is not defined by the operation.';
  const code = 'invalid_request';
  const subscription = 'subscription { jobUpdates { type } }';
  const variables = { extra: 'x' };
  for (const [query, accept] of [
    ['{ quota { orgId } }', 'application/json'],
    ['{ quota { orgId } }', 'application/graphql-response+json'],
    [subscription, 'text/event-stream'],
    [subscription, 'application/json, text/event-stream;q=0.5'],
  ] as const) {
    const { status, errors } = await server.graphql(query, { key, variables, headers: { accept } });
    expect([accept, status, errors[0]?.message, errors[0]?.extensions['code']]).toEqual([
      accept,
      400,
      message,
      code,
    ]);
  }
  const two = `${QUERY.replace('query', 'query A')} query B { quota { orgId } }`;
  const ofAnother = await server.raw('/graphql', {
    method: 'POST',
    headers: headersOf(key),
    body: JSON.stringify({ query: two, operationName: 'B', variables: { id: 'x' } }),
  });
  expect([ofAnother.statusCode, await ofAnother.body.text()]).toEqual([400, expect.stringContaining('$id')]);
  const ws = await openRawWebSocket(server.wsUrl);
  ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
  await ws.next('connection_ack');
  ws.send({ id: '1', type: 'subscribe', payload: { query: subscription, variables } });
  expect(await ws.next('error')).toMatchObject({ payload: [{ message, extensions: { code } }] });
  ws.socket.close();
});

it('a document is refused by its length, whatever it holds', async () => {
  const { status, errors } = await server.graphql(`{ quota { orgId } } # ${'x'.repeat(MB)}`, { key });
  expect([status, errors[0]?.message]).toEqual([400, 'Document has more than 1000000 characters']);
});

/** Bytes that are alive. */
function alive(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

it('an open stream keeps nothing of its request but the operation', async () => {
  const { key: own } = await server.createOrg();
  const junk = 'x'.repeat(10 * MB);
  // One for all: what a client keeps of its requests is no matter here.
  const query = 'subscription { jobUpdates { type } }';
  const body = Buffer.from(JSON.stringify({ query, extensions: { junk }, unknown: junk }));
  const before = alive();
  const open: IncomingMessage[] = [];
  for (const accept of ['text/event-stream', 'application/json, text/event-stream;q=0.5'])
    for (let round = 0; round < 4; round++) {
      const request = httpRequest(server.graphqlUrl, { method: 'POST', headers: headersOf(own, { accept }) });
      request.end(body);
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(200);
      open.push(response);
      response.on('error', () => undefined).resume();
    }
  await sleep(200);
  // 160 MB were sent, on a budget of 80 MB.
  expect(alive() - before).toBeLessThan(40 * MB);
  for (const response of open) response.destroy();
}, 120_000);

/** Sends as much of a body that is too large as the server takes. @returns the bytes that left this process */
async function sendRefused(megabytes: number): Promise<number> {
  const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
  socket.on('error', () => undefined).resume();
  const head = `POST ${CHAT} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
  socket.write(`${head}content-length: ${megabytes * MB}\r\n\r\n`);
  const part = Buffer.alloc(MB, ' ');
  for (let sent = 0; sent < megabytes && !socket.destroyed; sent += 1)
    if (!socket.write(part))
      await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => null);
  if (!socket.destroyed) await once(socket, 'close');
  return socket.bytesWritten - socket.writableLength;
}

it('what is left of refused bodies is read as slowly for many requests as for one', async () => {
  const sent = await Promise.all(Array.from({ length: 8 }, () => sendRefused(70)));
  // 25 MB in a second for the five seconds that a refused request lasts, and what the system's buffers hold.
  expect(sent.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(250 * MB);
});
