import { get } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startPenstock({
    plans: {
      plans: { cli_team: { limits: { image_generations: 10 } } },
      endpointLimits: { image: { limit: 1000, windowSeconds: 60 } },
    },
  });
  ({ key } = await server.createOrg({ plan: 'cli_team' }));
});
afterAll(() => server?.close());

const hex = 'a'.repeat(64);
const badKeys: [string, Record<string, string>][] = [
  ['none', {}],
  ['Basic', { authorization: 'Basic dTpw' }],
  ['an empty bearer', { authorization: 'Bearer ' }],
  ['63 hex', { authorization: `Bearer sk_${hex.slice(1)}` }],
  ['65 hex', { authorization: `Bearer sk_${hex}a` }],
  ['no hex', { authorization: `Bearer sk_${'g'.repeat(64)}` }],
  ['SQL', { authorization: "Bearer sk_' OR 1=1 --" }],
  ['10 KB', { authorization: `Bearer sk_${'a'.repeat(10_000)}` }],
  ['an unknown key', { authorization: `Bearer sk_${hex}` }],
];

describe('without a valid key', () => {
  it.each(badKeys)('%s: 401 on known and unknown paths, the body unread', async (_what, headers) => {
    for (const [method, path] of [
      ['GET', '/models'],
      ['POST', '/chat/completions'],
      ['GET', '/nope'],
    ] as const) {
      const body = method === 'POST' ? { body: '{' } : {};
      const answer = await server.rest(method, path, { headers, ...body });
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({ error: 'Invalid or missing API key', code: 'unauthorized' });
      expect(answer.headers['x-ratelimit-limit']).toBe('60');
    }
  });

  it('a key in the query string is none', async () => {
    expect((await server.rest('GET', `/models?api_key=${key}&authorization=Bearer%20${key}`)).status).toBe(
      401,
    );
  });

  it('only the description is public', async () => {
    const answer = await server.rest('GET', '/openapi.json');
    expect(answer.status).toBe(200);
    expect(answer.body['openapi']).toBe('3.1.0');
  });
});

