import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync, deflateRawSync, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';
import { at, type V1 } from './v1.js';

let server: TestServer;
let v1: V1;
let key: string;

beforeAll(async () => {
  server = await startPenstock({
    providers: {
      aliases: {
        'gpt-4o-mini': 'sandbox/chat-basic',
        'claude-*': 'sandbox/chat-standard',
        'claude-opus-*': 'sandbox/chat-powerful',
      },
    },
    plans: {
      endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } },
      plans: { pro_monthly: { bodies: { heldMb: 2 } } },
    },
  });
  v1 = at(server, '/v1');
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => server?.close());

const messages = [{ role: 'user', content: 'Hello. @sandbox{"tokens":8}' }];
const bearer = () => ({ authorization: `Bearer ${key}` });

describe('credentials at /v1', () => {
  it('are taken in Authorization, x-api-key and api-key, as often as they agree', async () => {
    const accepted: Record<string, string>[] = [
      bearer(),
      { 'x-api-key': key },
      { 'api-key': key },
      { ...bearer(), 'x-api-key': key, 'api-key': key },
      { 'x-api-key': key, 'api-key': '' },
      { authorization: 'Bearer ', 'x-api-key': key },
    ];
    for (const headers of accepted)
      expect([headers, (await v1('GET', '/models', { headers })).status]).toEqual([headers, 200]);
  });

  it('are refused where none is shown, or two that differ, in the convention that the client speaks', async () => {
    const other = (await server.createOrg({ plan: 'free' })).key;
    for (const headers of [
      {},
      { 'x-api-key': 'sk_short' },
      { ...bearer(), 'x-api-key': other },
      { 'x-api-key': key, 'api-key': other },
      { authorization: 'Basic eDp5', 'x-api-key': key },
    ] as Record<string, string>[]) {
      const answer = await v1('GET', '/models', { headers });
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({
        error: {
          message: 'Invalid or missing API key',
          type: 'authentication_error',
          param: null,
          code: 'invalid_api_key',
        },
      });
      expect(answer.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-request-id': /^req_/ });
    }
    const anthropic = await v1('POST', '/messages', { body: {} });
    expect(anthropic.status).toBe(401);
    expect(anthropic.body).toEqual({
      type: 'error',
      error: { type: 'authentication_error', message: 'Invalid or missing API key' },
      request_id: anthropic.headers['request-id'],
    });
  });
});

describe('answers at /v1', () => {
  it('carry the three windows and the request id under both names', async () => {
    const { headers } = await v1('POST', '/chat/completions', {
      headers: { ...bearer(), 'x-request-id': 'mine-1' },
      body: { messages },
    });
    expect(headers).toMatchObject({ 'x-request-id': 'mine-1', 'request-id': 'mine-1' });
    for (const name of ['limit', 'remaining', 'reset'])
      expect(Number(headers[`x-ratelimit-${name}`])).toBeGreaterThan(0);
  });

  it('name the other address where a path is there', async () => {
    const cases = [
      ['/v1', 'GET', '/quota', '/api/v1/quota'],
      ['/v1', 'POST', '/v1/chat/completions', '/v1/chat/completions'],
      ['/api/v1', 'GET', '/v1/models', '/api/v1/models'],
      ['/api/v1', 'POST', '/completions', '/v1/completions'],
    ] as const;
    for (const [address, method, path, known] of cases) {
      const answer = await at(server, address)(method, path, {
        headers: bearer(),
        ...(method === 'POST' ? { body: {} } : {}),
      });
      const said = `Not found: this path is at ${server.origin}${known}`;
      expect(answer.status).toBe(404);
      expect(JSON.stringify(answer.body)).toContain(said);
    }
    expect((await v1('GET', '/nowhere', { headers: bearer() })).body).toEqual({
      error: { message: 'Not found', type: 'invalid_request_error', param: null, code: 'not_found' },
    });
    const other = await v1('GET', '/chat/completions', { headers: bearer() });
    expect([other.status, other.headers['allow']]).toEqual([405, 'POST']);
    expect(other.body).toMatchObject({
      error: { type: 'invalid_request_error', code: 'method_not_allowed' },
    });
  });
});

describe('what is refused before any route at /v1', () => {
  it('is refused in the convention, and at /api/v1 in the contract', async () => {
    const refused = async (path: string, more = '') => {
      const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
      socket.end(`GET ${path} HTTP/1.1\r\nConnection: close\r\n${more}\r\n`);
      const text = await new Response(Readable.toWeb(socket) as ReadableStream).text();
      return JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as unknown;
    };
    const message = 'Host header is required';
    expect(await refused('/api/v1/models')).toEqual({ error: message, code: 'invalid_request' });
    const error = { message, type: 'invalid_request_error', param: null, code: 'invalid_request' };
    expect(await refused('/v1/models')).toEqual({ error });
    expect(await refused('/v1/models', 'anthropic-version: 2023-06-01\r\n')).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message },
      request_id: expect.stringMatching(/^req_/),
    });
  });
});

