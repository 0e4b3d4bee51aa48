import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conventionsFace } from '../../rest-compat/index.js';
import { EXAMPLE_AUDIO, EXAMPLE_IMAGE } from '../../rest-compat/shared/openapi/examples.js';
import { startNativeUpstream, type NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at } from './v1.js';

let server: TestServer;
let upstream: NativeUpstream;
let org: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  upstream.on('/moderations', { body: { id: 'm', model: 'm', results: [] } });
  const moderator = { id: 'maker', kind: 'openai', baseUrl: upstream.origin, apiKey: 'k', models: [] };
  server = await startPenstock({
    providers: { providers: [moderator] },
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});

const text = 'Say hello. @sandbox{"tokens":12}';
const messages = [{ role: 'user', content: text }];
const model = 'sandbox/chat-standard';

interface Sample {
  body: object;
  /** The same call at /api/v1; null: that address has none, and the rows are those of `rows`. */
  contract: { path: string; body: object } | null;
  rows?: Row[];
  /** How the body asks for a stream, where not by `stream`. */
  streaming?: object;
}

interface Row {
  operation: string;
  state: string;
  model: string | null;
  amounts: { bucket: string; amount: number }[];
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
  '/images/generations': {
    body: { model: 'image-standard', prompt: 'A fox', n: 2, output_format: 'jpeg' },
    contract: {
      path: '/images/generations',
      body: { model: 'sandbox/image-standard', prompt: 'A fox', n: 2 },
    },
  },
  '/images/edits': {
    body: { image: EXAMPLE_IMAGE, prompt: 'A sketch' },
    contract: {
      path: '/images/edits',
      body: { image: EXAMPLE_IMAGE, operation: 'styleTransfer', prompt: 'A sketch' },
    },
  },
  '/audio/speech': {
    body: { input: 'Hello', voice: 'nova', response_format: 'pcm' },
    contract: { path: '/audio/speech', body: { input: 'Hello', voice: 'nova' } },
    streaming: { stream_format: 'sse' },
  },
  '/audio/transcriptions': {
    body: { file: EXAMPLE_AUDIO, response_format: 'diarized_json' },
    contract: { path: '/audio/transcriptions', body: { file: EXAMPLE_AUDIO, diarization: true } },
  },
  '/audio/translations': {
    body: { file: EXAMPLE_AUDIO },
    contract: { path: '/audio/transcriptions', body: { file: EXAMPLE_AUDIO, translation: true } },
  },
  '/rerank': {
    body: { query: 'abc', documents: ['abc', 'def'] },
    contract: null,
    rows: [
      {
        operation: 'rerank',
        state: 'settled',
        model: 'sandbox/rerank-basic',
        amounts: [{ bucket: 'credits', amount: 1 }],
      },
    ],
  },
  '/moderations': { body: { input: 'abc' }, contract: null, rows: [] },
};

async function ledger(): Promise<Row[]> {
  const query = `{ usageRecords(first: 100) { nodes { operation state model: modelId amounts { bucket amount } } } }`;
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

  it.each(charged)('costs the same and leaves the same row: $path', async (row) => {
    const { path, streamOperation, answerEventSchema } = row;
    const sample = SAMPLES[path];
    if (sample === undefined) throw new Error(`${path} needs a sample`);
    const { contract, rows = [], streaming = { stream: true } } = sample;
    const expected = contract === null ? rows : await rowsOf('/api/v1', contract.path, contract.body);
    expect(expected).toHaveLength(contract === null ? rows.length : 1);
    expect(await rowsOf('/v1', path, sample.body)).toEqual(expected);
    if ((streamOperation ?? answerEventSchema) === undefined) return;
    expect(await rowsOf('/v1', path, { ...sample.body, ...streaming })).toEqual(expected);
  });
});
