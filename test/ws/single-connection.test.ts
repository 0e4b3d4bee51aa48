import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeToken } from '../support/client-tokens.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';
import type { JobHub } from '../../subscriptions/index.js';

/** Sends what the client of graphql-sse sends with `singleConnection: true`. */

const TOKEN = 'x-graphql-event-stream-token';
const UPDATES = 'subscription { jobUpdates { type job { id } } }';

let server: TestServer;
let key: string;
let orgId: string;
beforeAll(async () => {
  server = await startPenstock();
  ({ key, orgId } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => server?.close());

interface Sent {
  token?: string;
  as?: string;
  body?: object;
  search?: string;
  headers?: Record<string, string>;
}

async function send(method: string, { token, as = key, body, search = '', headers = {} }: Sent = {}) {
  const answer = await fetch(server.graphqlUrl + search, {
    method,
    headers: {
      authorization: `Bearer ${as}`,
      ...(token === undefined ? {} : { [TOKEN]: token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

const run = (query: string, operationId?: unknown) => ({ query, extensions: { operationId } });

/** What came by the stream. `text` grows until the stream ends. */
interface Stream {
  status: number;
  text: string;
  isOver: boolean;
  leave(): void;
}

async function openStream(token: string, { as = key, search = '' } = {}): Promise<Stream> {
  const leaving = new AbortController();
  const answer = await fetch(server.graphqlUrl + search, {
    headers: {
      accept: 'text/event-stream',
      ...(search === '' ? { authorization: `Bearer ${as}`, [TOKEN]: token } : {}),
    },
    signal: leaving.signal,
  });
  const stream: Stream = { status: answer.status, text: '', isOver: false, leave: () => leaving.abort() };
  const read = async () => {
    for await (const bytes of answer.body!) stream.text += Buffer.from(bytes).toString();
  };
  read().then(
    () => (stream.isOver = true),
    () => (stream.isOver = true),
  );
  return stream;
}

async function connect(as = key): Promise<{ token: string; stream: Stream }> {
  const { status, text, headers } = await send('PUT', { as });
  expect([status, headers.get('content-type')]).toEqual([201, 'text/plain; charset=utf-8']);
  expect(headers.get('x-ratelimit-limit')).not.toBeNull();
  return { token: text, stream: await openStream(text, { as }) };
}

const draw = async (as = key): Promise<string> => {
  const body = { prompt: 'A weir' };
  const job = await server.rest<{ id: string }>('POST', '/images/generations?async=true', { key: as, body });
  return job.body.id;
};

describe('a single connection of graphql-sse', () => {
  test('carries the results of many operations, each under its id, until each has ended or is stopped', async () => {
    const { token, stream } = await connect();
    const begin = async (query: string, id: string) =>
      expect((await send('POST', { token, body: run(query, id) })).status).toBe(202);
    await begin(UPDATES, 'live');
    await begin('{ __typename }', 'once');
    // not in the schema: the answer to an invalid document
    await begin('{ nonsense }', 'wrong');
    const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    await eventually(() => stream.text.includes(event('complete', { id: 'wrong' })));
    expect(stream.text).toContain(
      event('next', { id: 'once', payload: { data: { __typename: 'Query' } } }) +
        event('complete', { id: 'once' }),
    );
    expect(stream.text).toContain('event: next\ndata: {"id":"wrong","payload":{"errors":[');
    const job = await draw();
    await eventually(() => stream.text.includes(`{"id":"live","payload":{"data":{"jobUpdates":`));
    expect(stream.text).toContain(job);
    expect((await send('POST', { token, body: run(UPDATES, 'live') })).status).toBe(409);
    expect((await send('DELETE', { token, search: '?operationId=live' })).status).toBe(200);
    expect((await send('DELETE', { token, search: '?operationId=live' })).status).toBe(404);
    const later = await draw();
    await begin(`{ job(id: "${later}") { status } }`, 'live');
    await eventually(() => stream.text.includes(event('complete', { id: 'live' })));
    expect(stream.text.split(later).length).toBe(1);
    stream.leave();
  });

  test('is its maker’s alone, takes one stream, and asks each operation for an id', async () => {
    const { token, stream } = await connect();
    const other = await server.createKey(orgId);
    const foreign = { token, as: other.key };
    expect((await send('POST', { ...foreign, body: run(UPDATES, '1') })).status).toBe(404);
    expect((await send('DELETE', { ...foreign, search: '?operationId=1' })).status).toBe(404);
    expect((await openStream(token, { as: other.key })).status).toBe(404);
    expect((await openStream(token)).status).toBe(409);
    expect((await openStream('nothing')).status).toBe(404);
    for (const id of [undefined, '', 5, 'x'.repeat(256)])
      expect((await send('POST', { token, body: run(UPDATES, id) })).status).toBe(400);
    const mutation = run('mutation { cancelJob(id: "x") { job { id } } }', 'm');
    const keyed = await send('POST', { token, body: mutation, headers: { 'idempotency-key': 'k' } });
    expect(keyed.status).toBe(400);
    const search = `?${new URLSearchParams({ query: mutation.query, extensions: '{"operationId":"m"}' })}`;
    expect((await send('GET', { token, search })).status).toBe(405);
    const unopened = await send('PUT');
    expect((await send('POST', { token: unopened.text, body: run(UPDATES, '1') })).status).toBe(409);
    expect((await send('PATCH', { token, body: {} })).status).toBe(405);
    expect((await send('PUT', { as: 'nobody' })).status).toBe(401);
    stream.leave();
  });

  test('of a client token may be opened by EventSource, and ends with its maker', async () => {
    const maker = await server.createKey(orgId);
    const { token: as } = await makeToken(server, maker.key, { scopes: ['usage', 'image'] });
    const { text: token } = await send('PUT', { as });
    const stream = await openStream(token, { search: `?token=${token}&access_token=${as}` });
    expect(stream.status).toBe(200);
    expect((await send('POST', { token, as, body: run(UPDATES, '1') })).status).toBe(202);
    await server.cli('key', 'revoke', '--id', maker.id);
    await eventually(() => stream.isOver);
  });

  test('leaves nothing behind when its client leaves', async () => {
    const hub = server.services.jobEvents as JobHub;
    const before = hub.size;
    const { token, stream } = await connect();
    for (let id = 0; id < 20; id++) await send('POST', { token, body: run(UPDATES, `op-${id}`) });
    await eventually(() => hub.size > before);
    stream.leave();
    await eventually(() => hub.size === before);
    expect((await send('POST', { token, body: run(UPDATES, 'late') })).status).toBe(404);
  });
});
