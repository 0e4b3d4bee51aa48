import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server.close());

let keys = 0;
const fresh = () => ({ 'idempotency-key': `graph ${(keys += 1)}` });
const kept = async (orgId: string) => {
  const rows = await server.installation.sql<{ n: number }>(
    'SELECT count(*)::int AS n FROM idempotency_keys WHERE org_id = $1',
    [orgId],
  );
  return rows[0]!.n;
};
const agents = async (key: string) => {
  const { body } = await server.rest<{ agents: { name: string }[] }>('GET', '/agents', { key });
  return body.agents.map(({ name }) => name).sort();
};

const CREATE = `mutation Make($input: CreateAgentInput!) { createAgent(input: $input) { id name } }`;
const inputOf = (name: string) => ({ input: { name, systemPrompt: 'Be brief.' } });

describe('one Idempotency-Key that a router sends with every fetch', () => {
  test('is for mutations: documents without one are neither kept nor refused, whatever the key looks like', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
    const values = ['graph page', '', 'k'.repeat(300)];
    const documents = [
      '{ models { id } }',
      '{ __typename }',
      'query Quota { quota { orgId } }',
      // What is executed decides, not what stands beside it.
      'query { quota { orgId } } # mutation',
    ];
    for (const value of values)
      for (const query of documents) {
        const answer = await server.graphql(query, { key, headers: { 'idempotency-key': value } });
        expect(answer).toMatchObject({ status: 200, errors: [] });
        expect(answer.headers['idempotent-replayed']).toBeUndefined();
      }
    expect(await kept(orgId)).toBe(0);
  });

  test('of two operations in a document the one that is executed decides', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
    const query = `query Read { quota { orgId } } mutation Make { createAgent(input: { name: "Both", systemPrompt: "x" }) { id } }`;
    const post = async (operationName: string, headers: Record<string, string>) => {
      const answer = await fetch(server.graphqlUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
        body: JSON.stringify({ query, operationName }),
      });
      await answer.text();
      return answer.headers.get('idempotent-replayed');
    };
    const headers = fresh();
    expect([await post('Read', headers), await post('Read', headers)]).toEqual([null, null]);
    expect(await kept(orgId)).toBe(0);
    expect([await post('Make', headers), await post('Make', headers)]).toEqual([null, 'true']);
    expect(await agents(key)).toEqual(['Both']);
  });

  test('each mutation with its variables is a call of its own: none is a mismatch, and each is done once', async () => {
    const { key } = await server.createOrg({ plan: 'business_monthly' });
    const headers = fresh();
    const other = 'mutation { createAgent(input: { name: "Third", systemPrompt: "x" }) { id } }';
    const ask = async () => [
      await server.graphql(CREATE, { key, headers, variables: inputOf('First') }),
      await server.graphql(CREATE, { key, headers, variables: inputOf('Second') }),
      await server.graphql(other, { key, headers }),
    ];
    const first = await ask();
    const second = await ask();
    for (const { status, errors } of [...first, ...second])
      expect({ status, errors }).toEqual({ status: 200, errors: [] });
    expect(second.map(({ data }) => data)).toEqual(first.map(({ data }) => data));
    expect(second.map((answer) => answer.headers['idempotent-replayed'])).toEqual(['true', 'true', 'true']);
    expect(await agents(key)).toEqual(['First', 'Second', 'Third']);
  });

  test('the same mutation is the same call however its request is written down', async () => {
    const { key } = await server.createOrg({ plan: 'pro_monthly' });
    const { input } = inputOf('Once');
    const bodies = [
      JSON.stringify({ query: CREATE, variables: { input } }),
      JSON.stringify({ variables: { input }, query: CREATE }, null, 2),
      JSON.stringify({
        query: CREATE,
        variables: { input: Object.fromEntries(Object.entries(input).reverse()) },
      }),
      JSON.stringify({
        query: CREATE,
        variables: { input },
        extensions: { trace: 'b7' },
        operationName: null,
      }),
    ];
    const headers = { ...fresh(), 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const answers = [];
    for (const [at, body] of bodies.entries()) {
      const url = at === 0 ? server.graphqlUrl : `${server.graphqlUrl}?fetch=${at}`;
      answers.push(await (await fetch(url, { method: 'POST', headers, body })).text());
    }
    expect(new Set(answers).size).toBe(1);
    expect(await agents(key)).toEqual(['Once']);
  });

  test('a key that REST uses too is not mistaken for it', async () => {
    const { key } = await server.createOrg({ plan: 'pro_monthly' });
    const headers = fresh();
    const body = { name: 'Rest', system_prompt: 'x' };
    expect(await server.rest('POST', '/agents', { key, body, headers })).toMatchObject({ status: 200 });
    expect(await server.graphql(CREATE, { key, headers, variables: inputOf('Graph') })).toMatchObject({
      errors: [],
    });
    expect(
      await server.rest('POST', '/agents', { key, body: { ...body, name: 'Other' }, headers }),
    ).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
    expect(await agents(key)).toEqual(['Graph', 'Rest']);
  });

  test('an event stream ignores it, but for a mutation, whose answer it could not keep', async () => {
    const { key } = await server.createOrg({ plan: 'pro_monthly' });
    const post = async (query: string) => {
      const answer = await fetch(server.graphqlUrl, {
        method: 'POST',
        headers: {
          ...fresh(),
          'content-type': 'application/json',
          accept: 'text/event-stream',
          authorization: `Bearer ${key}`,
        },
        body: JSON.stringify({ query }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    expect(await post('{ quota { orgId } }')).toMatchObject({ status: 200 });
    const refused = await post('mutation { createAgent(input: { name: "x", systemPrompt: "x" }) { id } }');
    expect(refused).toMatchObject({ status: 400 });
    expect(await agents(key)).toEqual([]);
  });
});

describe('a refusal of the whole request uses the media type that was asked for', () => {
  const STRICT = 'application/graphql-response+json; charset=utf-8';
  const JSON_TYPE = 'application/json; charset=utf-8';
  const accepts: [string, string][] = [
    ['application/graphql-response+json', STRICT],
    ['application/graphql-response+json, application/json;q=0.5', STRICT],
    ['application/json', JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['text/event-stream', JSON_TYPE],
    ['text/event-stream, application/graphql-response+json;q=0.1', JSON_TYPE],
  ];
  const deep = `{ ${'a{'.repeat(60)}b${'}'.repeat(60)} }`;
  const faults: [string, number, (key: string) => RequestInit][] = [
    [
      'a bad key',
      401,
      () => ({ body: '{"query":"{ __typename }"}', headers: { authorization: 'Bearer sk_bad' } }),
    ],
    ['malformed JSON', 400, () => ({ body: '{' })],
    ['a body of another type', 415, () => ({ body: 'x', headers: { 'content-type': 'text/plain' } })],
    ['a document over a limit', 400, () => ({ body: JSON.stringify({ query: deep }) })],
    ['a batch', 400, () => ({ body: '[]' })],
  ];
  test.each(accepts)('%s', async (accept, type) => {
    const { key } = await server.createOrg();
    for (const [what, status, init] of faults) {
      const { headers, body } = init(key);
      const answer = await fetch(server.graphqlUrl, {
        method: 'POST',
        body: body!,
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${key}`,
          ...(headers as Record<string, string>),
          accept,
        },
      });
      expect({ what, status: answer.status, type: answer.headers.get('content-type') }).toEqual({
        what,
        status,
        type,
      });
      expect(await answer.json()).toMatchObject({ errors: [{ message: expect.any(String) as string }] });
    }
  });
});
