import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { downloadFrom } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeReply, NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

/** Every provider that makes videos, with a fallback that must not be asked. */
const MODELS: [kind: string, base: string, upstreamId: string, order: string][] = [
  ['replicate', '/rep/v1', 'acme/film', '/acme/film/predictions'],
  ['fal', '/fal', 'fal-ai/acme/film', '/fal/fal-ai/acme/film'],
  ['google', '/goog/v1beta', 'veo-3.1', ':predictLongRunning'],
  ['luma', '/luma', 'ray-2', '/dream-machine/v1/generations'],
  ['openai', '/oai/v1', 'sora-2', '/oai/v1/videos'],
  ['xai', '/xai/v1', 'grok-imagine-video', '/xai/v1/videos/generations'],
];

let upstream: NativeUpstream;
let server: TestServer;
let key: string;
let film: Buffer;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  server = await startPenstock({
    providers: {
      providers: MODELS.map(([kind, base, upstreamId]) => ({
        id: kind,
        kind,
        baseUrl: upstream.origin + base,
        apiKey: 'key-files-0123456789abcdef',
        timeouts: { pollMs: 5 },
        retry: { retries: 0, backoffMs: 1 },
        models: [{ id: `${kind}/own`, upstreamId, type: 'video', tier: 'standard' }],
      })),
      fallbacks: Object.fromEntries(MODELS.map(([kind]) => [`${kind}/own`, ['sandbox/video-basic']])),
    },
    plans: { endpointLimits: { video: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  const made = await post({ duration_seconds: 1, aspect_ratio: '1:1' });
  film = (await downloadFrom(server.origin, made.body.data.url)).bytes;
});
beforeEach(() => {
  upstream.clear();
  const uri = `${upstream.origin}/files/film`;
  upstream.on('/acme/film/predictions', { body: { id: 'p', status: 'succeeded', output: uri } });
  upstream.on('/requests/r/status', { body: { status: 'COMPLETED' } });
  upstream.on('/requests/r', { body: { video: { url: uri } } });
  upstream.on('/fal/fal-ai/', { body: { request_id: 'r' } });
  upstream.on(':predictLongRunning', { body: { name: 'operations/o' } });
  const response = { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } };
  upstream.on('/operations/o', { body: { done: true, response } });
  upstream.on('/generations/g', { body: { id: 'g', state: 'completed', assets: { video: uri } } });
  upstream.on('/dream-machine/v1/generations', { body: { id: 'g', state: 'queued' } });
  upstream.on('/oai/v1/videos/v/content', () => fetched());
  upstream.on('/oai/v1/videos/v', { body: { status: 'completed' } });
  upstream.on('/oai/v1/videos', { body: { id: 'v', status: 'queued' } });
  upstream.on('/xai/v1/videos/generations', { body: { request_id: 'x' } });
  upstream.on('/xai/v1/videos/x', { body: { status: 'done', video: { url: uri } } });
  upstream.on('/files/film', () => fetched());
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});

let answers: NativeReply[] = [];
const fetched = (): NativeReply => answers.shift() ?? { body: film };
const post = (body: object) =>
  server.rest<{ model: string; data: { url: string } }>('POST', '/videos/generations', {
    key,
    body: { prompt: 'A cat', ...body },
  });
const ordered = (part: string) =>
  upstream.requests.filter(({ method, path }) => method === 'POST' && path.includes(part)).length;

test.each(MODELS)(
  'a video of %s whose file cannot be had for a moment is fetched again, not ordered again or elsewhere',
  async (kind, _base, _upstreamId, order) => {
    answers = [{ status: 503 }, { status: 429, headers: { 'retry-after': '1' } }, { status: 500 }];
    const { status, body } = await post({ model: `${kind}/own` });
    expect([status, body.model, ordered(order)]).toEqual([200, `${kind}/own`, 1]);
    expect((await downloadFrom(server.origin, body.data.url)).bytes.equals(film)).toBe(true);
  },
);

test.each([503, 404, 400])(
  'a file that stays away or is refused (%d) is no fault of the caller’s: the fallback is asked',
  async (status) => {
    upstream.requests.length = 0;
    answers = Array.from({ length: 5 }, () => ({ status }));
    const made = await post({ model: 'replicate/own' });
    expect([made.status, made.body.model]).toEqual([200, 'sandbox/video-basic']);
    expect(ordered('/acme/film/predictions')).toBe(1);
  },
);
