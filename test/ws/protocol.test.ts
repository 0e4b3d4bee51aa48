import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg());
});
afterAll(() => server.close());

const authorization = () => ({ authorization: `Bearer ${key}` });
const init = (payload: object = authorization()) => ({ type: 'connection_init', payload });
const subscribe = (id: string, query: string) => ({ id, type: 'subscribe', payload: { query } });

async function ready(payload?: object) {
  const ws = await openRawWebSocket(server.wsUrl);
  ws.send(init(payload));
  await ws.next('connection_ack');
  return ws;
}

describe('close codes (trust 2)', () => {
  test('a client that does not begin within three seconds is closed with 4408', async () => {
    const ws = await openRawWebSocket(server.wsUrl);
    expect((await ws.closed).code).toBe(4408);
  });

  test.each([
    ['no JSON', 'nonsense'],
    ['JSON that is no message', '[1, 2]'],
    ['an unknown type', '{"type":"start"}'],
    ["the server's own messages", '{"type":"connection_ack"}'],
    ['a subscribe without a query', '{"type":"subscribe","id":"1","payload":{}}'],
    ['an id of 256 characters', JSON.stringify(subscribe('x'.repeat(256), '{ __typename }'))],
  ])('%s is closed with 4400', async (_what, message) => {
    const ws = await openRawWebSocket(server.wsUrl);
    ws.send(message);
    expect((await ws.closed).code).toBe(4400);
  });

  test('a binary message is closed with 4400', async () => {
    const ws = await openRawWebSocket(server.wsUrl);
    ws.socket.send(Buffer.from(JSON.stringify(init())));
    expect((await ws.closed).code).toBe(4400);
  });

  test('a subscribe before the acknowledgement is closed with 4401', async () => {
    const ws = await openRawWebSocket(server.wsUrl);
    ws.send(subscribe('1', '{ __typename }'));
    expect((await ws.closed).code).toBe(4401);
  });

  test('a second init is closed with 4429', async () => {
    const ws = await ready();
    ws.send(init());
    expect((await ws.closed).code).toBe(4429);
  });

  test.each(['1', '€'.repeat(100)])('an id that is in use is closed with 4409 (%s)', async (id) => {
    const ws = await ready();
    ws.send(subscribe(id, 'subscription { jobUpdates { sequence } }'));
    ws.send(subscribe(id, 'subscription { jobUpdates { sequence } }'));
    expect((await ws.closed).code).toBe(4409);
  });

  test.each([
    ['no key', {}],
    ['an unknown key', { authorization: `Bearer sk_${'0'.repeat(64)}` }],
    ['a key of another form', { authorization: 'Bearer sk_1' }],
  ])('%s is closed with 4403', async (_what, payload) => {
    const ws = await openRawWebSocket(server.wsUrl);
    ws.send(init(payload));
    expect((await ws.closed).code).toBe(4403);
  });

  test('a message over 256 KB is closed with 1009', async () => {
    const ws = await ready();
    ws.send({ type: 'ping', payload: { filler: 'x'.repeat(256 * 1024) } });
    expect((await ws.closed).code).toBe(1009);
  });

  test('another subprotocol is closed with 4406', async () => {
    const ws = await openRawWebSocket(server.wsUrl, { protocol: null });
    expect((await ws.closed).code).toBe(4406);
  });

  test('a revoked key closes its connections with 4401 within a second', async () => {
    const { orgId } = await server.createOrg();
    const made = await server.createKey(orgId);
    const ws = await ready({ authorization: `Bearer ${made.key}` });
    await server.cli('key', 'revoke', '--id', made.id);
    const revoked = performance.now();
    expect((await ws.closed).code).toBe(4401);
    expect(performance.now() - revoked).toBeLessThan(1000);
  });
});

describe('who may connect', () => {
  test('a foreign origin with a cookie is refused at the upgrade', async () => {
    const headers = { cookie: 'session=1', origin: 'https://evil.example' };
    await expect(openRawWebSocket(server.wsUrl, { headers })).rejects.toThrow('refused with 403');
  });

  test('a foreign origin without a cookie may bring its key', async () => {
    const ws = await openRawWebSocket(server.wsUrl, { headers: { origin: 'https://app.example' } });
    ws.send(init());
    await ws.next('connection_ack');
    ws.socket.close();
  });

  test.each(['authorization', 'Authorization', 'AUTHORIZATION'])('the payload may say %s', async (name) => {
    const ws = await ready({ [name]: `Bearer ${key}` });
    ws.socket.close();
  });

  test('a good key is not shut out by the bad ones that its address tried', async () => {
    const bad = { authorization: `Bearer sk_${'1'.repeat(64)}` };
    for (let i = 0; i < 60; i++) {
      const refused = await server.raw('/api/v1/quota', { method: 'GET', headers: bad });
      await refused.body.dump();
    }
    const refused = await openRawWebSocket(server.wsUrl);
    refused.send(init(bad));
    expect(await refused.closed).toMatchObject({ code: 4403, reason: 'Rate limit exceeded' });
    const ws = await ready();
    ws.socket.close();
  });

  test("the upgrade's header may bring the key", async () => {
    const ws = await openRawWebSocket(server.wsUrl, { headers: authorization() });
    ws.send({ type: 'connection_init' });
    await ws.next('connection_ack');
    ws.socket.close();
  });
});

