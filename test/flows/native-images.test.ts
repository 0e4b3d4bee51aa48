import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeReply, NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

/** Where each provider is ordered a picture, asked about it, and told that nobody wants it. */
const MODELS: [kind: string, base: string, paths: { order: string; question: string; withdrawal: string }][] =
  [
    [
      'replicate',
      '/rep/v1',
      {
        order: 'POST /rep/v1/models/acme/paint/predictions',
        question: 'GET /rep/v1/predictions/p',
        withdrawal: 'POST /rep/v1/predictions/p/cancel',
      },
    ],
    [
      'luma',
      '/luma',
      {
        order: 'POST /luma/dream-machine/v1/generations/image',
        question: 'GET /luma/dream-machine/v1/generations/g',
        withdrawal: 'DELETE /luma/dream-machine/v1/generations/g',
      },
    ],
  ];

const NAMES: Record<string, string> = { togetherai: 'google/gemini-3-pro-image' };

let upstream: NativeUpstream;
let server: TestServer;
let key: string;
let picture: Buffer;
let answers: NativeReply[] = [];
let files: NativeReply[] = [];

beforeAll(async () => {
  upstream = await startNativeUpstream();
  picture = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#0f0' } })
    .png()
    .toBuffer();
  server = await startPenstock({
    providers: {
      providers: [...MODELS, ['amazon-bedrock', ''] as const, ['togetherai', '/v1'] as const].map(
        ([kind, base]) => ({
          id: kind,
          kind,
          baseUrl: upstream.origin + base,
          apiKey: 'key-paint-0123456789abcdef',
          timeouts: { pollMs: 5 },
          retry: { retries: 2, backoffMs: 1 },
          models: [
            { id: `${kind}/own`, upstreamId: NAMES[kind] ?? 'acme/paint', type: 'image', tier: 'standard' },
          ],
        }),
      ),
    },
    plans: { endpointLimits: { image: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
beforeEach(() => {
  upstream.clear();
  [answers, files] = [[], []];
  const file = `${upstream.origin}/files/a.png`;
  const urls = { get: `${upstream.origin}/rep/v1/predictions/p` };
  const made = { body: { id: 'p', status: 'succeeded', output: [file], urls } };
  upstream.on('/predictions/p', () => answers.shift() ?? made);
  upstream.on('/predictions', { body: { id: 'p', status: 'starting', urls } });
  const dreamt = { body: { id: 'g', state: 'completed', assets: { image: file } } };
  upstream.on('/generations/g', () => answers.shift() ?? dreamt);
  upstream.on('/generations/image', { body: { id: 'g', state: 'queued' } });
  upstream.on('/files/', () => files.shift() ?? { headers: { 'content-type': 'image/png' }, body: picture });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});

const draw = (kind: string, body: object = {}) =>
  server.rest('POST', '/images/generations', {
    key,
    body: { model: `${kind}/own`, prompt: 'A cat', size: '512x512', ...body },
  });
const seen = () => upstream.requests.map(({ method, path }) => `${method} ${path}`);
const times = (count: number, what: string) => Array.from({ length: count }, () => what);

describe.each(MODELS)('a picture that %s has taken', (kind, _base, { order, question, withdrawal }) => {
  it('is asked about again where that failed for the moment, and ordered once', async () => {
    const page = { headers: { 'content-type': 'text/html' }, body: '<html>' };
    answers = [{ status: 500 }, { status: 503 }, page, { status: 429 }];
    expect((await draw(kind)).status).toBe(200);
    expect(seen()).toEqual([order, ...times(5, question), 'GET /files/a.png']);
  });

  it('is cancelled there after five faults in a row', async () => {
    answers = Array.from({ length: 5 }, () => ({ status: 500 }));
    expect(await draw(kind)).toMatchObject({ status: 500, body: { error: 'Generation failed' } });
    expect(seen()).toEqual([order, ...times(5, question), withdrawal]);
  });

  it('is fetched again where its file was cut off, and not cancelled', async () => {
    const cut = { 'content-length': '100000', connection: 'close', 'content-type': 'image/png' };
    files = [{ headers: cut, body: picture }, { status: 502 }];
    expect((await draw(kind)).status).toBe(200);
    expect(seen()).toEqual([order, question, ...times(3, 'GET /files/a.png')]);
  });
});

it('a seed of zero is one for Bedrock too', async () => {
  upstream.on('/invoke', { body: { images: [picture.toString('base64')] } });
  for (const seed of [0, 7]) expect((await draw('amazon-bedrock', { seed })).status).toBe(200);
  const sent = upstream.requests.map(({ json }) => json['imageGenerationConfig']);
  expect(sent).toMatchObject([{ seed: 0 }, { seed: 7 }]);
});

it('a picture of Replicate is asked about at the address that stands for it, with the key', async () => {
  const urls = { get: 'https://api.replicate.com/v1/predictions/p' };
  upstream.clear();
  upstream.on('/predictions/p', {
    body: { id: 'p', status: 'succeeded', output: [`${upstream.origin}/files/a`], urls },
  });
  upstream.on('/predictions', { body: { id: 'p', status: 'starting', urls } });
  upstream.on('/files/', { headers: { 'content-type': 'image/png' }, body: picture });
  expect((await draw('replicate')).status).toBe(200);
  expect(upstream.requests[1]).toMatchObject({
    path: '/rep/v1/predictions/p',
    headers: { authorization: 'Bearer key-paint-0123456789abcdef' },
  });
});

it('a seed for a model that takes none is refused before anything is ordered', async () => {
  expect(await draw('togetherai', { seed: 7 })).toMatchObject({
    status: 400,
    body: { error: 'Model togetherai/own does not support seed', param: 'seed' },
  });
  expect(upstream.requests).toEqual([]);
});
