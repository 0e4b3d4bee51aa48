import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../support/server.js';
import { startPenstock } from '../support/server.js';
import type { TestOrg } from '../support/installation.js';
import { writeLedger } from '../support/usage.js';
import type { LedgerRow } from '../support/usage.js';

let server: TestServer;
let org: TestOrg;

const AT = Date.parse('2026-10-31T12:00:00Z');
const ROWS: LedgerRow[] = [
  {
    settledAt: new Date(AT + 1_500),
    createdAt: new Date(AT),
    model: 'maker/a',
    answeredModel: 'maker/b',
    provider: 'maker',
    upstreamId: 'chatcmpl-1',
    endUser: 'ann',
    tags: ['blue', 'red'],
    latencyMs: 1_500,
    tokens: [100, 40, 10, 50, 20],
    costNano: '1234567890123',
    charged: [300, 15_000, 0, 0, 0, 0, 0, 0, 0],
    parent: 'run_1',
  },
  {
    settledAt: new Date(AT + 60_000),
    kind: 'image',
    provider: 'other',
    status: 'failed',
    errorCode: 'server_error',
    state: 'released',
    costNano: '0',
  },
  { settledAt: new Date(AT + 120_000), status: 'cancelled', endUser: 'bob', tags: ['red'], costNano: null },
];

beforeAll(async () => {
  server = await startPenstock();
  org = await server.createOrg();
  // The first call opens the balance; its row is not what the tests are about.
  await server.rest('POST', '/embeddings', {
    key: org.key,
    body: { input: 'a', model: 'sandbox/embedding' },
  });
  await server.installation.sql('DELETE FROM usage_ledger WHERE org_id = $1', [org.orgId]);
  await writeLedger(
    server.services.database,
    org.orgId,
    ROWS.map((row) => ({ ...row, keyId: org.keyId })),
  );
});
afterAll(() => server.close());

async function records<Node>(filter: string, selection: string, key = org.key) {
  const answer = await server.graphql<{ usageRecords: { totalCount: number; nodes: Node[] } }>(
    `{ usageRecords(filter: ${filter}) { totalCount nodes { ${selection} } } }`,
    { key },
  );
  return { ...answer.data?.usageRecords, errors: answer.errors };
}

describe('a record of usage', () => {
  it('tells what an operation was, for whom, and what it cost', async () => {
    const { nodes } = await records(
      '{endUsers: ["ann"]}',
      `operation state status errorCode model: modelId answeredModel: answeredModelId provider upstreamId endUser tags latencyMs firstTokenMs parentRunId keyId
       tokens { input cachedInput cacheWrite output reasoning } costUsd costVersion amounts { bucket amount } createdAt settledAt sequence`,
    );
    expect(nodes).toEqual([
      {
        operation: 'chat',
        state: 'settled',
        status: 'succeeded',
        errorCode: null,
        model: 'maker/a',
        answeredModel: 'maker/b',
        provider: 'maker',
        upstreamId: 'chatcmpl-1',
        endUser: 'ann',
        tags: ['blue', 'red'],
        latencyMs: 1_500,
        firstTokenMs: null,
        parentRunId: 'run_1',
        keyId: org.keyId,
        tokens: { input: 100, cachedInput: 40, cacheWrite: 10, output: 50, reasoning: 20 },
        costUsd: '1234.567890123',
        costVersion: null,
        amounts: [
          { bucket: 'credits', amount: 3 },
          { bucket: 'chat_tokens', amount: 150 },
        ],
        createdAt: '2026-10-31T12:00:00.000Z',
        settledAt: '2026-10-31T12:00:01.500Z',
        sequence: expect.any(Number),
      },
    ]);
  });

  it('has a cost of null where a price is unknown, which is not 0', async () => {
    const { nodes } = await records('{statuses: [failed, cancelled]}', 'costUsd');
    expect(nodes).toEqual([{ costUsd: null }, { costUsd: '0' }]);
  });

  it('leads to its key, job, run and response', async () => {
    const chat = await server.rest<{ id: string }>('POST', '/images/generations', {
      key: org.key,
      body: { prompt: 'a tree', model: 'sandbox/image-basic' },
    });
    expect(chat.status).toBe(200);
    const made = await server.graphql<{ createResponse: { id: string } }>(
      'mutation { createResponse(input: {model: "sandbox/chat-basic", input: "Hello"}) { id } }',
      { key: org.key },
    );
    const { nodes = [] } = await records<{
      operation: string;
      key: object;
      job: { id: string } | null;
      response: object | null;
    }>(
      `{since: "${new Date(Date.now() - 600_000).toISOString()}", operations: [image, chat]}`,
      'operation key { id name } job { id tool } run { id } response { id outputText }',
    );
    const byOperation = new Map(nodes.map((node) => [node.operation, node]));
    const key = { id: org.keyId, name: expect.any(String) };
    expect(byOperation.get('image')).toMatchObject({
      key,
      job: { tool: 'image' },
      run: null,
      response: null,
    });
    expect(byOperation.get('chat')).toMatchObject({
      key,
      job: null,
      response: { id: made.data!.createResponse.id },
    });
  });
});

