import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeToken, openEvents } from '../support/client-tokens.js';
import { signIn } from '../support/people.js';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';

const LIST = '{ callableModels { id } }';
const MODELS = 'query Models($first: Boolean = true) { models(available: $first) { id } }';
const WATCH = 'subscription Watch { jobUpdates { type } }';
const CANCEL = 'mutation Cancel($id: ID!) { cancelJob(id: $id) { __typename } }';
const FREE = '{ quota { orgId } }';
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

let allowing: TestServer;
let strict: TestServer;
let key: string;
let router: string;
let orgId: string;

async function publish(name: string, manifest: unknown): Promise<Record<string, unknown>> {
  const file = join(allowing.installation.dataDir, name);
  await writeFile(file, JSON.stringify(manifest));
  return await allowing.installation.cli('documents', 'publish', file);
}

beforeAll(async () => {
  allowing = await startPenstock({ env: { TRUSTED_DOCUMENTS: 'allow' } });
  const { installation } = allowing;
  strict = await startPenstock({ installation, env: { TRUSTED_DOCUMENTS: 'only' } });
  ({ orgId, key } = await installation.createOrg());
  const made = await installation.cli<{ key: string }>(
    ...['key', 'create', '--org', orgId, '--name', 'router', '--scopes', 'all', '--router'],
  );
  router = made.key;
  const operations = [LIST, WATCH, CANCEL].map((body) => ({
    id: hashOf(body),
    body,
    name: 'x',
    type: 'query',
  }));
  const apollo = { format: 'apollo-persisted-query-manifest', version: 1, operations };
  expect(await publish('apollo.json', apollo)).toEqual({ documents: 3, added: 3 });
  expect(await publish('apollo.json', apollo)).toEqual({ documents: 3, added: 0 });
  const md5 = createHash('md5').update(MODELS).digest('hex');
  expect(await publish('relay.json', { [md5]: MODELS })).toEqual({ documents: 1, added: 1 });
});
afterAll(async () => {
  await strict?.close();
  await allowing?.close();
});

type Parts = Record<string, unknown>;
const apq = (hash: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash: hash } } });

