import { scaledDecimal } from '../../src/pricing/index.js';
import { startFakeUpstream, type FakeUpstream } from './fake-upstream.js';
import { startPenstock, type TestServer } from './server.js';

/** The outcome in the record of an operation. */
export interface Row {
  kind: string;
  parent: string | null;
  status: string | null;
  errorCode: string | null;
  provider: string | null;
  answeredModel: string | null;
  upstreamId: string | null;
  firstTokenMs: number | null;
  latencyMs: number | null;
  tokens: Record<'input' | 'cachedInput' | 'cacheWrite' | 'output' | 'reasoning', number> | null;
  /** The cost in nano-dollars. */
  costNano: string | null;
  costVersion: string | null;
}

const RECORDS = `{ usageRecords(first: 100) { nodes { kind: operation parent: parentRunId status errorCode provider answeredModel: answeredModelId
  upstreamId firstTokenMs latencyMs costUsd costVersion tokens { input cachedInput cacheWrite output reasoning } } } }`;

/** The records of a key's organisation, oldest first. */
async function recordsOf(server: TestServer, key: string): Promise<Row[]> {
  const { data, errors } = await server.graphql<{
    usageRecords: { nodes: (Omit<Row, 'costNano'> & { costUsd: string | null })[] };
  }>(RECORDS, { key });
  if (data == null) throw new Error(JSON.stringify(errors));
  return data.usageRecords.nodes.toReversed().map(({ costUsd, ...row }) => ({
    ...row,
    costNano: costUsd === null ? null : String(scaledDecimal(costUsd, 9)),
  }));
}

/** USD for a million tokens: a token costs 3,000, 300, 3,750, 15,000 and 20,000 nano-dollars. */
const DEAR = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15, reasoning: 20 };
/** The first version is valid now. */
const PRICES = [
  { from: '2020-01-01', ...DEAR },
  { from: '2019-01-01', input: 100, output: 100 },
  { from: '2999-01-01', input: 500, output: 500 },
];

const chatModel = (id: string, more: object = { cost: PRICES }) => ({
  id,
  upstreamId: 'm',
  type: 'chat',
  tier: 'basic',
  ...more,
});
const modelOf = (id: string, type: string, cost: object) => ({
  id,
  upstreamId: id,
  type,
  tier: ['image', 'embedding', 'rerank'].includes(type) ? 'standard' : 'fast',
  cost: [cost],
});

/** An installation whose models have prices, with the calls of one organisation. */
export interface Recorded {
  server: TestServer;
  upstream: FakeUpstream;
  /** The fallback's upstream. */
  spare: FakeUpstream;
  key: string;
  /** Later calls come from another organisation. */
  renew(): Promise<void>;
  /** The records of the organisation's operations, oldest first. */
  records(): Promise<Row[]>;
  /** A POST at /v1; its answer as text. */
  v1(path: string, body: object): Promise<string>;
  close(): Promise<void>;
}

export async function startRecorded(): Promise<Recorded> {
  const [upstream, spare] = await Promise.all([startFakeUpstream(), startFakeUpstream()]);
  const entry = { kind: 'openai-compatible', apiKey: 'k', retry: { retries: 1, backoffMs: 1 } };
  const at = { ...entry, baseUrl: upstream.baseUrl };
  const models = [
    chatModel('acme/chat'),
    chatModel('acme/alone'),
    chatModel('acme/unpriced', {}),
    // A token of its input costs 0.04 nano-dollars.
    chatModel('acme/cheap', { cost: [{ input: '0.00004', output: 0 }] }),
    modelOf('acme/embed', 'embedding', { input: '0.02' }),
    modelOf('acme/rank', 'rerank', { search: 0.002 }),
    modelOf('acme/paint', 'image', { image: 0.04 }),
    modelOf('acme/voice', 'tts', { character: '0.000015' }),
    modelOf('acme/ears', 'stt', { second: '0.0001' }),
    modelOf('acme/ears-4o', 'stt', { input: 6, output: 10 }),
  ];
  const server = await startPenstock({
    env: { SEARXNG_URL: upstream.baseUrl.replace('/v1', '') },
    providers: {
      providers: [
        { id: 'acme', ...at, models },
        { id: 'nat', ...at, dialects: ['responses', 'messages'], models: [chatModel('nat/chat')] },
        {
          id: 'spare',
          ...entry,
          baseUrl: spare.baseUrl,
          models: [
            chatModel('spare/chat', { cost: [{ input: 1, output: 2 }] }),
            modelOf('spare/paint', 'image', { image: 0.01 }),
          ],
        },
      ],
      fallbacks: { 'acme/chat': ['spare/chat'], 'acme/paint': ['spare/paint'] },
      defaults: { image: 'acme/paint' },
    },
  });
  let org = await server.createOrg({ plan: 'business_monthly' });
  return {
    server,
    upstream,
    spare,
    get key() {
      return org.key;
    },
    async renew() {
      org = await server.createOrg({ plan: 'business_monthly' });
    },
    records: () => recordsOf(server, org.key),
    async v1(path, body) {
      const answer = await server.raw(`/v1${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return await answer.body.text();
    },
    async close() {
      await server.close();
      await upstream.close();
      await spare.close();
    },
  };
}

/** Tokens by class, with parts of them. */
export const classes = (input: number, output: number, parts: object = {}) => ({
  input,
  cachedInput: 0,
  cacheWrite: 0,
  output,
  reasoning: 0,
  ...parts,
});

/** The record of the fake upstream's usual answer of `acme/chat`. */
export const USUAL = {
  status: 'succeeded',
  errorCode: null,
  provider: 'acme',
  answeredModel: 'acme/chat',
  upstreamId: 'chatcmpl-up1',
  costVersion: 'acme/chat@2020-01-01',
  tokens: classes(10, 5),
  costNano: '105000',
};
