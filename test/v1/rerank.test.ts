import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startNativeUpstream, type NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at, type V1Answer } from './v1.js';

let server: TestServer;
let upstream: NativeUpstream;
let org: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const native = { baseUrl: `${upstream.origin}/co`, apiKey: 'k', retry: { retries: 0 } };
  server = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: `${upstream.origin}/v1`,
          apiKey: 'k',
          retry: { retries: 0 },
          models: [{ id: 'acme/ranker', type: 'rerank', tier: 'standard', multiplier: 1.5, upstreamId: 'r' }],
        },
        {
          id: 'cohere',
          kind: 'cohere',
          ...native,
          models: [{ id: 'cohere/rerank-v3.5', type: 'rerank', tier: 'standard', upstreamId: 'rerank-v3.5' }],
        },
      ],
    },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(() => upstream.clear());

const QUERY = 'What is the capital of France?';
const DOCUMENTS = [
  'Bananas are yellow.',
  'Paris is the capital of France.',
  { text: 'The capital of Germany is Berlin.' },
];
const ask = (body: object, headers: Record<string, string> = {}): Promise<V1Answer> =>
  at(server, '/v1')('POST', '/rerank', {
    headers: { authorization: `Bearer ${org.key}`, ...headers },
    body: { query: QUERY, documents: DOCUMENTS, ...body },
  });

interface Row {
  operation: string;
  state: string;
  amounts: { bucket: string; amount: number }[];
}
async function ledger(): Promise<Row[]> {
  const query = '{ usageRecords(first: 100) { nodes { operation state amounts { bucket amount } } } }';
  const { data } = await server.graphql<{ usageRecords: { nodes: Row[] } }>(query, { key: org.key });
  return data!.usageRecords.nodes;
}