describe('operations', () => {
  test('queries and mutations run as over HTTP', async () => {
    const ws = await ready();
    ws.send(subscribe('q', '{ quota { plan { code } } }'));
    expect(await ws.next('next')).toEqual({
      id: 'q',
      type: 'next',
      payload: { data: { quota: { plan: { code: 'business_monthly' } } } },
    });
    expect(await ws.next('complete')).toEqual({ id: 'q', type: 'complete' });
    ws.send(subscribe('q', 'mutation { cancelJob(id: "job_none") { success } }'));
    const { payload } = await ws.next('next');
    expect(payload).toMatchObject({
      errors: [{ message: 'Job not found', extensions: { code: 'not_found', httpStatus: 404 } }],
    });
    ws.socket.close();
  });

  test.each([
    ['a syntax error', '{ quota {'],
    // not in the schema: the answer to an invalid document
    ['an unknown field', '{ nonsense }'],
    ['a document that is too deep', `{ ${'jobs { nodes { '.repeat(12)} id ${'} }'.repeat(12)} }`],
    ['more than 1,000 tokens', `{ ${'__typename '.repeat(1100)} }`],
  ])('%s is an error message of the operation', async (_what, query) => {
    const ws = await ready();
    ws.send(subscribe('1', query));
    const { payload } = await ws.next('error');
    expect(payload).toMatchObject([{ extensions: { code: 'invalid_request' } }]);
    ws.socket.close();
  });

  test("each operation takes a slot of its key's window, and one beyond it is refused by itself", async () => {
    const free = await server.createOrg({ plan: 'free' });
    const ws = await ready({ authorization: `Bearer ${free.key}` });
    for (let n = 0; n < 31; n++) ws.send(subscribe(`${n}`, '{ __typename }'));
    const refused = await ws.next('error');
    expect(refused).toMatchObject({
      payload: [{ message: 'Rate limit exceeded', extensions: { code: 'rate_limited', httpStatus: 429 } }],
    });
    const results = () => ws.messages.filter(({ type }) => type === 'next').length;
    while (results() < 30) await ws.next('complete');
    expect(results()).toBe(30);
    ws.socket.close();
  });

  test.each([
    ['a NUL', '"\\u0000"'],
    ['a lone surrogate', '"\\ud800"'],
    ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000)],
  ])('variables with %s end their operation with a 400, and the connection goes on', async (_what, value) => {
    const ws = await ready();
    // not in the schema: the variable is only there to be parsed
    const query = 'query ($v: JSON) { penstockVersion { api } }';
    ws.send(`{"id":"1","type":"subscribe","payload":{"query":"${query}","variables":{"v":${value}}}}`);
    expect(await ws.next('error')).toMatchObject({
      id: '1',
      payload: [{ extensions: { code: 'invalid_request', httpStatus: 400 } }],
    });
    ws.send(subscribe('2', '{ penstockVersion { api } }'));
    expect(await ws.next('complete')).toMatchObject({ id: '2' });
    ws.socket.close();
  });

  test.each([
    ['a field', 'subscription { jobUpdates @skip(if: true) { type } }'],
    [
      'a fragment',
      'subscription { ...f @include(if: false) } fragment f on Subscription { jobUpdates { type } }',
    ],
    ['a field in a fragment', 'subscription { ... { jobUpdates @include(if: false) { type } } }'],
  ])('a subscription to nothing, by %s that is left out, is invalid', async (_what, query) => {
    const ws = await ready();
    ws.send(subscribe('1', query));
    expect(await ws.next('error')).toMatchObject({
      payload: [{ extensions: { code: 'invalid_request', httpStatus: 400 } }],
    });
    ws.socket.close();
  });

  test('a ping is answered with its payload', async () => {
    const ws = await ready();
    ws.send({ type: 'ping', payload: { n: 1 } });
    expect(await ws.next('pong')).toEqual({ type: 'pong', payload: { n: 1 } });
    ws.socket.close();
  });

  test('an id is free again once its operation was completed by the client', async () => {
    const ws = await ready();
    ws.send(subscribe('1', 'subscription { jobUpdates { sequence } }'));
    ws.send({ id: '1', type: 'complete' });
    ws.send(subscribe('1', '{ __typename }'));
    expect(await ws.next('next')).toMatchObject({ id: '1' });
    ws.socket.close();
  });

  test('the result of what its client has completed does not come as that of the next operation of its id', async () => {
    const body = { prompt: 'x @sandbox{"delay_ms":20000}', size: '512x512' };
    const made = await server.rest<{ id: string }>('POST', '/images/generations?async=true', { key, body });
    const ws = await ready();
    ws.send(subscribe('1', `{ job(id: "${made.body.id}", poll: true) { id } }`));
    await sleep(200);
    ws.send({ id: '1', type: 'complete' });
    ws.send(subscribe('1', 'subscription { jobUpdates { sequence } }'));
    ws.send(subscribe('2', '{ penstockVersion { api } }'));
    await ws.next('complete');
    await server.rest('DELETE', `/jobs/${made.body.id}`, { key });
    expect(await ws.next('next')).toMatchObject({ id: '1', payload: { data: { jobUpdates: {} } } });
    expect(ws.messages.filter(({ id, type }) => id === '1' && type === 'next')).toHaveLength(1);
    ws.socket.close();
  });

  test('a chat comes token by token', async () => {
    const ws = await ready();
    const content = JSON.stringify('Hello @sandbox{"tokens":5}');
    const input = `{ messages: [{ role: user, content: ${content} }] }`;
    ws.send(
      subscribe(
        '1',
        `subscription { chatCompletion(input: ${input}) { object choices { delta { content } finishReason } usage { completionTokens } } }`,
      ),
    );
    await ws.next('complete');
    const chunks = ws.messages
      .filter(({ type }) => type === 'next')
      .map(({ payload }) => (payload as { data: { chatCompletion: Chunk } }).data.chatCompletion);
    expect(chunks.at(-1)).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [{ finishReason: 'stop' }],
      usage: { completionTokens: 5 },
    });
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toMatch(
      /^This is the Penstock/,
    );
    ws.socket.close();
  });
});

interface Chunk {
  choices: { delta: { content: string | null } }[];
}
