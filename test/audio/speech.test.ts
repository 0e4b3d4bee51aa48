import { parseBuffer } from 'music-metadata';
import { createOpenAI } from '@ai-sdk/openai';
import { generateSpeech } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { downloadFrom, samplesOf } from '../support/audio.js';
import { startPenstock, type TestServer } from '../support/server.js';

const TEXT = 'The quick brown fox jumps over the lazy dog. Then it sleeps in the warm sun.';

interface Speech {
  created: number;
  audio_url: string;
  duration_seconds: number;
  character_count: number;
  model: string;
  model_tier: string;
  usage: { chars_used: number; quota_multiplier: number; chars_remaining: number };
}

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let free: Awaited<ReturnType<TestServer['createOrg']>>;

beforeAll(async () => {
  server = await startPenstock({ plans: { endpointLimits: { tts: { limit: 1000, windowSeconds: 60 } } } });
  org = await server.createOrg({ plan: 'business_monthly' });
  free = await server.createOrg({ plan: 'free' });
});
afterAll(() => server?.close());

async function say(body: object): Promise<Speech> {
  const answer = await server.rest<Speech>('POST', '/audio/speech', { key: org.key, body });
  expect(answer.body).not.toHaveProperty('error');
  expect(answer.status).toBe(200);
  return answer.body;
}

const download = (url: string) => downloadFrom(server.origin, url);

/** The mean pitch of a voice in Hz: the distance at which each loud stretch is most like itself. */
function pitchOfVoice(wave: Buffer): number {
  const samples = samplesOf(wave);
  const lags: number[] = [];
  for (let at = 0; at + 1200 < samples.length; at += 800) {
    const likeness = (lag: number) => {
      let sum = 0;
      for (let index = at; index < at + 800; index++)
        sum += (samples[index] ?? 0) * (samples[index + lag] ?? 0);
      return sum;
    };
    if (likeness(0) / 800 < 1_000_000) continue;
    const candidates = Array.from({ length: 240 }, (_, index) => index + 50);
    const best = candidates.reduce((top, lag) => (likeness(lag) > likeness(top) ? lag : top), 50);
    if (likeness(best) > 0.5 * likeness(0)) lags.push(best);
  }
  return 16_000 / (lags.sort((a, b) => a - b)[lags.length >> 1] ?? 1);
}

