import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

const get = (server: TestServer, path: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
    const asked = request(`${server.origin}${path}`, { headers }, (response) => {
      response
        .resume()
        .on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    asked.on('error', reject).end();
  });
const connections = (policy: unknown) => /connect-src ([^;]*)/.exec(String(policy))?.[1]?.split(' ');
const PAGES: [string, Record<string, string>][] = [
  ['/dashboard', {}],
  ['/docs', {}],
  ['/graphql', { accept: 'text/html' }],
];

describe('an installation whose PUBLIC_URL is https', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPenstock({ env: { PUBLIC_URL: 'https://ai.example.com:8443/below' } });
  });
  afterAll(() => server.close());

  test('tells browsers with every answer that https is the only way', async () => {
    const { key } = await server.createOrg();
    const bearer = { authorization: `Bearer ${key}` };
    const asked: [string, Record<string, string>, number][] = [
      ['/api/v1/models', bearer, 200],
      ['/api/v1/models', {}, 401],
      ['/graphql?query=%7B__typename%7D', bearer, 200],
      ['/dashboard', {}, 200],
      ['/docs', {}, 200],
      ['/auth/options', {}, 200],
      ['/healthz', {}, 200],
      ['/files/nothing', {}, 404],
      ['/nowhere', {}, 404],
    ];
    for (const [path, headers, status] of asked) {
      const answer = await get(server, path, headers);
      expect({ path, status: answer.status, hsts: answer.headers['strict-transport-security'] }).toEqual({
        path,
        status,
        hsts: 'max-age=31536000',
      });
      // Told besides the others, not in their place.
      expect(answer.headers['x-content-type-options'] ?? path).toBeTruthy();
    }
  });

  test.each(PAGES)('%s connects to its own hosts only, behind a proxy too', async (path, headers) => {
    const answer = await get(server, path, { ...headers, host: 'inner:4000' });
    expect(connections(answer.headers['content-security-policy'])).toEqual([
      "'self'",
      'https://ai.example.com:8443',
      'wss://ai.example.com:8443',
      'ws://inner:4000',
      'wss://inner:4000',
    ]);
    for (const host of ['evil; script-src *', 'a b', '*', 'x/../y', "'unsafe-inline'"]) {
      const odd = await get(server, path, { ...headers, host });
      expect(connections(odd.headers['content-security-policy'])).toEqual([
        "'self'",
        'https://ai.example.com:8443',
        'wss://ai.example.com:8443',
      ]);
    }
  });
});

test('over plain http nothing is said of https, and pages name the host that they came from', async () => {
  const server = await startPenstock();
  try {
    const { host } = new URL(server.origin);
    for (const [path, headers] of PAGES) {
      const answer = await get(server, path, headers);
      expect(answer.headers['strict-transport-security']).toBeUndefined();
      expect(connections(answer.headers['content-security-policy'])).toEqual([
        "'self'",
        server.origin,
        `ws://${host}`,
        `wss://${host}`,
      ]);
    }
  } finally {
    await server.close();
  }
});
