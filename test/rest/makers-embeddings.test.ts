import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { creditsUsed, startMakers } from '../support/makers.js';
import type { Makers } from '../support/makers.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import type { TestServer } from '../support/server.js';

let makers: Makers;
let penstock: TestServer;
let upstream: NativeUpstream;
let key: string;

beforeAll(async () => {
  makers = await startMakers({
    google: { embed: 'gemini-embedding-001' },
    cohere: { embed: 'embed-v4.0' },
    'amazon-bedrock': {
      embed: 'amazon.titan-embed-text-v2:0',
      'cohere-embed': 'us.cohere.embed-v4:0',
      'nova-embed': 'amazon.nova-2-multimodal-embeddings-v1:0',
    },
  });
  ({ penstock, upstream } = makers);
});
afterAll(() => makers?.close());
beforeEach(async () => {
  upstream.clear();
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});

const embed = (model: string, body: object) =>
  penstock.rest('POST', '/embeddings', { key, body: { model, ...body } });

describe('vectors that a maker leaves out', () => {
  const google = (...vectors: number[][]) => ({
    embeddings: vectors.map((values) => ({ values })),
  });
  const cohere = (...float: number[][]) => ({
    embeddings: { float },
    meta: { billed_units: { input_tokens: 3 } },
  });
  const titan = (embedding: number[]) => ({ embedding, inputTextTokenCount: 2 });

  it.each<[string, string, object]>([
    ['one of two', 'google/embed', google([1, 2])],
    ['one too many', 'google/embed', google([1, 2], [3, 4], [5, 6])],
    ['an empty one', 'google/embed', google([1, 2], [])],
    ['one of two', 'cohere/embed', cohere([1, 2])],
    ['an empty one', 'cohere/embed', cohere([1, 2], [])],
    ['empty ones', 'amazon-bedrock/embed', titan([])],
  ])('are 500 and free: %s of %s', async (_what, model, body) => {
    for (const path of [':batchEmbedContents', '/v2/embed', '/invoke']) upstream.on(path, { body });
    expect(await embed(model, { input: ['a', 'b'] })).toMatchObject({
      status: 500,
      body: { error: 'Generation failed' },
    });
    expect(upstream.requests).toHaveLength(1);
    expect(await creditsUsed(penstock, key)).toBe(0);
  });
});

it('Bedrock is told the dimensions in the words of each model’s maker', async () => {
  upstream.on('/invoke', ({ path }) => ({
    body: path.includes('titan')
      ? { embedding: [1, 2], inputTextTokenCount: 2 }
      : path.includes('nova')
        ? { embeddings: [{ embeddingType: 'TEXT', embedding: [1, 2] }] }
        : { embeddings: { float: [[1, 2]] } },
  }));
  const sent: unknown[] = [];
  for (const name of ['embed', 'cohere-embed', 'nova-embed']) {
    expect(await embed(`amazon-bedrock/${name}`, { input: 'a', dimensions: 256 })).toMatchObject({
      status: 200,
      body: { data: [{ embedding: [1, 2] }] },
    });
    sent.push(upstream.requests.at(-1)!.json);
  }
  expect(sent).toMatchObject([
    { dimensions: 256 },
    { output_dimension: 256 },
    { singleEmbeddingParams: { embeddingDimension: 256 } },
  ]);
});
