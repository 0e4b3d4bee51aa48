import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { waveOf } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeReply, NativeUpstream } from '../support/native-upstream.js';
import { successOf } from '../support/provider-successes.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

interface Answer {
  id?: string;
  error?: string;
  param?: string;
  model?: string;
  text?: string;
}

/** Upstream names by type of the model, of each provider. */
const MODELS: Record<string, Record<string, string>> = {
  elevenlabs: { tts: 'eleven_v3', stt: 'scribe_v1' },
  deepgram: { tts: 'aura-2', stt: 'nova-3' },
  assemblyai: { stt: 'universal' },
  fal: { tts: 'fal-ai/speaker', stt: 'fal-ai/wizper' },
};

/** 2 s of a tone. */
const wave = waveOf(Int16Array.from({ length: 32_000 }, (_, at) => Math.round(8000 * Math.sin(at / 12))));

let upstream: NativeUpstream;
let server: TestServer;
let key: string;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const at = (kind: string, path: string) => ({
    id: kind + path.replaceAll('/', '-'),
    kind,
    baseUrl: upstream.origin + path,
    apiKey: 'key-audio-0123456789abcdef',
    timeouts: { pollMs: 5 },
    retry: { retries: 1, backoffMs: 1 },
    models: Object.entries(MODELS[kind]!).map(([type, upstreamId]) => ({
      id: `${kind}${path}/own-${type}`,
      upstreamId,
      type,
      tier: 'fast',
    })),
  });
  const window = { limit: 1000, windowSeconds: 60 };
  server = await startPenstock({
    providers: { providers: Object.keys(MODELS).flatMap((kind) => [at(kind, ''), at(kind, '/gw/own')]) },
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
const listen = (model: string, query = '') =>
  post(`/audio/transcriptions${query}`, { model, file: wave.toString('base64') });
const seen = () => upstream.requests.map(({ method, path }) => `${method} ${path}`);
/** Replies one after the other; the last for ever. */
function inTurn(...replies: NativeReply[]): () => NativeReply {
  let next = 0;
  return () => replies[Math.min(next++, replies.length - 1)] as NativeReply;
}

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

describe('a transcription that AssemblyAI has taken', () => {
  const order = ['POST /v2/upload', 'POST /v2/transcript'];
  const question = 'GET /v2/transcript/t1';
  const completed = { id: 't1', status: 'completed', text: 'Hello.', language_code: 'en', words: [] };
  const page = { headers: { 'content-type': 'text/html' }, body: '<html>Bad gateway</html>' };
  const answering = (...replies: NativeReply[]) => {
    upstream.on('/v2/upload', { body: { upload_url: 'https://files.example.com/u' } });
    upstream.on('/v2/transcript/', inTurn(...replies));
    upstream.on('/v2/transcript', { body: { id: 't1', status: 'queued' } });
  };

  it('is asked about again where that failed for the moment, and neither ordered again nor deleted', async () => {
    answering({ status: 500 }, { status: 429 }, page, { body: '<html>' }, { body: completed });
    const { status, body } = await listen('assemblyai/own-stt');
    expect([status, body.text]).toEqual([200, 'Hello.']);
    expect(seen()).toEqual([...order, ...Array.from({ length: 5 }, () => question)]);
  });

  it('is deleted there after five faults in a row', async () => {
    answering({ status: 503 });
    const { status, body } = await listen('assemblyai/own-stt');
    expect([status, body.error]).toEqual([500, 'Transcription failed']);
    const asked = Array.from({ length: 5 }, () => question);
    expect(seen()).toEqual([...order, ...asked, 'DELETE /v2/transcript/t1']);
    const keys = upstream.requests.map(({ headers }) => headers.authorization);
    expect(new Set(keys)).toEqual(new Set(['key-audio-0123456789abcdef']));
  });
});

describe('an answer of Deepgram’s that holds no transcript', () => {
  const used = async () => {
    const quota = await server.rest<{ quotas: { stt_seconds: { used: number } } }>('GET', '/quota', { key });
    return quota.body.quotas.stt_seconds.used;
  };

  it.each([
    { err_code: 'INTERNAL', err_msg: 'backend failed' },
    { request_id: 'x' },
    { results: { channels: [] } },
    { results: { channels: [{ alternatives: [] }] } },
  ])('is a failure, free and not asked for again (%j)', async (answer) => {
    upstream.on('/v1/listen', { body: answer });
    const before = await used();
    const { status, body } = await listen('deepgram/own-stt');
    expect([status, body.error, upstream.requests.length]).toEqual([500, 'Transcription failed', 1]);
    expect(await used()).toBe(before);
  });

  it('unlike one that heard silence', async () => {
    const alternatives = [{ transcript: '', confidence: 0, words: [] }];
    upstream.on('/v1/listen', { body: { results: { channels: [{ alternatives }] } } });
    const { status, body } = await listen('deepgram/own-stt');
    expect([status, body.text]).toEqual([200, '']);
  });
});

describe('a transcription in fal’s queue', () => {
  const place = '/fal-ai/wizper/requests/r1';
  const queued = (response_url: string) => ({ body: { request_id: 'r1', response_url } });
  const unfinished = { status: 400, body: { detail: 'Request is still in progress' } };

  it('is cancelled there with its job', async () => {
    upstream.on(`${place}/cancel`, { status: 202, body: { status: 'CANCELLATION_REQUESTED' } });
    upstream.on(place, unfinished);
    upstream.on('/fal-ai/wizper', queued(`https://queue.fal.run${place}`));
    const { body } = await listen('fal/own-stt', '?async=true');
    await eventually(() => seen().includes(`GET ${place}`));
    await server.rest('DELETE', `/jobs/${body.id}`, { key });
    await eventually(() => seen().includes(`PUT ${place}/cancel`));
  });
});

describe('a base address with a path', () => {
  it.each([
    ['elevenlabs', 'tts', ['POST /gw/own/v1/text-to-speech/Xb7hH8MSUJpSbSDYk0k2']],
    ['elevenlabs', 'stt', ['POST /gw/own/v1/speech-to-text']],
    ['deepgram', 'tts', ['POST /gw/own/v1/speak']],
    ['deepgram', 'stt', ['POST /gw/own/v1/listen']],
    [
      'assemblyai',
      'stt',
      ['POST /gw/own/v2/upload', 'POST /gw/own/v2/transcript', 'GET /gw/own/v2/transcript/t'],
    ],
    ['fal', 'tts', ['POST /gw/own/fal-ai/speaker', 'GET /gw/own/files/sound']],
    ['fal', 'stt', ['POST /gw/own/fal-ai/wizper', 'GET /gw/own/fal-ai/wizper/requests/r']],
  ])('is where %s is asked for %s, and nowhere else', async (kind, type, paths) => {
    const makings = { origin: upstream.origin, picture: wave, sound: wave, film: wave };
    upstream.on('/', ({ method, path, json }) => {
      const asked = { method, path: path.replace(/\?.*/, ''), json };
      if (asked.path.endsWith('/fal-ai/speaker'))
        return { body: { audio: { url: 'https://fal.run/files/sound' } } };
      if (asked.path.endsWith('/requests/r')) return { body: { text: 'Yes', chunks: [] } };
      const made = successOf(asked, makings);
      return made === null ? { status: 404 } : { headers: { 'content-type': made.type }, body: made.body };
    });
    const model = `${kind}/gw/own/own-${type}`;
    const { status } = await (type === 'tts'
      ? post('/audio/speech', { model, input: 'Hello' })
      : listen(model));
    expect(seen().map((line) => line.replace(/\?.*/, ''))).toEqual(paths);
    expect(status).toBe(200);
  });
});

describe('an answer that nobody can use', () => {
  it.each([200, 500])('is read no further than can be held (%i)', async (status) => {
    const alternatives = [{ transcript: 'a'.repeat(70_000_000), words: [] }];
    upstream.on('/v1/listen', { status, body: { results: { channels: [{ alternatives }] } } });
    const answer = await listen('deepgram/own-stt');
    expect([answer.status, answer.body.error]).toEqual([500, 'Transcription failed']);
  });

  it('as a redirect, is not asked for again', async () => {
    upstream.on('/v1/listen', { status: 302, headers: { location: `${upstream.origin}/elsewhere` } });
    expect((await listen('deepgram/own-stt')).status).toBe(500);
    expect(seen()).toHaveLength(1);
  });
});
