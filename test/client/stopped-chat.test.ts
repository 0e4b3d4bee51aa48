import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import WebSocket from 'ws';
import { createPenstock } from '../../client/src/index.js';
import type { ChatChunk, Penstock, PenstockError } from '../../client/src/index.js';
import { chunk, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let upstream: FakeUpstream;
let server: TestServer;
let key: string;
let penstock: Penstock;
let errors: PenstockError[];
beforeAll(async () => {
  upstream = await startFakeUpstream();
  const models = [{ id: 'acme/chat', type: 'chat', tier: 'basic', upstreamId: 'm' }];
  const acme = { id: 'acme', kind: 'openai-compatible', baseUrl: upstream.baseUrl, apiKey: 'k', models };
  server = await startPenstock({ providers: { providers: [acme] } });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(async () => {
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  errors = [];
  const onError = (error: PenstockError) => void errors.push(error);
  penstock = createPenstock({ url: server.origin, webSocketImpl: WebSocket, key, onError });
  upstream.requests.length = 0;
});
afterEach(() => penstock.close());

const input = { model: 'acme/chat', messages: [{ role: 'user' as const, content: 'Of weirs' }] };

/** The only record, when its operation has ended. */
async function ended() {
  return eventually(async () => {
    const { nodes } = await penstock.query.usageRecords();
    return nodes.length === 1 && nodes[0]!.state !== 'reserved' && nodes[0]!;
  });
}

it('a chat that is stopped is aborted at its upstream, and only what was delivered is charged', async () => {
  upstream.always({ chunks: [chunk({ content: 'One ' }), chunk({ content: 'two' })], then: 'hang' });
  const chunks: ChatChunk[] = [];
  const ends: unknown[] = [];
  const stop = penstock.streamChat(input, {
    next: (one) => chunks.push(one),
    end: (error) => ends.push(error),
  });
  await eventually(() => Promise.resolve(chunks.some(({ choices }) => choices[0]?.delta.content === 'two')));
  const seen = chunks.length;
  stop();
  stop();
  await upstream.requests[0]!.hungUp;
  const record = await ended();
  expect(record).toMatchObject({ operation: 'chat', state: 'settled', status: 'cancelled' });
  expect(record.tokens!.output).toBeGreaterThan(0);
  expect(record.tokens!.output).toBeLessThan(10);
  const { nodes } = await penstock.query.responses();
  expect(nodes.map(({ status }) => status)).toEqual(['cancelled']);
  expect([chunks.length, ends, errors]).toEqual([seen, [], []]);
  expect(upstream.requests).toHaveLength(1);
});

it('a chat that is stopped before its first word costs nothing, also where the stop overtakes it', async () => {
  upstream.always({ chunks: [], then: 'hang' });
  const chunks: ChatChunk[] = [];
  const stop = penstock.streamChat(input, { next: (one) => chunks.push(one) });
  // Nothing was sent yet: the connection is still being made.
  stop();
  const record = await ended();
  expect(record).toMatchObject({ operation: 'chat', state: 'released', amounts: [] });
  for (const { hungUp } of upstream.requests) await hungUp;
  expect([chunks, errors]).toEqual([[], []]);
});

it('what was started under a key is cancelled by it, once, and by nobody else', async () => {
  upstream.always({ chunks: [chunk({ content: 'One' })], then: 'hang' });
  const cancel = (idempotencyKey: string, who = penstock) =>
    who.mutate.cancelResponseByKey({ idempotencyKey }).then(({ response }) => response);
  expect(await cancel('nothing')).toBeNull();
  const { id } = await penstock.mutate.startResponse({
    input: { model: 'acme/chat', input: 'Of weirs' },
    idempotencyKey: 'weirs',
  });
  const { key: strangers } = await server.createOrg({ plan: 'business_monthly' });
  const stranger = createPenstock({ url: server.origin, webSocketImpl: WebSocket, key: strangers });
  expect(await cancel('weirs', stranger)).toBeNull();
  stranger.close();
  expect(await cancel('weirs')).toMatchObject({ id, status: 'cancelled' });
  expect(await cancel('weirs')).toMatchObject({ id, status: 'cancelled' });
});
