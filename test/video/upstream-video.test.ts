import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { downloadFrom } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeReply, NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

interface Answer {
  id?: string;
  error?: string;
  param?: string;
  code?: string;
  data: { url: string; duration_seconds: number; width: number; height: number };
  model: string;
  usage: { credits_used: number; seconds_used: number };
}

const KEY = 'r8-video-0123456789abcdef';
let upstream: NativeUpstream;
let server: TestServer;
let key: string;
let film: Buffer;
let picture: string;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const at = (path: string) => ({
    baseUrl: `${upstream.origin}${path}`,
    apiKey: KEY,
    timeouts: { pollMs: 5 },
    retry: { retries: 1, backoffMs: 1 },
  });
  const own = {
    id: 'acme/film',
    upstreamId: 'acme/film',
    type: 'video',
    tier: 'standard',
    inputs: {
      prompt: 'text',
      duration_seconds: { name: 'length', values: { 3: 'short', 9: 'long' } },
      source_video: 'clip',
    },
    fixed: { safety: true },
    modes: { video_to_video: { upstreamId: 'acme/film-remix', without: ['duration_seconds'] } },
  };
  server = await startPenstock({
    providers: {
      providers: [
        {
          id: 'replicate',
          kind: 'replicate',
          ...at('/rep/v1'),
          models: [
            own,
            { ...own, id: 'acme/spare', upstreamId: 'acme/spare' },
            { ...own, id: 'acme/backed' },
          ],
        },
        {
          id: 'fal',
          kind: 'fal',
          ...at('/fal'),
          models: [
            { id: 'fal/ray', upstreamId: 'fal-ai/luma-dream-machine/ray-2', type: 'video', tier: 'basic' },
          ],
        },
        { id: 'google', kind: 'google', ...at('/goog/v1beta') },
        { id: 'luma', kind: 'luma', ...at('/luma') },
        { id: 'openai', kind: 'openai', ...at('/oai/v1') },
        { id: 'xai', kind: 'xai', ...at('/xai/v1') },
      ],
      fallbacks: { 'acme/film': ['fal/ray', 'acme/spare'], 'acme/backed': ['sandbox/video-basic'] },
    },
    plans: { endpointLimits: { video: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  const made = await post({ prompt: 'A pier', duration_seconds: 1, aspect_ratio: '1:1' });
  film = (await downloadFrom(server.origin, made.body.data.url)).bytes;
  const red = sharp({ create: { width: 32, height: 32, channels: 3, background: '#f00' } });
  picture = (await red.png().toBuffer()).toString('base64');
});
beforeEach(() => {
  upstream.clear();
  upstream.on('/files/', { headers: { 'content-type': 'video/mp4' }, body: film });
});
afterAll(async () => {
  await server?.close();
  await upstream.close();
});

const post = (body: object, query = '') =>
  server.rest<Answer>('POST', `/videos/generations${query}`, { key, body: { prompt: 'A cat', ...body } });
const sent = (part: string) => upstream.requests.find(({ path }) => path.includes(part));
/** Replies one after the other; the last for ever. */
function inTurn(...replies: NativeReply[]): () => NativeReply {
  let next = 0;
  return () => replies[Math.min(next++, replies.length - 1)] as NativeReply;
}
const done = () => ({ body: { id: 'p1', status: 'succeeded', output: `${upstream.origin}/files/a.mp4` } });
async function refused(body: object): Promise<unknown[]> {
  const answer = await post(body);
  return [answer.status, answer.body.error, answer.body.param];
}

describe('a video over Replicate', () => {
  it('is ordered in the model’s own words, asked about, and fetched', async () => {
    upstream.on('/models/kwaivgi/kling-v2.1-master/predictions', { body: { id: 'p1', status: 'starting' } });
    const log = { id: 'p1', status: 'processing', logs: ' 20%|##\n 40%|####' };
    upstream.on('/predictions/p1', inTurn({ body: log }, { status: 503 }, { body: '<html>' }, done()));
    const { status, body } = await post({
      model: 'kling/kling-v2.1-master',
      duration_seconds: 10,
      aspect_ratio: '1:1',
      negative_prompt: 'dogs',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      model: 'kling/kling-v2.1-master',
      data: { duration_seconds: 1, width: 720, height: 720 },
      usage: { seconds_used: 10, credits_used: 2 },
    });
    expect((await downloadFrom(server.origin, body.data.url)).bytes.equals(film)).toBe(true);
    const order = upstream.requests[0]!;
    expect(order).toMatchObject({ method: 'POST', headers: { authorization: `Bearer ${KEY}` } });
    expect(order.json).toEqual({
      input: { prompt: 'A cat', duration: 10, aspect_ratio: '1:1', negative_prompt: 'dogs' },
    });
  });

  it('takes a source image, and an entry’s own fields, words and endpoints', async () => {
    upstream.on('/predictions', done());
    const kling = 'kling/kling-v2.1-master';
    await post({ model: kling, mode: 'image_to_video', source_image: picture });
    expect(upstream.requests[0]?.json).toMatchObject({
      input: { start_image: `data:image/png;base64,${picture}` },
    });
    upstream.clear();
    upstream.on('/files/', { body: film });
    upstream.on('/predictions', done());
    const { body } = await post({ model: 'acme/film' });
    expect(body.usage.seconds_used).toBe(3);
    expect(upstream.requests[0]).toMatchObject({
      path: '/rep/v1/models/acme/film/predictions',
      json: { input: { text: 'A cat', length: 'short', safety: true } },
    });
    const remix = { mode: 'video_to_video', source_video: film.toString('base64') };
    upstream.on('/v1/files', { body: { urls: { get: `${upstream.origin}/rep/v1/files/f1` } } });
    expect((await post({ model: 'acme/film', ...remix })).status).toBe(200);
    const clip = (sent('/acme/film-remix/predictions')!.json['input'] as { clip: string }).clip;
    expect(clip).toMatch(/^data:video\/mp4;base64,|\/rep\/v1\/files\/f1$/);
    expect(sent('/acme/film-remix/predictions')?.json['input']).not.toHaveProperty('length');
  });

  it.each([
    [{ duration_seconds: 7 }, 'duration_seconds must be one of 5, 10 with model kling/kling-v2.1-master'],
    [{ resolution: '4k' }, 'Model kling/kling-v2.1-master does not support resolution 4k'],
    [{ aspect_ratio: '3:4' }, 'Model kling/kling-v2.1-master does not support aspect_ratio 3:4'],
    [{ fps: 60 }, 'Model kling/kling-v2.1-master does not support 60 fps'],
    [{ loop: true }, 'Model kling/kling-v2.1-master does not support loop'],
    [{ seed: 1 }, 'Model kling/kling-v2.1-master does not support seed'],
    [{ prompt_optimizer: true }, 'Model kling/kling-v2.1-master does not support prompt_optimizer'],
    [
      { mode: 'video_to_video', source_video: 'AAAA' },
      'Model kling/kling-v2.1-master does not support video_to_video',
    ],
  ])('refuses %j, which the model cannot do, before anything is asked', async (body, message) => {
    const [status, error] = await refused({ model: 'kling/kling-v2.1-master', ...body });
    expect([status, error]).toEqual([400, message]);
    expect(upstream.requests).toHaveLength(0);
  });

  it('that is cancelled, is cancelled there', async () => {
    upstream.on('/p1/cancel', { body: { id: 'p1', status: 'canceled' } });
    upstream.on('/predictions/p1', { body: { id: 'p1', status: 'processing' } });
    upstream.on('/kling-v2.1-master/predictions', { body: { id: 'p1', status: 'starting' } });
    const { body } = await post({ model: 'kling/kling-v2.1-master' }, '?async=true');
    await eventually(() => sent('/predictions/p1'));
    await server.rest('DELETE', `/jobs/${body.id}`, { key });
    const cancel = await eventually(() => sent('/p1/cancel'));
    expect(cancel).toMatchObject({ method: 'POST', headers: { authorization: `Bearer ${KEY}` } });
  });

  it('that the model refuses is 400 in its words without the key, asked for once', async () => {
    const detail = `- input: duration is wrong (${KEY}) see https://replicate.com/docs`;
    upstream.on('/predictions', { status: 422, body: { title: 'Input validation failed', detail } });
    const answer = await post({ model: 'acme/film' });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      error: '- input: duration is wrong ([removed]) see [removed]',
      code: 'invalid_request',
    });
    expect(upstream.requests).toHaveLength(1);
  });

  it('that fails after it was ordered is 500, not ordered again, and free', async () => {
    upstream.on('/predictions', { body: { id: 'p1', status: 'failed', error: 'CUDA out of memory' } });
    const before = await server.rest<{ quotas: unknown }>('GET', '/quota', { key });
    const answer = await post({ model: 'kling/kling-v2.1-master' });
    expect([answer.status, answer.body.error]).toEqual([500, 'Generation failed']);
    expect(upstream.requests).toHaveLength(1);
    expect((await server.rest('GET', '/quota', { key })).body['quotas']).toEqual(before.body.quotas);
  });

  it('goes, once a busy provider was asked again, to the fallback that can do what was asked for', async () => {
    const busy = { status: 429, headers: { 'retry-after': '0' }, body: { detail: 'slow down' } };
    upstream.on('/acme/film/predictions', busy);
    upstream.on('/acme/spare/predictions', done());
    // The first fallback knows 5 and 9 seconds, this is 3.
    expect((await post({ model: 'acme/film', duration_seconds: 3 })).body.model).toBe('acme/spare');
    expect(upstream.requests.slice(0, 3).map(({ path }) => path)).toEqual([
      '/rep/v1/models/acme/film/predictions',
      '/rep/v1/models/acme/film/predictions',
      '/rep/v1/models/acme/spare/predictions',
    ]);
  });

  it('fails as its upstream did where the fallback cannot read the source: that is no fault of the caller', async () => {
    upstream.on('/predictions', { status: 401, body: { detail: 'no' } });
    const tenBits = await readFile(new URL('../support/fixtures/ten-bit.mp4', import.meta.url));
    const ask = async (source: Buffer) => {
      const source_video = source.toString('base64');
      const answer = await post({ model: 'acme/backed', mode: 'video_to_video', source_video });
      return [answer.status, answer.body.error ?? answer.body.model];
    };
    expect(await ask(film)).toEqual([200, 'sandbox/video-basic']);
    expect(await ask(tenBits)).toEqual([500, 'Generation failed']);
  });
});

