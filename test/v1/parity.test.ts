import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conventionsFace } from '../../rest-compat/index.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at } from './v1.js';

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  server = await startPenstock({
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
});
afterAll(() => server?.close());

const text = 'Say hello. @sandbox{"tokens":12}';
const messages = [{ role: 'user', content: text }];
const model = 'sandbox/chat-standard';

interface Sample {
  body: object;
  /** The same call at /api/v1. */
  contract: { path: string; body: object };
}

/** One call for each row of /v1 that is charged; a new row needs one. */
const SAMPLES: Record<string, Sample> = {
  '/chat/completions': {
    body: { model, messages, max_tokens: 50 },
    contract: { path: '/chat/completions', body: { model, messages, max_tokens: 50 } },
  },
  '/completions': {
    body: { model: 'chat-standard', prompt: text, max_tokens: 50 },
    contract: { path: '/chat/completions', body: { model, messages, max_tokens: 50 } },
  },
  '/responses': {
    body: { model: 'chat-standard', input: text, max_output_tokens: 50 },
    contract: { path: '/chat/completions', body: { model, messages, max_tokens: 50 } },
  },
  '/messages': {
    body: { model: 'chat-standard', messages, max_tokens: 50 },
    contract: { path: '/chat/completions', body: { model, messages, max_tokens: 50 } },
  },
  '/embeddings': {
    body: { model: 'embedding-standard', input: ['abc', 'def'] },
    contract: { path: '/embeddings', body: { model: 'sandbox/embedding-standard', input: ['abc', 'def'] } },
  },
};

interface Row {
  operation: string;
  state: string;
  model: string | null;
  amounts: { bucket: string; amount: number }[];
}

async function ledger(): Promise<Row[]> {
  const query = `{ usageRecords(first: 100) { nodes { operation state model amounts { bucket amount } } } }`;
  const { data } = await server.graphql<{ usageRecords: { nodes: Row[] } }>(query, { key: org.key });
  return data!.usageRecords.nodes;
}

/** What a call adds to the ledger. */
async function rowsOf(address: string, path: string, body: object): Promise<Row[]> {
  const before = (await ledger()).length;
  const answer = await at(server, address)('POST', path, {
    headers: { authorization: `Bearer ${org.key}` },
    body,
  });
  expect([path, answer.status]).toEqual([path, 200]);
  const after = await ledger();
  return after.slice(0, after.length - before);
}

describe('the same call at /v1 and at /api/v1', () => {
  // What is said of something that is there already costs nothing, nor does a question.
  const charged = conventionsFace.routes.filter(
    ({ method, path, document }) =>
      method === 'POST' && !path.includes('{') && !document?.startsWith('query'),
  );

  it.each(charged)('costs the same and leaves the same row: $path', async ({ path, streamOperation }) => {
    const sample = SAMPLES[path];
    if (sample === undefined) throw new Error(`${path} needs a sample`);
    const { contract } = sample;
    const expected = await rowsOf('/api/v1', contract.path, contract.body);
    expect(expected).toHaveLength(1);
    expect(await rowsOf('/v1', path, sample.body)).toEqual(expected);
    if (streamOperation === undefined) return;
    expect(await rowsOf('/v1', path, { ...sample.body, stream: true })).toEqual(expected);
  });
});
