import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'cli_team' }));
});
afterAll(() => server?.close());

const JSON_TYPE = 'application/json; charset=utf-8';
const STRICT_TYPE = 'application/graphql-response+json; charset=utf-8';

interface Sent {
  accept?: string;
  headers?: Record<string, string>;
}

/** @param parts a POST's body, or a GET's query string */
async function send(parts: object | URLSearchParams, { accept = '*/*', headers = {} }: Sent = {}) {
  const isGet = parts instanceof URLSearchParams;
  const response = await fetch(isGet ? `${server.graphqlUrl}?${parts.toString()}` : server.graphqlUrl, {
    ...(isGet ? {} : { method: 'POST', body: JSON.stringify(parts) }),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept, ...headers },
  });
  const type = response.headers.get('content-type');
  const json = (await response.json()) as {
    data?: Record<string, unknown> | null;
    errors?: { message: string; extensions: Record<string, unknown> }[];
  };
  return { status: response.status, type, replayed: response.headers.get('idempotent-replayed'), ...json };
}

describe('a client that sends hashes first', () => {
  const persistedQuery = { version: 1, sha256Hash: 'a'.repeat(64) };

  it.each([
    ['POST', { extensions: { persistedQuery } }],
    ['POST with the document', { query: '{ penstockVersion { api } }', extensions: { persistedQuery } }],
    ['GET', new URLSearchParams({ extensions: JSON.stringify({ persistedQuery }) })],
  ])('is told to send documents, by %s, in the word that it knows', async (_method, parts) => {
    expect(await send(parts)).toMatchObject({
      status: 400,
      errors: [{ message: 'PersistedQueryNotSupported', extensions: { code: 'invalid_request' } }],
    });
  });
});

describe('what a GraphQL client accepts', () => {
  it.each([
    'image/png',
    'text/html',
    'multipart/mixed',
    'application/json;v=1',
    'application/graphql+json',
    'application/json;q=0',
  ])(
    'throws no work away: a mutation for who accepts %s is done, answered in JSON, and kept under its key',
    async (accept) => {
      const mutation = {
        query:
          'mutation { createChatCompletion(input: { messages: [{ role: user, content: "Hi" }] }) { id } }',
      };
      const headers = { 'idempotency-key': accept };
      const first = await send(mutation, { accept, headers });
      expect(first).toMatchObject({ status: 200, type: JSON_TYPE, replayed: null });
      expect(first.errors).toBeUndefined();
      const again = await send(mutation, { accept: 'application/json', headers });
      expect(again).toMatchObject({ status: 200, replayed: 'true', data: first.data });
    },
  );

  it.each([
    ['application/json, application/graphql-response+json;q=0.5', JSON_TYPE],
    ['application/graphql-response+json;q=0, application/json', JSON_TYPE],
    ['application/graphql-response+json, application/json;q=0.9', STRICT_TYPE],
    ['APPLICATION/GRAPHQL-RESPONSE+JSON', STRICT_TYPE],
    ['*/*', JSON_TYPE],
  ])(
    'is read with its weights, for answers and for faults of the document alike: %s',
    async (accept, type) => {
      expect(await send({ query: '{ penstockVersion { api } }' }, { accept })).toMatchObject({
        status: 200,
        type,
      });
      // not in the schema: the answer to an invalid document
      const faulty = await send({ query: '{ nope }' }, { accept });
      expect(faulty).toMatchObject({ status: type === STRICT_TYPE ? 400 : 200, type });
    },
  );
});

describe('a GraphQL request in a query string', () => {
  const query = 'query ($id: ID!) { agent(id: $id) { id } }';
  const search = (parts: Record<string, string>) => new URLSearchParams(parts);

  it.each([
    ['variables', '{"id":"\\u0000"}', 'id'],
    ['variables', '{"constructor":"\\u0000"}', 'constructor'],
    ['variables', '{"id":"\\ud800"}', 'id'],
    ['extensions', '{"a":"\\u0000"}', 'extensions'],
  ])('with an escape in its %s that PostgreSQL cannot store is 400: %s', async (part, text, param) => {
    const { status, errors } = await send(search({ query, [part]: text }));
    expect(status).toBe(400);
    expect(errors?.[0]).toMatchObject({
      message: 'Strings must not contain \\u0000 or lone surrogates',
      extensions: { code: 'invalid_request', param },
    });
  });

  it('with variables of 3,000 levels is 400', async () => {
    const deep = `{"id":${'['.repeat(3_000)}${']'.repeat(3_000)}}`;
    expect(await send(search({ query, variables: deep }))).toMatchObject({ status: 400 });
  });

  it('may leave a part empty', async () => {
    const empty = { query: '{ penstockVersion { api } }', operationName: '', variables: '', extensions: '' };
    expect(await send(search(empty))).toMatchObject({ status: 200, data: { penstockVersion: {} } });
  });

  it('is none of a POST: a body that is null is 400, whatever its address says', async () => {
    const mutation = 'mutation { createAgent(input: { name: "Ghost", systemPrompt: "x" }) { id } }';
    const response = await fetch(`${server.graphqlUrl}?${search({ query: mutation }).toString()}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: 'null',
    });
    expect(response.status).toBe(400);
    const { body } = await server.rest<{ agents: unknown[] }>('GET', '/agents', { key });
    expect(body.agents).toEqual([]);
  });
});

describe('a chat over GraphQL', () => {
  const input = '(input: { messages: [{ role: user, content: "Hi" }] })';

  it('reports the window with the smaller share left, however it is answered', async () => {
    const own = await server.createOrg({ plan: 'cli_team' });
    const limits: (string | null)[] = [];
    const ask = async (query: string, accept: string) => {
      const response = await fetch(server.graphqlUrl, {
        method: 'POST',
        headers: { authorization: `Bearer ${own.key}`, 'content-type': 'application/json', accept },
        body: JSON.stringify({ query }),
      });
      expect(await response.text()).not.toContain('"errors"');
      limits.push(
        ['limit', 'remaining'].map((name) => response.headers.get(`x-ratelimit-${name}`)).join('/'),
      );
    };
    await ask(`mutation { createChatCompletion${input} { id } }`, 'application/json');
    await ask(`mutation { createChatCompletion${input} { id } }`, 'text/event-stream');
    await ask(`subscription { chatCompletion${input} { id } }`, 'text/event-stream');
    const [limit, first] = (limits[0] ?? '').split('/').map(Number);
    expect(limits).toEqual([0, 1, 2].map((taken) => `${limit}/${(first ?? 0) - taken}`));
  });
});

const audits = serverAudits({
  url: () => server.graphqlUrl,
  fetchFn: (input: string, init: RequestInit = {}) =>
    fetch(input, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${key}` },
    }),
});

describe('GraphQL over HTTP, audited as a server', () => {
  it('is asked all 61 questions', () => expect(audits).toHaveLength(61));

  it.each(audits.map((audit) => [`${audit.id} ${audit.name}`, audit] as const))(
    '%s',
    async (_name, audit) => {
      const result = await audit.fn();
      expect(result).toMatchObject({ status: 'ok' });
    },
  );
});