describe('bodies at /v1', () => {
  const json = JSON.stringify({ messages, model: 'gpt-4o-mini', nonsense: 1, seed: null, store: true });

  it('may be packed, undeclared, and come to paths with slashes too many', async () => {
    const sendings: [string, string | Buffer, Record<string, string>][] = [
      ['/chat/completions/', json, { 'content-type': 'application/json' }],
      ['//chat///completions', json, { 'content-type': 'application/json' }],
      ['/chat/completions', json, {}],
      ['/chat/completions', gzipSync(json), { 'content-encoding': 'gzip' }],
      ['/chat/completions', deflateSync(json), { 'content-encoding': 'deflate' }],
      ['/chat/completions', deflateRawSync(json), { 'content-encoding': 'Deflate' }],
    ];
    for (const [path, body, headers] of sendings) {
      const answer = await v1('POST', path, { body, headers: { ...bearer(), ...headers } });
      expect([headers, answer.status]).toEqual([headers, 200]);
      expect(answer.body).toMatchObject({ model: 'sandbox/chat-basic' });
    }
  });

  it('are refused in the convention: too large as they unpack, broken, of another type', async () => {
    const bomb = gzipSync(Buffer.alloc(36 * 1024 * 1024, 0x20));
    const cases: [string | Buffer, Record<string, string>, number, string][] = [
      [bomb, { 'content-encoding': 'gzip' }, 413, 'payload_too_large'],
      [gzipSync(json).subarray(0, 40), { 'content-encoding': 'gzip' }, 400, 'invalid_request'],
      [gzipSync('{"messages"'), { 'content-encoding': 'gzip' }, 400, 'invalid_request'],
      [json, { 'content-encoding': 'br' }, 415, 'unsupported_media_type'],
      [json, { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
      ['{', { 'content-type': 'application/json' }, 400, 'invalid_request'],
      ['[]', { 'content-type': 'application/json' }, 400, 'invalid_request'],
    ];
    for (const [body, headers, status, code] of cases) {
      const answer = await v1('POST', '/chat/completions', { body, headers: { ...bearer(), ...headers } });
      expect([headers, answer.status]).toEqual([headers, status]);
      expect(answer.body).toMatchObject({ error: { type: 'invalid_request_error', code } });
    }
  });

  it('count against the byte budget of their key as they unpack', async () => {
    const { key: small } = await server.createOrg({ plan: 'pro_monthly' });
    const body = gzipSync(Buffer.alloc(8 * 1024 * 1024, 0x20));
    const answer = await v1('POST', '/chat/completions', {
      body,
      headers: { authorization: `Bearer ${small}`, 'content-encoding': 'gzip' },
    });
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '1']);
    expect(answer.body).toMatchObject({
      error: { message: 'Too many request bytes in progress', type: 'rate_limit_error' },
    });
    const json = JSON.stringify({ messages, max_tokens: 3 });
    const next = await v1('POST', '/chat/completions', {
      body: json,
      headers: { authorization: `Bearer ${small}` },
    });
    expect(next.status).toBe(200);
  });

  it('under one Idempotency-Key are equal where they are once they are unpacked and routed', async () => {
    const headers = { ...bearer(), 'idempotency-key': 'packed-1', 'content-type': 'application/json' };
    const first = await v1('POST', '/chat/completions', { body: json, headers });
    const again = await v1('POST', '//chat/completions/', {
      body: gzipSync(json),
      headers: { ...headers, 'content-encoding': 'gzip' },
    });
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const elsewhere = await at(server, '/api/v1')('POST', '/chat/completions', { body: json, headers });
    expect(elsewhere.status).toBe(422);
  });
});

describe('names of models', () => {
  const modelOf = async (address: string, model: string) => {
    const { status, body } = await at(server, address)('POST', '/chat/completions', {
      headers: bearer(),
      body: { messages, model },
    });
    return status === 200 ? (body as { model: string }).model : (body as { error: unknown }).error;
  };

  it('may be aliases at both addresses, and the last part of one id at /v1', async () => {
    for (const address of ['/v1', '/api/v1']) {
      expect(await modelOf(address, 'gpt-4o-mini')).toBe('sandbox/chat-basic');
      expect(await modelOf(address, 'claude-anything-20991231')).toBe('sandbox/chat-standard');
      expect(await modelOf(address, 'claude-opus-9')).toBe('sandbox/chat-powerful');
    }
    expect(await modelOf('/v1', 'chat-standard')).toBe('sandbox/chat-standard');
    expect(await modelOf('/api/v1', 'chat-standard')).toBe('Unknown model: chat-standard');
    expect(await modelOf('/v1', 'no-such-model')).toEqual({
      message: 'Unknown model: no-such-model',
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    });
  });
});
