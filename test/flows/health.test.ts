import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestClient } from '../support/client.js';
import { createInstallation, freePort, type Installation } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation.close());

const get = async (server: TestServer, path: string) => {
  const answer = await server.raw(path, { method: 'GET' });
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
};

test.each(['all', 'api', 'worker'] as const)(
  'a process with the role %s is alive and ready',
  async (role) => {
    const server = await startPenstock({ installation, role });
    expect(await get(server, '/healthz')).toEqual({ status: 200, body: { status: 'ok', role } });
    expect((await get(server, '/readyz')).status).toBe(200);
    await server.close();
  },
);

test('a worker serves no API', async () => {
  const server = await startPenstock({ installation, role: 'worker' });
  expect((await get(server, '/api/v1/quota')).status).toBe(404);
  await server.close();
});

test('who calls while a process starts is served as soon as it can, and probes are told at once', async () => {
  const { key } = await installation.createOrg();
  const port = await freePort();
  const client = createTestClient(`http://127.0.0.1:${port}`);
  const starting = startPenstock({ installation, port });
  const get = (path: string) => client.raw(path, { method: 'GET' });
  const probe = (path: string) => eventually(() => get(path).catch(() => null), { everyMs: 1 });
  const [ready, alive] = await Promise.all([probe('/readyz'), probe('/healthz')]);
  for (const { body } of [ready, alive]) await body.dump();
  expect([ready.statusCode, alive.statusCode]).toEqual([503, 200]);
  const query = 'query { quota { orgId } }';
  const [called, pushed] = await Promise.all([
    client.rest('GET', '/quota', { key }),
    client.ws(key).iterate({ query }).next(),
  ]);
  expect(called.status).toBe(200);
  expect(pushed.value).toHaveProperty('data.quota.orgId');
  await client.close();
  await (await starting).close();
});

test('a process that is ready has the connections that a call needs, also where PostgreSQL has no more to give', async () => {
  const name = `narrow_${process.pid}`;
  const url = new URL(installation.databaseUrl);
  await installation.sql(
    `CREATE ROLE ${name} LOGIN PASSWORD 'x' IN ROLE ${url.username}, penstock_system, penstock_tenant`,
  );
  [url.username, url.password] = [name, 'x'];
  const { key } = await installation.createOrg();
  const server = await startPenstock({ installation, role: 'api', env: { DATABASE_URL: url.href } });
  try {
    await eventually(async () => (await get(server, '/readyz')).status === 200);
    await installation.sql(`DO $$ BEGIN EXECUTE format('ALTER ROLE ${name} CONNECTION LIMIT %s',
      (SELECT count(*) FROM pg_stat_activity WHERE usename = '${name}')); END $$`);
    const body = { messages: [{ role: 'user', content: 'Hi' }] };
    expect((await server.rest('POST', '/chat/completions', { key, body })).status).toBe(200);
  } finally {
    await server.close();
    await installation.sql(`DROP ROLE ${name}`);
  }
});

test('processes with different signing secrets are not ready', async () => {
  const one = await startPenstock({ installation, env: { SIGNING_SECRET: 'a'.repeat(32) } });
  const other = { ...installation, env: { ...installation.env, SIGNING_SECRET: 'b'.repeat(32) } };
  const two = await startPenstock({ installation: other });
  expect((await get(two, '/readyz')).status).toBe(503);
  expect((await get(one, '/readyz')).status).toBe(503);
  expect((await get(one, '/healthz')).status).toBe(200);
  await two.close();
  expect((await get(one, '/readyz')).status).toBe(200);
  await one.close();
});