describe('speech', () => {
  it('answers as the contract has it, with the characters counted and charged by the tier', async () => {
    const input = `${TEXT} 😀`;
    const answer = await say({ input });
    expect(answer).toEqual({
      created: expect.any(Number) as number,
      audio_url: expect.stringMatching(/\/files\/.*\.mp3\?|\.mp3$/) as string,
      duration_seconds: expect.any(Number) as number,
      character_count: [...input].length,
      model: 'sandbox/tts-standard',
      model_tier: 'standard',
      usage: {
        chars_used: [...input].length * 1.25,
        quota_multiplier: 1.25,
        chars_remaining: expect.any(Number) as number,
      },
    });
  });

  it('is given back whole by a transcription, also where its beginning was spoken by itself', async () => {
    const sentence = 'Hello there, this is a test of speech.';
    // A slow voice's short word may be as long as a fast one's whole clause.
    for (const [voice, speed] of [
      ['nova', 1],
      ['onyx', 2],
    ] as const) {
      const { audio_url } = await say({ input: sentence, voice, speed });
      for (const input of ['hello', 'Hello there,', 'Hello there, this is a test'])
        await say({ input, voice });
      const file = (await download(audio_url)).bytes.toString('base64');
      const body = { file, model: 'sandbox/stt-fast' };
      const heard = await server.rest<{ text: string }>('POST', '/audio/transcriptions', {
        key: org.key,
        body,
      });
      expect(heard.body.text).toBe(sentence);
    }
  });

  it.each([
    ['mp3', 'audio/mpeg', 'MPEG', /Layer 3/],
    ['wav', 'audio/wav', 'WAVE', /PCM/],
    ['opus', 'audio/ogg', 'Ogg', /Opus/i],
    ['aac', 'audio/aac', 'ADTS', /AAC/],
  ])(
    'comes as %s: the type, the container and the length are right',
    async (format, type, container, codec) => {
      const answer = await say({ input: TEXT, response_format: format });
      const file = await download(answer.audio_url);
      expect(file.type).toBe(type);
      const { format: found } = await parseBuffer(file.bytes, undefined, { duration: true });
      expect(found.container).toMatch(container);
      expect(found.codec).toMatch(codec);
      expect(Math.abs((found.duration ?? 0) - answer.duration_seconds)).toBeLessThan(0.15);
      expect(answer.duration_seconds).toBeGreaterThan(3);
    },
  );

  it.each([0.25, 0.5, 1.5, 4])('at speed %d takes exactly so much of the time', async (speed) => {
    const [usual, changed] = [await say({ input: TEXT }), await say({ input: TEXT, speed })];
    expect(changed.duration_seconds).toBeCloseTo(usual.duration_seconds / speed, 2);
  });

  it.each(['sandbox/tts-standard', 'sandbox/tts-premium'])(
    '%s has six presets of six pitches, each the same every time',
    async (model) => {
      const heard = new Map<string, Buffer>();
      for (const voice of ['onyx', 'echo', 'alloy', 'fable', 'nova', 'shimmer']) {
        const { audio_url: url } = await say({
          input: 'Hello, how are you today?',
          voice,
          model,
          response_format: 'wav',
        });
        heard.set(voice, (await download(url)).bytes);
      }
      const pitches = [...heard.values()].map(pitchOfVoice);
      expect(pitches).toEqual([...pitches].sort((low, high) => low - high));
      expect(new Set(pitches.map((pitch) => Math.round(pitch / 4))).size).toBe(6);
      const again = await say({
        input: 'Hello, how are you today?',
        voice: 'onyx',
        model,
        response_format: 'wav',
      });
      expect((await download(again.audio_url)).bytes.equals(heard.get('onyx') ?? Buffer.alloc(0))).toBe(true);
    },
  );

  it('speaks 10,000 characters, also where they are one word', async () => {
    const answer = await say({ input: 'a'.repeat(10_000), response_format: 'wav' });
    expect(answer.character_count).toBe(10_000);
    expect(answer.duration_seconds).toBeGreaterThan(300);
  });

  it('imitates the pitch and the pace of a sample, given as URL, data: URL or base64', async () => {
    const speak = async (extra: object) => {
      const answer = await say({ input: TEXT, response_format: 'wav', ...extra });
      return { ...answer, bytes: (await download(answer.audio_url)).bytes };
    };
    const low = await speak({ voice: 'onyx' });
    const high = await speak({ voice: 'shimmer' });
    const asLow = await speak({ voice: 'mine', reference_audio: low.audio_url });
    const asHigh = await speak({
      voice: 'mine',
      reference_audio: `data:audio/wav;base64,${high.bytes.toString('base64')}`,
    });
    expect(pitchOfVoice(asHigh.bytes)).toBeGreaterThan(pitchOfVoice(asLow.bytes) * 1.6);
    const slow = await speak({ voice: 'onyx', speed: 0.7 });
    const asSlow = await speak({
      voice: 'mine',
      reference_audio: slow.bytes.toString('base64'),
      reference_text: TEXT,
    });
    expect(asSlow.duration_seconds).toBeGreaterThan(asLow.duration_seconds * 1.05);
    const { body } = await server.rest<{ jobs: { inputParams: { reference_audio: string } }[] }>(
      'GET',
      '/jobs?tool=tts&limit=1',
      { key: org.key },
    );
    expect((await download(body.jobs[0]?.inputParams.reference_audio ?? '')).bytes.equals(slow.bytes)).toBe(
      true,
    );
  });

  it('varies with a seed', async () => {
    const of = async (seed?: number) =>
      (await say({ input: TEXT, ...(seed === undefined ? {} : { model_inputs: { seed } }) }))
        .duration_seconds;
    const [one, again, two] = [await of(1), await of(1), await of(3)];
    expect(again).toBe(one);
    expect(two).not.toBe(one);
  });

  it('obeys the rehearsal directive', async () => {
    const failed = await server.rest('POST', '/audio/speech', {
      key: org.key,
      body: { input: 'Hello @sandbox{"fail":"no"}' },
    });
    expect(failed).toMatchObject({ status: 500, body: { error: 'Generation failed', code: 'server_error' } });
  });

  it('is made by an asynchronous job with the outputData of the contract', async () => {
    const { body } = await server.rest<{ id: string; status: string }>('POST', '/audio/speech?async=true', {
      key: org.key,
      body: { input: TEXT },
    });
    expect(body.status).toBe('pending');
    const job = await server.rest<{ status: string; tool: string; outputData: Record<string, unknown> }>(
      'GET',
      `/jobs/${body.id}?poll=true`,
      { key: org.key },
    );
    expect(job.body).toMatchObject({
      status: 'completed',
      tool: 'tts',
      progress: 100,
      inputParams: { input: TEXT, voice: 'nova', speed: 1, response_format: 'mp3' },
      outputData: {
        audio_url: expect.stringContaining('/files/') as string,
        duration_seconds: expect.any(Number) as number,
      },
    });
    expect(Object.keys(job.body.outputData).sort()).toEqual(['audio_url', 'duration_seconds']);
  });

  it('answers with the bytes themselves where the official client asks for them', async () => {
    const client = new OpenAI({
      apiKey: org.key,
      baseURL: server.baseUrl,
    });
    const response = await client.audio.speech.create({
      model: 'sandbox/tts-fast',
      voice: 'alloy',
      input: TEXT,
    });
    expect(response.headers.get('content-type')).toBe('audio/mpeg');
    expect(response.headers.get('x-job-id')).toMatch(/^job_/);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect((await parseBuffer(bytes)).format.container).toBe('MPEG');
  });

  it('answers the AI SDK with the bytes where its headers ask for audio', async () => {
    const provider = createOpenAI({ apiKey: org.key, baseURL: server.baseUrl });
    const { audio } = await generateSpeech({
      model: provider.speech('sandbox/tts-fast'),
      text: TEXT,
      voice: 'alloy',
      headers: { accept: 'audio/*' },
    });
    expect(audio.mediaType).toBe('audio/mpeg');
    expect((await parseBuffer(audio.uint8Array)).format.container).toBe('MPEG');
  });

  it.each([
    ['audio/mpeg, application/json;q=0', 'audio/mpeg'],
    ['audio/mpeg,', 'audio/mpeg'],
    ['application/octet-stream;q=0', 'application/json; charset=utf-8'],
    ['audio/mpeg, */*;q=0.1', 'audio/mpeg'],
    ['audio/mpeg;q=0.5, application/json', 'application/json; charset=utf-8'],
    ['application/json;q=0.4, audio/*;q=0.5', 'audio/mpeg'],
    ['application/json;q=0.4, AUDIO/WAV', 'audio/mpeg'],
    ['application/octet-stream, application/json;q=0.9', 'audio/mpeg'],
    ['audio/mpeg, application/json', 'application/json; charset=utf-8'],
    ['application/json;q=0, */*', 'audio/mpeg'],
    ['*/*', 'application/json; charset=utf-8'],
    ['text/html', 'application/json; charset=utf-8'],
    ['audio/mpeg;q=0, */*;q=0.5', 'application/json; charset=utf-8'],
  ])('follows the weights of Accept: %s', async (accept, type) => {
    const body = { input: 'Hi', model: 'sandbox/tts-fast' };
    const answer = await server.raw('/api/v1/audio/speech', {
      method: 'POST',
      headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json', accept },
      body: JSON.stringify(body),
    });
    await answer.body.dump();
    expect(answer.headers['content-type']).toBe(type);
  });

  it('is the same by GraphQL, and its price is told beforehand', async () => {
    const { data, errors } = await server.graphql<{
      createSpeech: {
        data: { audioUrl: string; durationSeconds: number; characterCount: number };
        usage: object;
      };
    }>(
      `mutation ($input: CreateSpeechInput!) { createSpeech(input: $input) {
        job { id status } data { audioUrl durationSeconds characterCount } modelTier usage { charsUsed quotaMultiplier } } }`,
      { key: org.key, variables: { input: { input: TEXT, responseFormat: 'wav' } } },
    );
    expect(errors).toEqual([]);
    expect(data?.createSpeech).toMatchObject({
      data: { characterCount: TEXT.length },
      usage: { charsUsed: TEXT.length * 1.25, quotaMultiplier: 1.25 },
    });
    const estimate = await server.graphql(
      `query ($speech: CreateSpeechInput!) { estimate(input: { speech: $speech }) { model amounts { bucket amount } } }`,
      { key: org.key, variables: { speech: { input: TEXT } } },
    );
    expect(estimate.data).toEqual({
      estimate: {
        model: 'sandbox/tts-standard',
        amounts: [{ bucket: 'tts_chars', amount: TEXT.length * 1.25 }],
      },
    });
  });
});