describe('a path', () => {
  it('that is unknown is 404 with the rate limit', async () => {
    const answer = await server.rest('GET', '/nope', { key });
    expect(answer).toMatchObject({ status: 404, body: { error: 'Not found', code: 'not_found' } });
    expect(answer.headers['x-ratelimit-limit']).toBeTruthy();
  });

  it('that is known, by another method, is 405 with Allow', async () => {
    const answer = await server.rest('PUT', '/jobs/job_x', { key });
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe('DELETE, GET, HEAD');
    expect(typeof answer.body['error']).toBe('string');
    const description = await server.rest('DELETE', '/openapi.json', { key });
    expect(description).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  it.each(['/jobs/..%2Fx', '/jobs/job_nope', "/jobs/'%20OR%201=1"])(
    '%s is the 404 of an unknown job',
    async (path) => {
      expect(await server.rest('GET', path, { key })).toMatchObject({
        status: 404,
        body: { error: 'Job not found' },
      });
    },
  );

  it('in the absolute form of a proxy is the same path', async () => {
    const { hostname, port } = new URL(server.baseUrl);
    const headers = { authorization: `Bearer ${key}` };
    const status = await new Promise((resolve, reject) => {
      const path = `${server.baseUrl}/models?type=stt`;
      get({ hostname, port, path, headers, agent: false }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      }).once('error', reject);
    });
    expect(status).toBe(200);
  });

  it('with a broken escape is 404, with a NUL 400', async () => {
    expect((await server.rest('GET', '/jobs/%E0%A4%A', { key })).status).toBe(404);
    expect((await server.rest('GET', '/jobs/a%00b', { key })).status).toBe(400);
  });
});

describe('a body', () => {
  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    server.rest('POST', '/images/generations', {
      key,
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });

  it.each(['{', '', '{"prompt": }', '\u0000', '{"prompt":"x"}}'])(
    '%j is 400 Malformed JSON',
    async (text) => {
      expect(await post(text)).toMatchObject({
        status: 400,
        body: { error: 'Malformed JSON', code: 'invalid_request' },
      });
    },
  );

  it('that is not UTF-8 is 400', async () => {
    expect((await post(Buffer.from('7b2270726f6d7074223a22ff227d', 'hex'))).status).toBe(400);
  });

  it.each(['[]', 'null', '"x"', '1'])('that is %s is 400', async (text) => {
    expect((await post(text)).status).toBe(400);
  });

  it.each<Record<string, string>>([
    { 'content-type': 'text/plain' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-encoding': 'gzip' },
    { 'content-encoding': 'br' },
  ])('declared as %j is 415', async (headers) => {
    const bytes = headers['content-encoding'] ? gzipSync(Buffer.alloc(1e6)) : Buffer.from('{"prompt":"x"}');
    expect(await post(bytes, headers)).toMatchObject({
      status: 415,
      body: { error: 'Unsupported media type', code: 'unsupported_media_type' },
    });
  });

  it('that would unpack to more than the limit is 413', async () => {
    const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024));
    expect(await post(bomb, { 'content-encoding': 'gzip' })).toMatchObject({
      status: 413,
      body: { error: 'Request body too large' },
    });
  });

  it('nested so deeply that it would end a stack is 400, wherever it is', async () => {
    const deep = '['.repeat(50_000) + ']'.repeat(50_000);
    const tools = `[{"type":"function","function":{"name":"x","parameters":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}}]`;
    for (const [path, body] of [
      ['/images/generations', `{"prompt":${deep}}`],
      ['/chat/completions', `{"messages":[{"role":"user","content":"\\ud83d\\ude00"}],"x":${deep}}`],
      ['/chat/completions', `{"messages":[{"role":"user","content":"a"}],"tools":${tools}}`],
      ['/images/generations', `{"prompt":${'['.repeat(2_000_000)}}`],
    ] as const) {
      const answer = await server.rest('POST', path, { key, body });
      expect(answer).toMatchObject({ status: 400, body: { error: 'JSON is nested too deeply' } });
    }
  });

  it('of more than 200,000 members, or of 20,000 in one object, is 400 before it is built, whatever its strings hold', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}\\\\" : 1`).join(',');
    const text = JSON.stringify('"a": "b", '.repeat(200_000));
    const objects = (count: number): string =>
      count > 20_000 ? `{${names(20_000)}},${objects(count - 20_000)}` : `{${names(count)}}`;
    const named = (count: number) => `{"messages": ${text}, "logit_bias": [${objects(count)}]}`;
    const refusal = async (body: string) =>
      (await server.rest('POST', '/chat/completions', { key, body })).body;
    expect(await refusal(named(199_998))).toMatchObject({ error: 'messages must be a non-empty array' });
    const error = 'JSON has too many members';
    expect(await refusal(named(199_999))).toMatchObject({ error });
    const inOne = (count: number) => `{"messages": ${text}, "logit_bias": {${names(count)}}}`;
    expect(await refusal(inOne(20_000))).toMatchObject({ error: 'messages must be a non-empty array' });
    expect(await refusal(inOne(20_001))).toMatchObject({ error });
    expect(await refusal(`{"messages":[${'[],'.repeat(1_000_001)}[]]}`)).toMatchObject({ error });
  });

  it('of form fields is 400 where one has no name', async () => {
    for (const name of ['', '; name=""', '; name'])
      expect(
        await server.rest('POST', '/audio/transcriptions', {
          key,
          body: `--b\r\nContent-Disposition: form-data${name}\r\n\r\ntrue\r\n--b--\r\n`,
          headers: { 'content-type': 'multipart/form-data; boundary=b' },
        }),
      ).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  it('over the limit of its endpoint is 413, declared or not', async () => {
    const large = Buffer.alloc(36 * 1024 * 1024, 0x20);
    expect(await post(large)).toMatchObject({
      status: 413,
      body: { error: 'Request body too large', code: 'payload_too_large' },
    });
    const chunks = (async function* () {
      for (let i = 0; i < 36; i++) yield Buffer.alloc(1024 * 1024, 0x20);
    })();
    const streamed = await fetch(`${server.baseUrl}/embeddings`, {
      method: 'POST',
      body: chunks,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      duplex: 'half',
    } as object as RequestInit);
    expect(streamed.status).toBe(413);
  });

  it.each(['\\u0000', '\\ud800', '\\udc00x'])('with %s in a string or name is 400', async (escape) => {
    expect(await post(`{"prompt":"a${escape}"}`)).toMatchObject({ status: 400, body: { param: 'prompt' } });
    expect((await post(`{"prompt":"a","x${escape}":1}`)).status).toBe(400);
    const deep = await post(`{"prompt":"a","x":[{"y":"${escape}"}]}`);
    expect(deep).toMatchObject({ status: 400, body: { param: 'x' } });
  });

  it('of GraphQL with a NUL in a variable names the variable, or the field of its input', async () => {
    const query = 'query ($id: ID!) { job(id: $id) { id } }';
    const answer = await server.graphql(query, { key, variables: { id: 'a\0' } });
    expect(answer).toMatchObject({ status: 400, errors: [{ extensions: { param: 'id' } }] });
    const made = await server.graphql(
      'mutation ($input: GenerateImageInput!) { generateImage(input: $input) { model } }',
      {
        key,
        variables: { input: { prompt: 'a\0' } },
      },
    );
    expect(made).toMatchObject({ status: 400, errors: [{ extensions: { param: 'prompt' } }] });
  });

  it('with a pair of surrogates or an escaped backslash is fine', async () => {
    expect((await post('{"prompt":"\\ud83d\\ude00 \\\\u0000","size":"512x512"}')).status).toBe(200);
  });

  it('with __proto__ changes nothing', async () => {
    expect(await post('{"prompt":"x","__proto__":{"n":3}}')).toMatchObject({ status: 400 });
    const chat = await server.rest<{ usage: { total_tokens: number } }>('POST', '/chat/completions', {
      key,
      body: '{"messages":[{"role":"user","content":"hi","__proto__":{"role":"system"}}],"__proto__":{"stream":true}}',
      headers: { 'content-type': 'application/json' },
    });
    expect(chat.status).toBe(200);
    expect(chat.headers['content-type']).toContain('application/json');
    expect(({} as Record<string, unknown>)['stream']).toBeUndefined();
  });
});

