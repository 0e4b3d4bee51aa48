import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { waveOf } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

interface Answer {
  error?: string;
  param?: string;
  model?: string;
}

/** 2 s of a tone. */
const wave = waveOf(Int16Array.from({ length: 32_000 }, (_, at) => Math.round(8000 * Math.sin(at / 12))));

let upstream: NativeUpstream;
let server: TestServer;
let key: string;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const at = (kind: string, models: { type: string; upstreamId: string }[]) => ({
    id: kind,
    kind,
    baseUrl: upstream.origin,
    apiKey: 'key-audio-0123456789abcdef',
    timeouts: { pollMs: 5 },
    retry: { retries: 1, backoffMs: 1 },
    models: models.map((model) => ({ ...model, id: `${kind}/own-${model.type}`, tier: 'fast' })),
  });
  const window = { limit: 1000, windowSeconds: 60 };
  server = await startPenstock({
    providers: {
      providers: [at('elevenlabs', [{ type: 'tts', upstreamId: 'eleven_v3' }])],
      fallbacks: {},
    },
    plans: { endpointLimits: { tts: window, stt: window } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
beforeEach(() => upstream.clear());
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});

const post = (path: string, body: object) => server.rest<Answer>('POST', path, { key, body });

describe('a voice of ElevenLabs', () => {
  const speak = (voice: string) =>
    post('/audio/speech', { model: 'elevenlabs/own-tts', input: 'Hello', voice });

  it.each([
    '../../v1/sound-generation',
    '..',
    'x?enable_logging=false&z=',
    '../history#',
    'a%2Fb',
    'Ännchen',
  ])('that would lead to another of its endpoints (%s) is refused, and nothing is sent', async (voice) => {
    upstream.on('/', { headers: { 'content-type': 'audio/wav' }, body: wave });
    const { status, body } = await speak(voice);
    expect([status, body.error, body.param]).toEqual([
      400,
      'Model elevenlabs/own-tts has no voice of this name',
      'voice',
    ]);
    expect(upstream.requests).toEqual([]);
  });

  it('is asked for by its id', async () => {
    upstream.on('/v1/text-to-speech/', { headers: { 'content-type': 'audio/wav' }, body: wave });
    expect((await speak('pNInz6ob-gDQ_cFm')).status).toBe(200);
    expect(upstream.requests[0]?.path).toMatch(/^\/v1\/text-to-speech\/pNInz6ob-gDQ_cFm\?/);
  });
});