describe('speech is refused', () => {
  const wave = Buffer.from('nothing that sounds').toString('base64');
  it.each<[object, number, string, string | undefined]>([
    [{}, 400, 'input is required', 'input'],
    [{ input: '' }, 400, 'input is required', 'input'],
    [{ input: 'a'.repeat(10_001) }, 400, 'input text exceeds maximum length', 'input'],
    [{ input: 'a', speed: 4.01 }, 400, 'speed must be between 0.25 and 4.0', 'speed'],
    [{ input: 'a', speed: '1' }, 400, 'speed must be between 0.25 and 4.0', 'speed'],
    [
      { input: 'a', response_format: 'flac' },
      400,
      'response_format must be one of mp3, wav, opus, aac',
      'response_format',
    ],
    [{ input: 'a', model_inputs: { voice: 1 } }, 400, 'Unknown model input: voice', 'model_inputs'],
    [{ input: 'a', pitch: 1 }, 400, 'Unknown parameter: pitch', 'pitch'],
    [
      { input: 'a', voice: 'ghost' },
      400,
      'voice must be one of alloy, echo, fable, onyx, nova, shimmer, or come with reference_audio',
      'voice',
    ],
    [{ input: 'a', reference_text: 'b' }, 400, 'reference_text needs reference_audio', 'reference_text'],
    [{ input: 'a', reference_audio: 'http://127.0.0.1/x.wav' }, 400, 'Invalid URL', 'reference_audio'],
    [
      { input: 'a', reference_audio: wave },
      400,
      'reference_audio must be audio: MP3, WAV, M4A, FLAC, OGG, WebM, AAC',
      'reference_audio',
    ],
    [{ input: '日本語' }, 400, 'Model sandbox/tts-standard speaks text in Latin letters only', 'input'],
  ])('%#', async (body, status, error, param) => {
    expect(await server.rest('POST', '/audio/speech', { key: org.key, body })).toMatchObject({
      status,
      body: { error, ...(param === undefined ? {} : { param }) },
    });
  });

  it('where the plan does not allow the tier, and where the characters are used up', async () => {
    const refuse = async (body: object) =>
      await server.rest('POST', '/audio/speech', { key: free.key, body: { input: 'Hello', ...body } });
    expect(await refuse({})).toMatchObject({ status: 403, body: { error: 'Model tier not allowed' } });
    expect(await refuse({ model: 'sandbox/tts-fast' })).toMatchObject({
      status: 402,
      body: { error: 'TTS character limit exceeded', code: 'quota_exceeded' },
    });
  });
});
