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

/** Providers that answer an order with the picture, at paths that their packages have for some models only. */
const AT_ONCE: [kind: string, base: string, order: string, answered: () => NativeReply][] = [
  [
    'fal',
    '/fal',
    'POST /fal/bria/text-to-image/3.2',
    () => ({ body: { images: [{ url: `${upstream.origin}/files/a.png`, content_type: 'image/png' }] } }),
  ],
  [
    'fireworks',
    '/fw/v1',
    'POST /fw/v1/image_generation/accounts/fireworks/models/stable-diffusion-xl-1024-v1-0',
    () => ({ headers: { 'content-type': 'image/png' }, body: picture }),
  ],
];

const NAMES: Record<string, string> = {
  togetherai: 'google/gemini-3-pro-image',
  fal: 'bria/text-to-image/3.2',
  fireworks: 'accounts/fireworks/models/stable-diffusion-xl-1024-v1-0',
};

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
      providers: [...MODELS, ...AT_ONCE, ['amazon-bedrock', ''] as const, ['togetherai', '/v1'] as const].map(
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

it('a picture that is asked about is left alone for as long as its provider says', async () => {
  answers = [
    { status: 429, headers: { 'retry-after': '1' } },
    { status: 503, headers: { 'retry-after': '1' } },
  ];
  const start = performance.now();
  expect((await draw('replicate')).status).toBe(200);
  expect(performance.now() - start).toBeGreaterThan(1900);
});

describe.each(AT_ONCE)('a picture that %s answers at once', (kind, _base, order, answered) => {
  const keys = () => new Set(upstream.requests.map(({ headers }) => headers['idempotency-key']));

  it.each([
    ['500', { status: 500 }],
    ['429', { status: 429, headers: { 'retry-after': '0' } }],
  ])(
    'is ordered again after a %s as often as its provider’s retries say, under one key',
    async (_, fault) => {
      upstream.on(order.slice(5), fault);
      expect((await draw(kind)).status).toBe(500);
      expect(seen()).toEqual(times(3, order));
      expect([...keys()]).toEqual([expect.stringMatching(/./)]);
    },
  );

  it('is ordered once where its answer is a page', async () => {
    upstream.on(order.slice(5), { headers: { 'content-type': 'text/html' }, body: '' });
    expect((await draw(kind)).status).toBe(500);
    expect(seen()).toEqual([order]);
  });

  it('is ordered once where its answer breaks off: it was made', async () => {
    const { body, headers } = answered();
    const cut = {
      'content-type': 'application/json',
      ...headers,
      'content-length': '100000',
      connection: 'close',
    };
    upstream.on(order.slice(5), { headers: cut, body: Buffer.isBuffer(body) ? body : JSON.stringify(body) });
    expect((await draw(kind)).status).toBe(500);
    expect(seen()).toEqual([order]);
  });

  it('is ordered once where all is well', async () => {
    upstream.on(order.slice(5), answered());
    expect((await draw(kind)).status).toBe(200);
    expect(seen().filter((request) => request !== 'GET /files/a.png')).toEqual([order]);
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