describe('a video over fal', () => {
  const queued = () => ({
    body: {
      request_id: 'r1',
      status: 'IN_QUEUE',
      response_url: `${upstream.origin}/fal/fal-ai/luma-dream-machine/requests/r1`,
    },
  });

  it('stands in the queue of its mode’s endpoint', async () => {
    upstream.on(
      '/requests/r1/status',
      inTurn({ body: { status: 'IN_PROGRESS' } }, { body: { status: 'COMPLETED' } }),
    );
    upstream.on('/requests/r1', { body: { video: { url: `${upstream.origin}/files/b.mp4` } } });
    upstream.on('/fal/fal-ai/', queued());
    const image = { mode: 'image_to_video', source_image: picture };
    const { status } = await post({ model: 'fal/ray', loop: true, resolution: '1080p', ...image });
    expect(status).toBe(200);
    expect(upstream.requests[0]).toMatchObject({
      path: '/fal/fal-ai/luma-dream-machine/ray-2/image-to-video',
      headers: { authorization: `Key ${KEY}` },
      json: {
        prompt: 'A cat',
        duration: '5s',
        resolution: '1080p',
        loop: true,
        image_url: `data:image/png;base64,${picture}`,
      },
    });
  });

  it('that the model finds wrong is 400; a stranger’s address in its answer is not asked', async () => {
    const stranger = await startNativeUpstream();
    upstream.on('/requests/r2/status', { body: { status: 'COMPLETED' } });
    upstream.on('/requests/r2', {
      status: 422,
      body: { detail: [{ loc: ['body'], msg: 'prompt too odd' }] },
    });
    upstream.on('/fal/fal-ai/', {
      body: { request_id: 'r2', response_url: `${stranger.origin}/requests/r2` },
    });
    expect(await refused({ model: 'fal/ray' })).toEqual([400, 'prompt too odd', undefined]);
    expect(stranger.requests).toHaveLength(0);
    await stranger.close();
  });
});