describe('a ranking', () => {
  it('has the best texts first, with their places and, where asked for, themselves', async () => {
    const { status, body } = await ask({ top_n: 2, return_documents: true, max_tokens_per_doc: 100 });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: expect.stringMatching(/^rerank_/),
      model: 'sandbox/rerank-basic',
      results: [{ index: 1, document: { text: DOCUMENTS[1] } }, { index: 2 }],
      usage: { search_units: 1, credits_used: 1 },
    });
    const bare = (await ask({ model: 'rerank-powerful' })).body as { results: object[]; usage: object };
    expect(bare.results).toHaveLength(3);
    expect(Object.keys(bare.results[0]!)).toEqual(['index', 'relevance_score']);
  });

  it('costs a credit for each started hundred of texts, times the multiplier', async () => {
    for (const [count, model, credits] of [
      [100, 'sandbox/rerank-basic', 1],
      [101, 'sandbox/rerank-basic', 2],
      [201, 'sandbox/rerank-standard', 5],
    ] as const) {
      const documents = Array.from({ length: count }, (_, index) => `Text ${index}`);
      const { body } = await ask({ documents, model });
      expect((body as { usage: object }).usage).toMatchObject({ credits_used: credits });
      expect((await ledger())[0]).toMatchObject({
        operation: 'rerank',
        amounts: [{ bucket: 'credits', amount: credits }],
      });
    }
    const estimate =
      '{ estimate(input: {rerank: {query: "x", documents: ["a"]}}) { model amounts { bucket amount } } }';
    const { data } = await server.graphql(estimate, { key: org.key });
    expect(data).toMatchObject({ estimate: { amounts: [{ bucket: 'credits', amount: 1 }] } });
  });

  it('is asked of upstreams that have the common form, and is charged for only when it came', async () => {
    upstream.on('/v1/rerank', {
      body: {
        results: [
          { index: 2, relevance_score: 0.1 },
          { index: 1, relevance_score: 0.9 },
        ],
      },
    });
    const { body } = await ask({ model: 'acme/ranker', top_n: 1 });
    expect(body).toMatchObject({ model: 'acme/ranker', results: [{ index: 1, relevance_score: 0.9 }] });
    expect(upstream.requests[0]?.json).toMatchObject({
      model: 'r',
      query: QUERY,
      documents: ['Bananas are yellow.', DOCUMENTS[1], 'The capital of Germany is Berlin.'],
      top_n: 1,
    });
    const before = (await ledger()).filter(({ state }) => state === 'settled').length;
    for (const results of [[{ index: 7, relevance_score: 1 }], [{ index: 0 }], [], 'no']) {
      upstream.clear();
      upstream.on('/v1/rerank', { body: { results } });
      expect(await ask({ model: 'acme/ranker' })).toMatchObject({
        status: 500,
        body: { error: { type: 'server_error' } },
      });
    }
    expect((await ledger()).filter(({ state }) => state === 'settled')).toHaveLength(before);
  });

  it('is asked of Cohere in its own words', async () => {
    upstream.on('/co/rerank', {
      body: { id: 'x', results: [{ index: 1, relevance_score: 0.8 }], meta: {} },
    });
    const answer = await ask({ model: 'cohere/rerank-v3.5', top_n: 1 });
    expect(answer).toMatchObject({ status: 200, body: { results: [{ index: 1, relevance_score: 0.8 }] } });
    expect(upstream.requests[0]?.json).toMatchObject({ model: 'rerank-v3.5', top_n: 1 });
  });

  it('is made once for one Idempotency-Key', async () => {
    const first = await ask({}, { 'idempotency-key': 'once' });
    const second = await ask({}, { 'idempotency-key': 'once' });
    expect(second.body).toEqual(first.body);
    expect(second.headers['idempotent-replayed']).toBe('true');
  });

  it('is refused by the name of the field, and nothing is charged', async () => {
    const before = (await ledger()).length;
    const cases: [object, string, string][] = [
      [{ query: '' }, 'query', 'query is required'],
      [{ documents: null }, 'documents', 'documents is required'],
      [{ documents: [] }, 'documents', 'documents must be an array of 1 to 1000 texts'],
      [{ documents: ['a', 7] }, 'documents', 'documents[1] must be a string, or an object with text'],
      [{ top_n: 0 }, 'top_n', 'top_n must be a whole number'],
      [{ return_documents: 'yes' }, 'return_documents', 'return_documents must be true or false'],
      [{ model: 'no/such' }, 'model', 'no/such'],
    ];
    for (const [fields, param, message] of cases)
      expect([fields, await ask(fields)]).toMatchObject([
        fields,
        { status: 400, body: { error: { param, message: expect.stringContaining(message) } } },
      ]);
    const { key } = await server.createKey(org.orgId, { scopes: ['tts'] });
    expect(await ask({}, { authorization: `Bearer ${key}` })).toMatchObject({ status: 403 });
    const { key: free } = await server.createOrg({ plan: 'free' });
    expect(await ask({ model: 'rerank-powerful' }, { authorization: `Bearer ${free}` })).toMatchObject({
      status: 403,
      body: { error: { code: 'model_tier_not_allowed', param: 'model' } },
    });
    expect((await ledger()).length).toBe(before);
  });

  it('is the same by GraphQL', async () => {
    const query = `mutation ($input: RerankInput!) {
      rerank(input: $input) { model results { index relevanceScore document { text } } usage { creditsUsed } }
    }`;
    const input = { query: QUERY, documents: DOCUMENTS, topN: 1, returnDocuments: true };
    const { data } = await server.graphql(query, { key: org.key, variables: { input } });
    expect(data).toMatchObject({
      rerank: { results: [{ index: 1, document: { text: DOCUMENTS[1] } }], usage: { creditsUsed: 1 } },
    });
  });

  it('has models that the list of /api/v1 shows only where they are asked for', async () => {
    const typesOf = async (path: string) => {
      const { body } = await server.rest<{ data: { type: string }[] }>('GET', path, { key: org.key });
      return new Set(body.data.map(({ type }) => type));
    };
    expect(await typesOf('/models')).not.toContain('rerank');
    expect(await typesOf('/models?type=rerank')).toEqual(new Set(['rerank']));
  });
});
