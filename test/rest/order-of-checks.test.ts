import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server?.close());

describe('a faulty word in the query', () => {
  it.each([
    ['/images/generations?async=maybe', { prompt: 'x' }, 'async must be true or false'],
    [
      '/chat/completions?stream=1',
      { model: 'sandbox/chat-powerful', messages: [{ role: 'user', content: 'x' }] },
      'stream must be true or false',
    ],
  ])('is told after the plan was looked at: POST %s', async (path, body, error) => {
    const free = await server.createOrg({ plan: 'free' });
    expect(await server.rest('POST', path, { key: free.key, body })).toMatchObject({
      status: 403,
      body: { error: 'Model tier not allowed', param: 'model' },
    });
    const team = await server.createOrg({ plan: 'cli_team' });
    expect(await server.rest('POST', path, { key: team.key, body })).toMatchObject({
      status: 400,
      body: { error },
    });
  });
});

describe('a body that is JSON and no object', () => {
  const headers = { 'content-type': 'application/json' };
  const paths = ['/chat/completions', '/images/generations', '/agents', '/agents/x/run'];

  it.each(paths)('is looked at after the scope: POST %s', async (path) => {
    const { key } = await server.createOrg({ scopes: ['usage'] });
    expect(await server.rest('POST', path, { key, headers, body: '[]' })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    });
  });

  it.each(paths)('is 400, and takes a slot as any other fault of validation does: POST %s', async (path) => {
    const { key } = await server.createOrg();
    const remaining: number[] = [];
    for (const body of ['[]', 'null']) {
      const answer = await server.rest('POST', path, { key, headers, body });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: 'Request body must be a JSON object', code: 'invalid_request' },
      });
      remaining.push(Number(answer.headers['x-ratelimit-remaining']));
    }
    expect(remaining[1]).toBe((remaining[0] ?? 0) - 1);
  });
});