describe('Luma, which reads pictures by their address', () => {
  it('gets a source image as the first frame, by a signed address, where this installation can be reached', async () => {
    const luma = {
      id: 'luma',
      kind: 'luma',
      baseUrl: `${upstream.origin}/luma`,
      apiKey: KEY,
      timeouts: { pollMs: 5 },
    };
    const open = await startPenstock({
      env: { PUBLIC_URL: 'https://media.example.com' },
      providers: { providers: [luma] },
    });
    const org = await open.createOrg({ plan: 'business_monthly' });
    upstream.on('/generations/g2', {
      body: { id: 'g2', state: 'completed', assets: { video: `${upstream.origin}/luma/files/d.mp4` } },
    });
    upstream.on('/generations', { body: { id: 'g2', state: 'queued' } });
    const body = { prompt: 'x', model: 'luma/ray-2', mode: 'image_to_video', source_image: picture };
    const made = await open.rest('POST', '/videos/generations', { key: org.key, body });
    expect(made.status, JSON.stringify(made.body)).toBe(200);
    const { frame0 } = upstream.requests[0]!.json['keyframes'] as { frame0: { type: string; url: string } };
    expect(frame0).toMatchObject({
      type: 'image',
      url: expect.stringMatching(/^https:\/\/media\.example\.com\/files\//),
    });
    const { pathname, search } = new URL(frame0.url);
    const file = await fetch(`${open.origin}${pathname}${search}`);
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/png']);
    await open.close();
  });
});

describe('a video over a maker’s own API', () => {
  it('of Google has its seed, size and negative prompt, and is fetched with the key through a redirect', async () => {
    upstream.on(':predictLongRunning', { body: { name: 'models/veo/operations/o1' } });
    const samples = [{ video: { uri: `${upstream.origin}/goog/v1beta/files/x:download?alt=media` } }];
    const response = { generateVideoResponse: { generatedSamples: samples } };
    upstream.on('/operations/o1', inTurn({ body: {} }, { body: { done: true, response } }));
    upstream.on('x:download', { status: 302, headers: { location: `${upstream.origin}/files/c.mp4` } });
    const { status, body } = await post({
      model: 'google/veo-3.1-fast-generate-preview',
      seed: 7,
      negative_prompt: 'rain',
      resolution: '1080p',
    });
    expect([status, body.usage.seconds_used]).toEqual([200, 4]);
    expect(upstream.requests[0]).toMatchObject({
      path: '/goog/v1beta/models/veo-3.1-fast-generate-preview:predictLongRunning',
      headers: { 'x-goog-api-key': KEY },
      json: {
        instances: [{ prompt: 'A cat' }],
        parameters: {
          aspectRatio: '16:9',
          durationSeconds: 4,
          resolution: '1080p',
          seed: 7,
          negativePrompt: 'rain',
        },
      },
    });
    expect(sent('x:download')?.headers['x-goog-api-key']).toBe(KEY);
  });

  it('of Luma loops', async () => {
    upstream.on('/generations/g1', {
      body: { id: 'g1', state: 'completed', assets: { video: `${upstream.origin}/files/d.mp4` } },
    });
    upstream.on('/generations', { body: { id: 'g1', state: 'queued' } });
    expect((await post({ model: 'luma/ray-2', loop: true, resolution: '4k' })).status).toBe(200);
    expect(upstream.requests[0]).toMatchObject({
      path: '/luma/dream-machine/v1/generations',
      headers: { authorization: `Bearer ${KEY}` },
      json: { model: 'ray-2', prompt: 'A cat', duration: '5s', resolution: '4k', loop: true },
    });
    const image = { mode: 'image_to_video', source_image: picture };
    expect(await refused({ model: 'luma/ray-2', ...image })).toEqual([
      400,
      'Model luma/ray-2 does not support image_to_video',
      'mode',
    ]);
  });

  it('of OpenAI is a form with the picture, tells its progress, and its content is read', async () => {
    upstream.on('/videos/v1/content', { body: film });
    upstream.on(
      '/videos/v1',
      inTurn({ body: { status: 'in_progress', progress: 60 } }, { body: { status: 'completed' } }),
    );
    upstream.on('/videos', { body: { id: 'v1', status: 'queued' } });
    const image = { mode: 'image_to_video', source_image: picture };
    const { status } = await post({
      model: 'openai/sora-2',
      aspect_ratio: '9:16',
      duration_seconds: 8,
      ...image,
    });
    expect(status).toBe(200);
    const form = upstream.requests[0]!.bytes.toString('latin1');
    expect(form).toContain('name="seconds"\r\n\r\n8');
    expect(form).toContain('name="size"\r\n\r\n720x1280');
    expect(form).toContain('name="input_reference"; filename="input"\r\nContent-Type: image/png');
  });

  it('of xAI is asked about by its request', async () => {
    upstream.on('/videos/generations', { body: { request_id: 'q1' } });
    upstream.on(
      '/videos/q1',
      inTurn(
        { body: { status: 'pending' } },
        { body: { status: 'done', video: { url: `${upstream.origin}/files/e.mp4` } } },
      ),
    );
    expect((await post({ model: 'xai/grok-imagine-video', duration_seconds: 6 })).status).toBe(200);
    expect(upstream.requests[0]?.json).toMatchObject({
      model: 'grok-imagine-video',
      duration: 6,
      resolution: '720p',
    });
  });
});
