import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startNativeUpstream, type NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

let upstream: NativeUpstream;
let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;

const clientOf = ({ origin }: TestServer, apiKey: string) =>
  new OpenAI({ apiKey, baseURL: `${origin}/v1`, maxRetries: 0 });

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const provider = (id: string) => ({
    id,
    kind: 'openai',
    baseUrl: `${upstream.origin}/${id}`,
    apiKey: 'k',
    retry: { retries: 0 },
    models: [{ id: `${id}/chat`, type: 'chat', tier: 'basic', upstreamId: 'gpt' }],
  });
  server = await startPenstock({
    providers: { providers: [provider('first'), provider('second')], defaults: { chat: 'second/chat' } },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(() => upstream.clear());

const faultOf = async (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );
const RESULT = { flagged: true, categories: { violence: true }, category_scores: { violence: 0.9 } };

describe('moderations with the official client', () => {
  it("go to the default model's provider, pass as they are, and cost nothing", async () => {
    upstream.on('/second/moderations', { body: { id: 'modr-1', model: 'omni', results: [RESULT] } });
    const made = await clientOf(server, org.key).moderations.create({
      input: ['A text'],
      model: 'omni-moderation-latest',
    });
    expect(made).toEqual({ id: 'modr-1', model: 'omni', results: [RESULT] });
    expect(upstream.requests[0]?.json).toEqual({ input: ['A text'], model: 'omni-moderation-latest' });
    const query = '{ usageRecords(first: 10) { nodes { operation } } }';
    const { data } = await server.graphql(query, { key: org.key });
    expect(data).toEqual({ usageRecords: { nodes: [] } });
  });

  it('are not found where no provider judges', async () => {
    const bare = await startPenstock();
    try {
      const { key } = await bare.createOrg({ plan: 'business_monthly' });
      const fault = await faultOf(clientOf(bare, key).moderations.create({ input: 'A text' }));
      expect(fault).toBeInstanceOf(OpenAI.NotFoundError);
    } finally {
      await bare.close();
    }
  });

  it('are refused by the name of the field, and tell faults of the provider', async () => {
    const client = clientOf(server, org.key);
    for (const input of [null, '', [], ['a', 7], 7])
      expect(await faultOf(client.moderations.create({ input: input as string }))).toMatchObject({
        status: 400,
        param: 'input',
      });
    expect(await faultOf(client.moderations.create({ input: 'x', model: 7 as never }))).toMatchObject({
      status: 400,
      param: 'model',
    });
    upstream.on('/second/moderations', { status: 500, body: {} });
    expect(await faultOf(client.moderations.create({ input: 'x' }))).toMatchObject({ status: 500 });
    upstream.clear();
    upstream.on('/second/moderations', { body: 'nonsense' });
    expect(await faultOf(client.moderations.create({ input: 'x' }))).toMatchObject({ status: 500 });
  });
});