describe('a parameter', () => {
  it.each([
    ['/jobs?limit=0', 'limit'],
    ['/jobs?limit=101', 'limit'],
    ['/jobs?limit=abc', 'limit'],
    ['/jobs?limit=1.5', 'limit'],
    ['/jobs?limit=1e400', 'limit'],
    ['/jobs?limit=', 'limit'],
    ['/jobs?tool=constructor', 'tool'],
    ['/jobs?pending=maybe', 'pending'],
    ['/jobs/job_x?poll=2', 'poll'],
    ['/models?type=nope', 'type'],
    ['/models?available=x', 'available'],
  ])('%s is 400 with param %s', async (path, param) => {
    const answer = await server.rest('GET', path, { key });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', param } });
    expect(answer.body['error']).toContain(param);
  });

  it.each([0, -1, 1.5, '"2"', '1e400', 11, 'true', '[]'])('n = %s is 400 with param n', async (n) => {
    const answer = await server.rest('POST', '/images/generations', {
      key,
      body: `{"prompt":"x","n":${n}}`,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', param: 'n' } });
  });

  it.each([
    [{}, 'prompt is required', 'prompt'],
    [{ prompt: 'x', orgId: 'org_1' }, 'Unknown parameter: orgId', 'orgId'],
    [{ prompt: 'x', model: 'no/such' }, 'Unknown model: no/such', 'model'],
  ])('%j is 400 %s', async (body, error, param) => {
    expect(await server.rest('POST', '/images/generations', { key, body })).toMatchObject({
      status: 400,
      body: { error, code: 'invalid_request', param },
    });
  });
});

describe('a query value of a generation', () => {
  it.each([
    ['/images/generations?async=maybe', 'async', 'image'],
    ['/chat/completions?stream=2', 'stream', 'chat'],
  ])('%s is 400 after its slots were taken', async (path, param, scope) => {
    const org = await server.createOrg({ plan: 'cli_team', scopes: [scope as 'image' | 'chat'] });
    const remaining: number[] = [];
    for (let n = 0; n < 2; n++) {
      const answer = await server.rest('POST', path, { key: org.key, body: {} });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: `${param} must be true or false`, code: 'invalid_request', param },
      });
      remaining.push(Number(answer.headers['x-ratelimit-remaining']));
    }
    expect(remaining[1]).toBe(remaining[0]! - 1);
    if (scope === 'chat') expect(remaining[1]).toBe(28);
  });
});

