import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { downloadFrom, waveOf } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

interface Answer {
  error?: string;
  param?: string;
  data: { audio_url: string; duration_seconds: number };
  model: string;
  usage: { tracks_used: number; quota_multiplier: number };
}

const KEY = 'key-music-0123456789abcdef';
/** 2 s of a tone. */
const wave = waveOf(Int16Array.from({ length: 32_000 }, (_, at) => Math.round(8000 * Math.sin(at / 12))));
const MUSICGEN = '671ac645ce5e552cc63a54a2bbff63fcf798043055d2dac5fc9e36a837eedcfb';

let upstream: NativeUpstream;
let server: TestServer;
let key: string;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const at = (path: string) => ({
    baseUrl: `${upstream.origin}${path}`,
    apiKey: KEY,
    timeouts: { pollMs: 5 },
    retry: { retries: 1, backoffMs: 1 },
  });
  const audio = 'fal-ai/stable-audio-25/text-to-audio';
  const model = { id: 'fal/stable-audio', upstreamId: audio, type: 'music', tier: 'basic' };
  server = await startPenstock({
    providers: {
      providers: [
        { id: 'replicate', kind: 'replicate', ...at('/rep/v1') },
        { id: 'fal', kind: 'fal', ...at('/fal'), models: [model] },
        { id: 'elevenlabs', kind: 'elevenlabs', ...at('/el') },
      ],
    },
    plans: { endpointLimits: { music: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
beforeEach(() => {
  upstream.clear();
  upstream.on('/files/', { headers: { 'content-type': 'audio/wav' }, body: wave });
});
afterAll(async () => {
  await server?.close();
  await upstream.close();
});

const post = (body: object) =>
  server.rest<Answer>('POST', '/music/generations', { key, body: { prompt: 'Jazz', ...body } });
const made = () => ({ body: { id: 'p1', status: 'succeeded', output: [`${upstream.origin}/files/a.wav`] } });

describe('music over Replicate', () => {
  it('is ordered by its version in the model’s own words, and fetched', async () => {
    upstream.on('/predictions', made());
    const { status, body } = await post({
      model: 'meta/musicgen',
      duration_seconds: 8,
      output_format: 'wav',
      model_inputs: { seed: 3, top_k: 100 },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ model: 'meta/musicgen', data: { duration_seconds: 2 } });
    expect((await downloadFrom(server.origin, body.data.audio_url)).bytes.equals(wave)).toBe(true);
    const [order] = upstream.requests;
    expect(order).toMatchObject({ path: '/rep/v1/predictions', json: { version: MUSICGEN } });
    expect(order?.json['input']).toMatchObject({
      prompt: 'Jazz',
      duration: 8,
      output_format: 'wav',
      seed: 3,
      top_k: 100,
    });
  });

  it('varies a recording', async () => {
    upstream.on('/predictions', made());
    const source = { mode: 'audio_to_audio', source_audio: wave.toString('base64'), output_format: 'wav' };
    expect((await post({ model: 'meta/musicgen', ...source })).status).toBe(200);
    const { input_audio: given } = upstream.requests[0]!.json['input'] as { input_audio: string };
    expect(given).toBe(`data:audio/wav;base64,${wave.toString('base64')}`);
  });

  it('brought to MP3 where the model makes another; half a minute is all that some make', async () => {
    upstream.on('/predictions', made());
    const { body } = await post({ model: 'google/lyria-2', negative_prompt: 'drums' });
    expect((await downloadFrom(server.origin, body.data.audio_url)).type).toBe('audio/mpeg');
    expect(upstream.requests[0]?.json['input']).toEqual({ prompt: 'Jazz', negative_prompt: 'drums' });
  });

  it.each([
    [
      'google/lyria-2',
      { duration_seconds: 20 },
      'duration_seconds must be one of 30 with model google/lyria-2',
    ],
    ['google/lyria-2', { duration_seconds: 31 }, 'duration_seconds exceeds maximum'],
    ['google/lyria-2', { model_inputs: { top_k: 1 } }, 'Unknown model input: top_k'],
    ['meta/musicgen', { negative_prompt: 'x' }, 'Model meta/musicgen does not support negative_prompt'],
    [
      'elevenlabs/music-v1',
      { duration_seconds: 2 },
      'duration_seconds must be between 3 and 60 with model elevenlabs/music-v1',
    ],
    [
      'elevenlabs/music-v1',
      { mode: 'audio_to_audio', source_audio: 'AAAA' },
      'Model elevenlabs/music-v1 does not support audio_to_audio',
    ],
  ])('of %s with %j is refused before anything is asked', async (model, body, message) => {
    const answer = await post({ model, ...body });
    expect([answer.status, answer.body.error]).toEqual([400, message]);
    expect(upstream.requests).toHaveLength(0);
  });
});

describe('music over others', () => {
  it('stands in fal’s queue', async () => {
    upstream.on('/requests/r1/status', { body: { status: 'COMPLETED' } });
    upstream.on('/requests/r1', { body: { audio: { url: `${upstream.origin}/files/b.wav` } } });
    upstream.on('/fal/fal-ai/', { body: { request_id: 'r1' } });
    const asked = { model: 'fal/stable-audio', duration_seconds: 12, output_format: 'wav' };
    expect((await post(asked)).status).toBe(200);
    expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /fal/fal-ai/stable-audio-25/text-to-audio',
      'GET /fal/fal-ai/stable-audio-25/requests/r1/status?logs=1',
      'GET /fal/fal-ai/stable-audio-25/requests/r1',
      'GET /files/b.wav',
    ]);
    expect(upstream.requests[0]?.json).toEqual({ prompt: 'Jazz', seconds_total: 12 });
  });

  it('comes from ElevenLabs as it is made; a busy one is asked again', async () => {
    let calls = 0;
    upstream.on('/v1/music/stream', () => (++calls === 1 ? { status: 503 } : { body: wave }));
    const { status, body } = await post({ model: 'elevenlabs/music-v1', output_format: 'wav' });
    expect([status, body.usage.tracks_used, calls]).toEqual([200, 2, 2]);
    expect(upstream.requests[0]).toMatchObject({
      path: '/el/v1/music/stream?output_format=mp3_44100_128',
      headers: { 'xi-api-key': KEY },
      json: { prompt: 'Jazz', music_length_ms: 30_000, model_id: 'music_v1' },
    });
  });

  it('is 400 in the provider’s words where it refuses', async () => {
    const detail = { status: 'bad_prompt', message: 'Your prompt names an artist.' };
    upstream.on('/v1/music/stream', { status: 422, body: { detail } });
    const answer = await post({ model: 'elevenlabs/music-v1' });
    expect([answer.status, answer.body.error]).toEqual([400, 'Your prompt names an artist.']);
  });
});