describe('records of usage', () => {
  it.each<[string, string, number]>([
    ['models', '{models: ["maker/a"]}', 1],
    ['providers', '{providers: ["maker", "other"]}', 2],
    ['end users', '{endUsers: ["bob"]}', 1],
    ['tags, one of which is enough', '{tags: ["blue", "red", "green"]}', 2],
    ['operations', '{operations: [image]}', 1],
    ['statuses', '{statuses: [failed, cancelled]}', 2],
    ['a beginning', '{since: "2026-10-31T12:00:01Z"}', 2],
    ['an end', '{until: "2026-10-31T12:00:01Z"}', 1],
    ['several at once', '{tags: ["red"], statuses: [cancelled]}', 1],
    ['another key', '{keyIds: ["key_none"]}', 0],
  ])('are filtered by %s, and counted', async (_, filter, count) => {
    const within = filter.includes('until')
      ? filter
      : filter.replace(/\}$/, ', until: "2026-11-01T00:00:00Z"}');
    expect(await records(within, 'id')).toMatchObject({ totalCount: count, nodes: Array(count).fill({}) });
  });

  it.each<[string, string, string]>([
    ['an empty list', '{models: []}', 'models'],
    ['a text that is too long', `{endUsers: ["${'a'.repeat(301)}"]}`, 'endUsers'],
    [
      'an end before the beginning',
      '{since: "2026-10-31T12:00:01Z", until: "2026-10-31T12:00:00Z"}',
      'until',
    ],
  ])('are refused with %s', async (_, filter, param) => {
    const { errors } = await records(filter, 'id');
    expect(errors).toMatchObject([{ extensions: { code: 'invalid_request', param } }]);
  });

  it('are refused with an unknown operation, also by REST', async () => {
    const { errors } = await records('{operations: [dance]}', 'id');
    expect(errors).toMatchObject([{ extensions: { code: 'invalid_request' } }]);
    const { status, body } = await server.rest('GET', '/usage/records?operations=dance', { key: org.key });
    expect([status, body]).toMatchObject([400, { code: 'invalid_request', param: 'operations' }]);
  });

  it('are none of another organisation', async () => {
    const other = await server.createOrg();
    expect(await records('{}', 'id', other.key)).toMatchObject({ totalCount: 0, nodes: [] });
  });

  it('need the scope usage', async () => {
    const { key } = await server.createKey(org.orgId, { scopes: ['chat'] });
    const { errors } = await records('{}', 'id', key);
    expect(errors).toMatchObject([{ extensions: { code: 'forbidden' } }]);
  });
});

describe('a summary of usage', () => {
  it('is there a minute after the call, over GraphQL', async () => {
    const ask = () =>
      server.graphql<{ usageSummary: object[] }>(
        `{ usageSummary(since: "2026-10-31T00:00:00Z", until: "2026-11-01T00:00:00Z", interval: day, groupBy: [endUser, tag], timeZone: "Asia/Kolkata") {
          start model endUser tag requests errors unpriced costUsd tokens { input reasoning } amounts { bucket amount } latencyMs { p50 p95 } } }`,
        { key: org.key },
      );
    await expect
      .poll(async () => (await ask()).data?.usageSummary.length, { timeout: 60_000, interval: 500 })
      .toBe(4);
    const { data } = await ask();
    const row = {
      start: '2026-10-30T18:30:00.000Z',
      model: null,
      requests: 1,
      errors: 0,
      unpriced: 0,
      costUsd: '1234.567890123',
    };
    const tokens = { input: 100, reasoning: 20 };
    expect(data?.usageSummary.slice(1, 3)).toMatchObject([
      { ...row, endUser: 'ann', tag: 'blue', tokens, amounts: [{ bucket: 'credits', amount: 3 }, {}] },
      { ...row, endUser: 'ann', tag: 'red', tokens },
    ]);
  }, 90_000);
});
