import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { openEvents } from '../support/client-tokens.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startPenstock({ env: { CORS_ORIGINS: 'https://app.example.com' } });
  ({ key } = await server.createOrg());
});
afterAll(() => server?.close());

async function get(path: string, headers: Record<string, string> = {}) {
  const answer = await server.raw(path, {
    method: 'GET',
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: answer.headers, bytes };
}

const UNPACK = { br: brotliDecompressSync, gzip: gunzipSync };
const DESCRIPTIONS = [
  '/api/v1/openapi.json',
  '/v1/openapi.json',
  '/graphql/schema.graphql',
  '/graphql/client.graphql',
  '/asyncapi.json',
];

describe('a text over 1 kB', () => {
  it.each(['/api/v1/models', '/v1/models', ...DESCRIPTIONS])(
    'at %s comes packed to who accepts it',
    async (path) => {
      const plain = await get(path);
      expect(plain.headers['content-encoding']).toBeUndefined();
      for (const [accepted, encoding] of [
        ['gzip, deflate, br', 'br'],
        ['gzip', 'gzip'],
        ['br;q=0, gzip;q=0.5', 'gzip'],
        ['*', 'br'],
      ] as const) {
        const { headers, bytes } = await get(path, { 'accept-encoding': accepted });
        expect([accepted, headers['content-encoding']]).toEqual([accepted, encoding]);
        expect(String(headers['vary'])).toBe('Origin,Accept-Encoding');
        expect(Number(headers['content-length'])).toBe(bytes.length);
        expect(UNPACK[encoding](bytes).equals(plain.bytes)).toBe(true);
        expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
      }
      for (const accepted of ['identity', 'br;q=0', 'gzip;q=0.0', 'zstd', ''])
        expect(
          (await get(path, { 'accept-encoding': accepted })).headers['content-encoding'],
        ).toBeUndefined();
      const { headers } = await get(path, { 'accept-encoding': 'gzip', origin: 'https://app.example.com' });
      expect(headers['vary']).toEqual(['Origin', 'Accept-Encoding']);
    },
  );

  it('is packed over GraphQL too, and a short one is not', async () => {
    const query = `/graphql?${new URLSearchParams({ query: '{ models { id provider } }' })}`;
    const { headers } = await get(query, { 'accept-encoding': 'br' });
    expect(headers['content-encoding']).toBe('br');
    const short = await get('/graphql?query=%7Bversion%7D', { 'accept-encoding': 'br' });
    expect([short.headers['content-encoding'], short.headers['vary']]).toEqual([undefined, 'Origin']);
  });
});

it('event streams are never packed', async () => {
  const query = new URLSearchParams({ query: '{ models { id provider } }' });
  const events = await openEvents(`${server.graphqlUrl}?${query}`, {
    authorization: `Bearer ${key}`,
    'accept-encoding': 'gzip, br',
  });
  await events.ended;
  expect(events.text()).toContain('event: complete');
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hello @sandbox{"tokens":500}' }] });
  const chat = await server.raw('/v1/chat/completions?stream=true', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'accept-encoding': 'gzip, br',
    },
    body,
  });
  expect([chat.statusCode, chat.headers['content-encoding']]).toEqual([200, undefined]);
  await chat.body.dump();
});

describe('a description', () => {
  it.each(DESCRIPTIONS)('at %s needs no key and has an ETag, whatever it is packed with', async (path) => {
    const first = await server.raw(path, { method: 'GET', headers: {} });
    const etag = String(first.headers['etag']);
    expect([first.statusCode, etag]).toEqual([200, expect.stringMatching(/^W\/"[\w-]{27}"$/)]);
    await first.body.dump();
    for (const given of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const again = await get(path, { 'if-none-match': given, 'accept-encoding': 'br' });
      expect([given, again.status, again.bytes.length]).toEqual([given, 304, 0]);
      expect(again.headers['x-request-id']).toBeDefined();
    }
    expect((await get(path, { 'if-none-match': 'W/"other"' })).status).toBe(200);
  });

  it('of the graph is the published SDL', async () => {
    const { bytes, headers } = await get('/graphql/schema.graphql');
    expect(bytes.toString()).toBe(readFileSync('schema/schema.graphql', 'utf8'));
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(headers['x-ratelimit-limit']).toBeDefined();
  });

  it('of events is the published AsyncAPI document', async () => {
    const { bytes, headers } = await get('/asyncapi.json');
    expect(JSON.parse(bytes.toString())).toEqual(parse(readFileSync('schema/asyncapi.yaml', 'utf8')));
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['x-ratelimit-limit']).toBeDefined();
  });
});

it.each(['/dashboard', '/docs'])(
  '%s names its assets by their content, to be kept for ever',
  async (page) => {
    const { bytes } = await get(page);
    const names = [...bytes.toString().matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(
      ([, name]) => name ?? '',
    );
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      const [, hash] = /-([\w-]{8}|[0-9a-f]{16})\.(?:js|css|svg)$/.exec(name) ?? [];
      expect(hash, name).toBeDefined();
      const { status, headers } = await get(`/${name}`, { 'accept-encoding': 'br' });
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
      if (bytes.length > 1024) expect(headers['vary']).toContain('Accept-Encoding');
      const old = await get(`/${name.replace(hash!, '0'.repeat(hash!.length))}`);
      expect([old.status, old.headers['cache-control']]).toEqual([200, 'no-cache']);
      expect((await get(`/${name.replace(`-${hash}`, '')}`)).headers['cache-control']).toBe('no-cache');
    }
  },
);