describe('the edge', () => {
  let server: TestServer;
  beforeAll(async () => {
    const env = { CORS_ORIGINS: 'https://app.example', TRUST_PROXY: 'loopback' };
    server = await startPenstock({ installation, env });
  });
  afterAll(() => server.close());

  test('strangers get 60 refusals a minute by address, told in the headers, then 429', async () => {
    const ask = () => server.rest('GET', '/quota', { headers: { 'x-forwarded-for': '203.0.113.9' } });
    const first = await ask();
    expect(first.status).toBe(401);
    expect(first.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' });
    for (let n = 1; n < 60; n++) expect((await ask()).status).toBe(401);
    const beyond = await ask();
    expect(beyond).toMatchObject({ status: 429, body: { error: 'Rate limit exceeded' } });
    expect(Number(beyond.headers['retry-after'])).toBeGreaterThan(0);
    const elsewhere = await server.rest('GET', '/quota', { headers: { 'x-forwarded-for': '203.0.113.10' } });
    expect(elsewhere.status).toBe(401);
    const remaining = async (forwarded: string) =>
      (await server.rest('GET', '/quota', { headers: { 'x-forwarded-for': forwarded } })).headers[
        'x-ratelimit-remaining'
      ];
    // One client, however its proxy writes it; what a client wrote itself stands further left and counts for nothing.
    expect(await remaining('198.51.100.7')).toBe('59');
    expect(await remaining('10.0.0.1, 198.51.100.7:51000')).toBe('58');
    expect(await remaining('[2001:db8::7]:51000')).toBe('59');
    expect(await remaining('198.51.100.7, 2001:db8::8')).toBe('58');
  });

  test("a caller's sane request id is kept, another is replaced", async () => {
    const { key } = await installation.createOrg();
    const kept = await server.rest('GET', '/quota', { key, headers: { 'x-request-id': 'trace-42' } });
    expect(kept.headers['x-request-id']).toBe('trace-42');
    for (const id of ['a b"{}', key, `trace:${key}`]) {
      const made = await server.rest('GET', '/quota', { key, headers: { 'x-request-id': id } });
      expect(made.headers['x-request-id']).toMatch(/^req_/);
    }
  });

  test.each(['/healthz', '/readyz', '/docs', '/nowhere', '/api/v1/openapi.json', '/files/x', '/graphql'])(
    'every answer names its request: %s',
    async (path) => {
      const answer = await server.raw(path, { method: 'GET', headers: { 'x-request-id': 'trace-43' } });
      await answer.body.dump();
      expect(answer.headers['x-request-id']).toBe('trace-43');
    },
  );

  test('every REST answer names its request, its type as meant and its window', async () => {
    const { key } = await installation.createOrg();
    const chat = { messages: [{ role: 'user', content: 'Hi' }] };
    const answers: [method: string, path: string, body: object | null, headers: object][] = [
      ['GET', '/quota', null, {}],
      ['POST', '/chat/completions', chat, {}],
      ['POST', '/chat/completions', { ...chat, stream: true }, {}],
      ['POST', '/chat/completions', chat, { 'idempotency-key': 'once' }],
      ['POST', '/chat/completions', chat, { 'idempotency-key': 'once' }],
      ['POST', '/chat/completions', {}, {}],
      ['DELETE', '/quota', null, {}],
      ['OPTIONS', '/quota', null, {}],
      ['GET', '/nowhere', null, {}],
      ['GET', '/quota', null, { authorization: 'Bearer none' }],
    ];
    for (const [method, path, body, headers] of answers) {
      const answer = await server.raw(`/api/v1${path}`, {
        method: method as 'GET',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-request-id': 'trace-44',
          ...headers,
        },
        body: body && JSON.stringify(body),
      });
      await answer.body.dump();
      expect([method, path, answer.headers]).toMatchObject([
        method,
        path,
        {
          'x-request-id': 'trace-44',
          'x-content-type-options': 'nosniff',
          'x-ratelimit-limit': expect.stringMatching(/^\d+$/) as string,
          'x-ratelimit-remaining': expect.stringMatching(/^\d+$/) as string,
          'x-ratelimit-reset': expect.stringMatching(/^\d{10}$/) as string,
        },
      ]);
    }
  });

  test("what the API answers without a key tells the address's window", async () => {
    const page = await server.raw('/graphql', { method: 'GET', headers: { accept: 'text/html' } });
    await page.body.dump();
    const preflight = await server.raw('/api/v1/quota', {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'GET' },
    });
    await preflight.body.dump();
    for (const { headers } of [page, preflight])
      expect(headers).toMatchObject({
        'x-ratelimit-limit': '60',
        'x-ratelimit-remaining': expect.any(String),
        'x-ratelimit-reset': expect.any(String),
      });
  });

  test('CORS answers configured origins only and exposes the headers that clients read', async () => {
    const preflight = async (origin: string) => {
      const headers = {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      };
      const answer = await server.raw('/api/v1/chat/completions', { method: 'OPTIONS', headers });
      await answer.body.dump();
      return answer;
    };
    const allowed = await preflight('https://app.example');
    expect(allowed.statusCode).toBe(204);
    expect(allowed.headers['access-control-allow-origin']).toBe('https://app.example');
    const foreign = await preflight('https://evil.example');
    expect(foreign.headers['access-control-allow-origin']).toBeUndefined();
    const unnamed = await server.rest('GET', '/quota', { headers: { 'x-forwarded-for': '203.0.113.11' } });
    expect(unnamed.headers).toMatchObject({ vary: 'Origin' });
    expect(unnamed.headers['access-control-allow-origin']).toBeUndefined();
    const refused = await server.rest('GET', '/quota', {
      headers: { origin: 'https://app.example', 'x-forwarded-for': '203.0.113.11' },
    });
    expect(refused.headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining');
    expect(refused.headers['access-control-expose-headers']).toContain('Idempotent-Replayed');
  });

  test('what Express refuses shows no stack', async () => {
    const answer = await server.raw('/assets/%E0%A4%A', { method: 'GET' });
    expect(answer.statusCode).toBe(400);
    expect(await answer.body.json()).toEqual({ error: 'Bad request', code: 'invalid_request' });
  });

  test.each(['h2c', 'websocket'])(
    'an offer of %s where there is none is answered in HTTP/1.1',
    async (upgrade) => {
      const { key } = await installation.createOrg();
      const ask = (method: string, path: string, { authorization = `Bearer ${key}`, body = '' } = {}) =>
        new Promise<number | undefined>((resolve, reject) => {
          const headers = {
            authorization,
            connection: 'Upgrade',
            upgrade,
            'content-type': 'application/json',
            'content-length': body.length,
          };
          const asked = request(`${server.origin}${path}`, { method, headers }, (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          });
          asked.on('error', reject).on('upgrade', reject).end(body);
        });
      const messages = [{ role: 'user', content: 'Hi' }];
      expect(await ask('GET', '/api/v1/quota')).toBe(200);
      expect(await ask('GET', '/api/v1/quota', { authorization: 'Bearer none' })).toBe(401);
      expect(await ask('POST', '/api/v1/chat/completions', { body: JSON.stringify({ messages }) })).toBe(200);
      expect(await ask('POST', '/graphql', { body: '{"query":"{ quota { orgId } }"}' })).toBe(200);
    },
  );

  /** What the server answers to bytes as they are. */
  const sendRaw = (...parts: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
      let answer = '';
      socket
        .setEncoding('utf8')
        .on('error', reject)
        .on('close', () => resolve(answer));
      socket.on('data', (text: string) => {
        answer += text;
        const waits = answer.endsWith('\r\n\r\n') || /^data: /m.test(answer);
        const next = waits ? parts.shift() : undefined;
        if (next !== undefined) socket.write(next);
      });
      socket.write(parts.shift() ?? '');
    });
  const close = 'connection: close\r\n\r\n';
  const handshake = (headers: Record<string, string>): string => {
    const all = {
      host: 'x',
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `GET /graphql HTTP/1.1\r\n${lines.join('')}\r\n`;
  };

  test.each([
    ['no Host', `GET /api/v1/models HTTP/1.1\r\n${close}`, 400],
    ['an unknown expectation', `GET /api/v1/models HTTP/1.1\r\nhost: x\r\nexpect: tea\r\n${close}`, 417],
    ['CONNECT', `CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n${close}`, 405],
    ['an unknown method', `FROB / HTTP/1.1\r\nhost: x\r\n${close}`, 400],
    ['no HTTP', 'hello\r\n\r\n', 400],
    [
      'headers over 32 KB',
      `GET /api/v1/models HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(40_000)}\r\n${close}`,
      431,
    ],
    [
      'a length and chunks',
      `POST /api/v1/x HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n${close}0\r\n\r\n`,
      400,
    ],
    ['a WebSocket without a key', handshake({ 'sec-websocket-key': '' }), 400],
    ['a WebSocket with a short key', handshake({ 'sec-websocket-key': 'abc' }), 400],
    ['a WebSocket of another version', handshake({ 'sec-websocket-version': '99' }), 400],
    ['a WebSocket with broken protocols', handshake({ 'sec-websocket-protocol': ',,a' }), 400],
    [
      'a page of another origin with a cookie',
      `GET /graphql HTTP/1.1\r\nhost: x\r\norigin: https://evil.example\r\ncookie: a=b\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
      403,
    ],
    ['a whole URL as its target', `GET http://x/api/v1/nope HTTP/1.1\r\nhost: x\r\n${close}`, 401],
  ])('%s is answered in JSON with a request id and the rate limit headers', async (_what, bytes, status) => {
    const answer = await sendRaw(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/\r\nx-request-id: req_/i);
    for (const name of ['limit', 'remaining', 'reset'])
      expect(answer).toMatch(new RegExp(`\\r\\nx-ratelimit-${name}: \\d+\\r\\n`, 'i'));
    expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({ error: expect.any(String) as string });
    if (status === 405) expect(answer).toMatch(/\r\nallow: [A-Z, ]+\r\n/i);
  });

  test('a WebSocket of another version is told which ones there are', async () => {
    const answer = await sendRaw(handshake({ 'sec-websocket-version': '99' }));
    expect(answer).toMatch(/\r\nsec-websocket-version: 13, 8\r\n/i);
  });

  test('a sender that waits for 100 Continue is refused before its body, or told to go on', async () => {
    const { key } = await installation.createOrg();
    const body = '{"messages":[{"role":"user","content":"hi"}]}';
    const head = (authorization: string) =>
      `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n${close}`;
    expect(await sendRaw(head('Bearer sk_wrong'))).toMatch(/^HTTP\/1.1 401 /);
    const answer = await sendRaw(head(`Bearer ${key}`), body);
    expect(answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
  });

  describe('what is no HTTP after a request', () => {
    let head: string;
    const chat = (content: string, stream = false): string => {
      const body = JSON.stringify({ stream, messages: [{ role: 'user', content }] });
      return `${head}content-length: ${body.length}\r\n\r\n${body}`;
    };
    beforeAll(async () => {
      const { key } = await installation.createOrg();
      head = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n`;
    });
    const statuses = (answer: string) => answer.match(/HTTP\/1\.1 \d+/g)?.map((line) => line.slice(9));

    test.each(['}', 'GARBAGE\r\n\r\n'])(
      '(%j) leaves it its answer, the last of the connection',
      async (junk) => {
        const answer = await sendRaw(`${chat('one')}${junk}`);
        expect(statuses(answer)).toEqual(['200']);
        expect(answer).toMatch(/\r\nconnection: close\r\n/i);
        expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toHaveProperty('choices');
      },
    );

    test('leaves pipelined requests all of their answers, in their order', async () => {
      const slow = chat('@sandbox{"tokens":5,"chunk_ms":20}');
      const answer = await sendRaw(`${slow}${chat('two')}${chat('three')}}`);
      expect(statuses(answer)).toEqual(['200', '200', '200']);
      expect(answer.match(/\r\nconnection: close\r\n/gi)).toHaveLength(1);
      expect(answer.lastIndexOf('HTTP/1.1')).toBeLessThan(answer.search(/\r\nconnection: close\r\n/i));
    });

    test('leaves a stream its end, however much of it comes, and is heard once', async () => {
      const warnings: Error[] = [];
      const note = (warning: Error) => void warnings.push(warning);
      process.on('warning', note);
      const stream = chat('@sandbox{"tokens":50,"chunk_ms":20}', true);
      const answer = await sendRaw(stream, ...Array.from({ length: 30 }, () => 'nonsense\r\n\r\n'));
      process.off('warning', note);
      expect(statuses(answer)).toEqual(['200']);
      expect(answer).toContain('data: [DONE]');
      expect(warnings).toEqual([]);
    });

    test('is refused where it is a part of one, after the answers to those before it', async () => {
      const broken = `${head}transfer-encoding: chunked\r\n\r\nnonsense\r\n`;
      expect(statuses(await sendRaw(broken))).toEqual(['400']);
      const answer = await sendRaw(`${chat('@sandbox{"tokens":5,"chunk_ms":20}')}${broken}`);
      expect(statuses(answer)).toEqual(['200', '400']);
      expect(answer).toMatch(/\r\n\r\n{"error":"Bad request","code":"invalid_request"}$/);
    });
  });

  test('two Authorization headers are no key', async () => {
    const { key } = await installation.createOrg();
    const answer = await server.raw('/api/v1/quota', {
      method: 'GET',
      headers: ['authorization', `Bearer ${key}`, 'authorization', `Bearer ${key}`],
    });
    await answer.body.dump();
    expect(answer.statusCode).toBe(401);
  });
});