async function send(
  server: TestServer,
  credential: string,
  parts: Parts,
  headers: Record<string, string> = {},
) {
  const answer = await server.raw('/graphql', {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(parts),
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

async function get(server: TestServer, parts: Parts, headers: Record<string, string> = {}) {
  const texts = Object.entries(parts).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const query = new URLSearchParams(Object.fromEntries(texts) as Record<string, string>);
  const answer = await server.raw(`/graphql?${query}`, {
    method: 'GET',
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

describe('a document that was published', () => {
  it('runs by its id, or by the hash of its text, over GET and POST', async () => {
    const md5 = createHash('md5').update(MODELS).digest('hex');
    for (const server of [allowing, strict])
      for (const parts of [
        { documentId: hashOf(LIST) },
        { documentId: md5, variables: { first: false } },
        { documentId: hashOf(MODELS) },
        apq(hashOf(LIST)),
        { ...apq(hashOf(LIST)), query: LIST },
        { query: '', ...apq(hashOf(MODELS)) },
      ]) {
        const posted = await send(server, key, parts);
        expect([parts, posted.status, posted.text.startsWith('{"data"')]).toEqual([parts, 200, true]);
        const got = await get(server, parts);
        expect([parts, got.status, got.text]).toEqual([parts, 200, posted.text]);
      }
  });

  it('is answered privately, with an ETag that a GET may ask by', async () => {
    const parts = { documentId: hashOf(MODELS) };
    const { headers } = await get(allowing, parts);
    const etag = String(headers['etag']);
    expect([headers['cache-control'], etag]).toEqual(['private', expect.stringMatching(/^W\/"/)]);
    expect(await get(allowing, parts, { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
    expect((await get(allowing, parts, { 'if-none-match': '"x"' })).status).toBe(200);
    const posted = await send(allowing, key, parts);
    expect([posted.headers['cache-control'], posted.headers['etag']]).toEqual(['private', etag]);
    expect((await get(allowing, { query: LIST })).headers['etag']).toBeUndefined();
  });

  it('keeps its meaning: another text under its id, and what is no manifest, are refused', async () => {
    for (const manifest of [
      { [hashOf(LIST)]: FREE },
      { a: LIST, b: 7 },
      { '': LIST },
      { a: ' ' },
      {},
      [],
      { format: 'other', version: 1, operations: [{ id: 'x', body: LIST }] },
    ])
      await expect(publish('bad.json', manifest)).rejects.toThrow();
    expect((await send(allowing, key, { documentId: 'a' })).status).toBe(400);
  });

  it('is a mutation by POST alone', async () => {
    const parts = { documentId: hashOf(CANCEL), variables: { id: 'unknown' } };
    expect((await get(allowing, parts)).status).toBe(405);
    expect((await send(strict, key, parts)).text).toContain('Job not found');
  });

  it('streams over WebSocket and event streams', async () => {
    for (const server of [allowing, strict]) {
      const ws = await openRawWebSocket(server.wsUrl);
      ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
      await ws.next('connection_ack');
      ws.send({ id: '1', type: 'subscribe', payload: { query: '', ...apq(hashOf(LIST)) } });
      expect(await ws.next('next')).toMatchObject({
        payload: { data: { callableModels: expect.any(Array) } },
      });
      ws.socket.close();
      const { token } = await makeToken(server, key, { scopes: ['usage'] });
      const events = await openEvents(
        `${server.graphqlUrl}?${new URLSearchParams({ documentId: hashOf(WATCH) })}&access_token=${token}`,
      );
      expect(events.status).toBe(200);
      events.close();
    }
  });
});

it('an unknown name is told in the words that clients of Apollo’s convention know', async () => {
  for (const parts of [{ documentId: 'nothing' }, apq('0'.repeat(64))])
    for (const answer of [await send(allowing, key, parts), await get(strict, parts)])
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('PersistedQueryNotFound')]);
  // Told so, they send the text too: it is run, but not kept.
  const both = { query: FREE, ...apq(hashOf(FREE)) };
  expect((await send(allowing, key, both)).status).toBe(200);
  expect((await send(allowing, key, apq(hashOf(FREE)))).status).toBe(400);
  expect((await send(allowing, key, { ...both, query: LIST })).status).toBe(400);
  for (const documentId of [7, {}, 'x'.repeat(256)])
    expect((await send(allowing, key, { documentId })).status).toBe(400);
});

describe('TRUSTED_DOCUMENTS=only', () => {
  it('binds keys and client tokens, whatever they send it by', async () => {
    const { token } = await makeToken(strict, router, { scopes: ['usage'] });
    for (const credential of [key, token]) {
      expect((await send(strict, credential, { query: LIST })).status).toBe(200);
      for (const parts of [{ query: FREE }, { query: FREE, ...apq(hashOf(FREE)) }, { query: `${LIST} ` }])
        for (const accept of ['application/json', 'text/event-stream', 'application/json, text/event-stream'])
          expect(await send(strict, credential, parts, { accept })).toMatchObject({
            status: 403,
            text: expect.stringContaining('Only trusted documents may be sent'),
          });
      const ws = await openRawWebSocket(strict.wsUrl);
      ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${credential}` } });
      await ws.next('connection_ack');
      ws.send({ id: '1', type: 'subscribe', payload: { query: FREE } });
      expect(JSON.stringify(await ws.next('error'))).toContain('Only trusted documents may be sent');
      ws.socket.close();
    }
    expect((await strict.rest('GET', '/quota', { key })).status).toBe(200);
  });

  it('does not bind a router’s keys, nor people', async () => {
    expect((await send(strict, router, { query: FREE })).status).toBe(200);
    const person = await signIn(strict, { orgId, email: 'o@trusted.example', role: 'owner' });
    expect((await person.graphql(FREE)).data).toMatchObject({ quota: { orgId } });
  });
});