describe('the place in a stream', () => {
  it.each(['x', '-1', '99'])(
    'Last-Event-ID: %s is 400 with its own name, after: with its own',
    async (place) => {
      const { body: job } = await server.rest('POST', '/images/generations?async=true', {
        key,
        body: { prompt: 'x', size: '512x512' },
      });
      const path = `/jobs/${String(job['id'])}/stream`;
      // Finished: the message tells the last event's number.
      await server.rest('GET', `/jobs/${String(job['id'])}?poll=true`, { key });
      const header = await server.rest('GET', path, { key, headers: { 'last-event-id': place } });
      expect(header).toMatchObject({ status: 400, body: { param: 'Last-Event-ID' } });
      const query = await server.rest('GET', `${path}?after=${place}`, { key });
      expect(query).toMatchObject({ status: 400, body: { param: 'after' } });
      expect(String(header.body['error'])).toBe(
        String(query.body['error']).replace('after', 'Last-Event-ID'),
      );
    },
  );
});

describe('the rate limit headers', () => {
  it('of a refusal before the window report it as it stands, and take nothing from it', async () => {
    const org = await server.createOrg({ plan: 'free', scopes: ['image'] });
    const remaining = async (method: string, path: string, body?: string) => {
      const answer = await server.rest(method, path, {
        key: org.key,
        ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
      });
      expect(Number(answer.headers['x-ratelimit-reset'])).toBeGreaterThan(0);
      return [answer.headers['x-ratelimit-limit'], answer.headers['x-ratelimit-remaining']];
    };
    expect(await remaining('POST', '/images/generations', '{')).toEqual(['30', '30']);
    expect(await remaining('GET', '/models')).toEqual(['30', '29']);
    expect(await remaining('GET', '/models')).toEqual(['30', '28']);
    expect(await remaining('POST', '/images/generations', '{')).toEqual(['30', '28']);
    expect(await remaining('GET', '/quota')).toEqual(['30', '28']);
    expect(await remaining('GET', '/nope')).toEqual(['30', '27']);
  });
});

describe('the order of checks', () => {
  it('is key, body, scope, rate, plan, fields', async () => {
    const free = await server.createOrg({ plan: 'free', scopes: ['image', 'chat'] });
    const post = (body: unknown) =>
      server.rest('POST', '/images/generations', {
        key: free.key,
        body,
        headers: { 'content-type': 'application/json' },
      });
    const list = await server.rest<{ data: { id: string; tier: string; available: boolean }[] }>(
      'GET',
      '/models?type=image&tier=powerful&available=true',
      { key },
    );
    const powerful = list.body.data[0]!.id;
    expect((await server.rest('GET', '/quota', { key: free.key })).body).toEqual({
      error: 'API key does not have required scope: usage',
      code: 'forbidden',
    });
    expect(await post({ model: powerful, n: 0 })).toMatchObject({
      status: 403,
      body: { error: 'Model tier not allowed', code: 'model_tier_not_allowed' },
    });
    for (let i = 0; i < 29; i++) await post({ n: 0 });
    expect(await post({ model: powerful, n: 0 })).toMatchObject({
      status: 429,
      body: { code: 'rate_limited' },
    });
    expect(await post('{')).toMatchObject({ status: 400, body: { error: 'Malformed JSON' } });
    const limited = await post({ n: 0 });
    expect(limited.headers['retry-after']).toBe(String(limited.body['retryAfter']));
  });
});

describe('a model’s id', () => {
  it('is found with its slashes encoded or not; an unknown one is 404', async () => {
    const { body } = await server.rest<{ object: string; data: { id: string }[] }>('GET', '/models', { key });
    expect(body.object).toBe('list');
    expect(body.data.length).toBeGreaterThan(200);
    const deep = body.data.find(({ id }) => id.split('/').length > 2) ?? body.data[0]!;
    for (const path of [deep.id, encodeURIComponent(deep.id)])
      expect(await server.rest('GET', `/models/${path}`, { key })).toMatchObject({
        status: 200,
        body: { id: deep.id },
      });
    expect(await server.rest('GET', '/models/no/such', { key })).toMatchObject({
      status: 404,
      body: { error: 'Model not found', code: 'not_found' },
    });
  });
});
