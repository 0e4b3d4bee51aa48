import { ALL_FORMATS, BufferSource, Input } from 'mediabunny';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { waveOf } from '../support/audio.js';
import { readEvents } from '../support/client.js';
import { startNativeUpstream, type NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at } from './v1.js';

let server: TestServer;
let upstream: NativeUpstream;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const window = { limit: 1000, windowSeconds: 60 };
  server = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: `${upstream.origin}/v1`,
          apiKey: 'k',
          retry: { retries: 0 },
          models: [
            { id: 'acme/voice', type: 'tts', tier: 'fast', upstreamId: 'v' },
            { id: 'acme/ears', type: 'stt', tier: 'fast', upstreamId: 'whisper-1' },
            { id: 'acme/ears-4o', type: 'stt', tier: 'fast', upstreamId: 'gpt-4o-transcribe' },
          ],
        },
      ],
      fallbacks: { 'acme/voice': ['sandbox/tts-fast'] },
    },
    plans: { endpointLimits: { tts: window, stt: window } },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
  client = new OpenAI({ apiKey: org.key, baseURL: `${server.origin}/v1`, maxRetries: 0 });
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
/** A sound, read to its end: an answer that nobody reads holds its connection. */
const spoken = async (asked: OpenAI.Audio.SpeechCreateParams) =>
  await bytesOf((await client.audio.speech.create(asked)) as unknown as Response);
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const raw = (path: string, body: object) =>
  at(server, '/v1')('POST', path, { headers: { authorization: `Bearer ${org.key}` }, body });

async function ledgerRows(): Promise<number> {
  const query = '{ usageRecords(first: 100) { nodes { operation } } }';
  const { data } = await server.graphql<{ usageRecords: { nodes: object[] } }>(query, { key: org.key });
  return data!.usageRecords.nodes.length;
}

/** The form that a decoder reads the bytes as, its length in seconds and whether anything is heard. */
async function heardIn(bytes: Buffer): Promise<{ mime: string; seconds: number; loud: boolean }> {
  const input = new Input({ source: new BufferSource(new Uint8Array(bytes)), formats: ALL_FORMATS });
  const mime = await input.getMimeType();
  const track = await input.getPrimaryAudioTrack();
  return { mime, seconds: await track!.computeDuration(), loud: bytes.some((byte) => byte > 64) };
}

const TEXT = 'Hello from the other side of the hill. The weather is fine.';
let wave: Buffer;

describe('speech with the official client', () => {
  it("means the nearest voice of a fallback that has none of the convention's name", async () => {
    upstream.on('/v1/audio/speech', { status: 500, body: {} });
    const bytes = await spoken({ model: 'acme/voice', voice: 'coral', input: TEXT, response_format: 'wav' });
    expect(upstream.requests[0]?.json).toMatchObject({ voice: 'coral' });
    expect(await heardIn(bytes)).toMatchObject({ mime: 'audio/wav', loud: true });
  });

  it('is bytes in each format, which players read', async () => {
    const speak = async (format: 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm') => {
      const answer = await client.audio.speech.create({
        model: 'tts-standard',
        voice: 'nova',
        input: TEXT,
        response_format: format,
      });
      return {
        type: answer.headers.get('content-type'),
        bytes: await bytesOf(answer as unknown as Response),
      };
    };
    const made = await speak('wav');
    wave = made.bytes;
    const { seconds } = await heardIn(wave);
    expect(seconds).toBeGreaterThan(1);
    for (const [format, type, mime] of [
      ['mp3', 'audio/mpeg', 'audio/mpeg'],
      ['opus', 'audio/ogg', 'ogg'],
      ['aac', 'audio/aac', 'audio/aac'],
      ['flac', 'audio/flac', 'audio/flac'],
    ] as const) {
      const sound = await speak(format);
      const heard = await heardIn(sound.bytes);
      expect(sound.type).toBe(type);
      expect(heard.mime).toContain(mime);
      expect(heard.loud).toBe(true);
      expect(Math.abs(heard.seconds - seconds)).toBeLessThan(0.2);
    }
    const pcm = await speak('pcm');
    expect(pcm.type).toBe('audio/pcm');
    expect(Math.abs(pcm.bytes.length / 2 / 24_000 - seconds)).toBeLessThan(0.05);
    const replayed = await heardIn(waveOf(new Int16Array(new Uint8Array(pcm.bytes).buffer), 24_000));
    expect(replayed.loud).toBe(true);
  });

  it('is decoded here again in each format, and its words are known', async () => {
    for (const format of ['flac', 'mp3', 'aac', 'opus'] as const) {
      const answer = await client.audio.speech.create({
        voice: 'nova',
        input: TEXT,
        response_format: format,
      } as never);
      const file = await toFile(await bytesOf(answer as unknown as Response), `speech.${format}`);
      expect((await client.audio.transcriptions.create({ model: 'stt-fast', file })).text).toBe(TEXT);
    }
  });

  it('comes as events, which together are the sound', async () => {
    const response = await server.raw('/v1/audio/speech', {
      method: 'POST',
      headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: TEXT, voice: 'nova', stream_format: 'sse', response_format: 'wav' }),
    });
    const events: { type: string; audio?: string; usage?: object }[] = [];
    for await (const { data } of readEvents(response.body as AsyncIterable<Buffer>))
      events.push(JSON.parse(data) as (typeof events)[number]);
    expect(events.at(-1)).toEqual({
      type: 'speech.audio.done',
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
    const deltas = events.slice(0, -1);
    expect(new Set(deltas.map(({ type }) => type))).toEqual(new Set(['speech.audio.delta']));
    const bytes = Buffer.concat(deltas.map(({ audio }) => Buffer.from(audio ?? '', 'base64')));
    expect((await heardIn(bytes)).seconds).toBeGreaterThan(1);
  });

  it("takes the convention's voices, and what it is told of manner goes to models that take it", async () => {
    for (const voice of ['ash', 'ballad', 'cedar', 'coral', 'marin', 'sage', 'verse'])
      await spoken({ model: 'tts-fast', voice, input: 'Hi', instructions: 'Softly' });
    upstream.on('/audio/speech', { body: wave, headers: { 'content-type': 'audio/wav' } });
    const bytes = await spoken({
      model: 'acme/voice',
      voice: 'coral',
      input: 'Hi',
      instructions: 'Softly',
      response_format: 'pcm',
    });
    expect(upstream.requests[0]?.json).toMatchObject({ voice: 'coral', instructions: 'Softly', input: 'Hi' });
    expect(bytes.length).toBeGreaterThan(24_000);
  });

  it('is refused by the name of the field, and nothing is charged', async () => {
    const before = await ledgerRows();
    const cases: [object, string][] = [
      [{ response_format: 'midi' }, 'response_format'],
      [{ stream_format: 'ws' }, 'stream_format'],
      [{ voice: 'nobody' }, 'voice'],
      [{ voice: 7 }, 'voice'],
      [{ speed: 9 }, 'speed'],
      [{ input: '' }, 'input'],
      [{ instructions: 7 }, 'instructions'],
    ];
    for (const [fields, param] of cases)
      expect([param, await raw('/audio/speech', { input: 'Hi', voice: 'nova', ...fields })]).toMatchObject([
        param,
        { status: 400, body: { error: { param, type: 'invalid_request_error' } } },
      ]);
    expect(await ledgerRows()).toBe(before);
  });
});

const file = async () => await toFile(wave, 'speech.wav', { type: 'audio/wav' });

describe('transcriptions with the official client', () => {
  const model = 'sandbox/stt-fast';

  it('have the form of each response_format', async () => {
    const plain = await client.audio.transcriptions.create({ model, file: await file() });
    expect(plain.text).toBe(TEXT);
    expect(plain.usage).toMatchObject({ type: 'duration', seconds: expect.any(Number) });
    const text = await client.audio.transcriptions.create({
      model,
      file: await file(),
      response_format: 'text',
      prompt: 'A greeting',
      temperature: 0.2,
      include: ['logprobs'],
      chunking_strategy: { type: 'server_vad' },
    });
    expect(text).toBe(`${TEXT}\n`);
    const srt = await client.audio.transcriptions.create({
      model,
      file: await file(),
      response_format: 'srt',
    });
    expect(srt).toMatch(/^1\n00:00:00,\d{3} --> /);
    const vtt = await client.audio.transcriptions.create({
      model,
      file: await file(),
      response_format: 'vtt',
    });
    expect(vtt).toMatch(/^WEBVTT\n\n/);
    const verbose = await client.audio.transcriptions.create({
      model,
      file: await file(),
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    });
    expect(verbose).toMatchObject({ task: 'transcribe', text: TEXT, duration: expect.any(Number) });
    expect(verbose.words?.[0]).toMatchObject({ word: 'Hello', start: expect.any(Number) });
    expect(verbose.segments?.[0]).toMatchObject({ id: 0, seek: 0, tokens: [] });
    const diarized = await client.audio.transcriptions.create({
      model,
      file: await file(),
      response_format: 'diarized_json',
      chunking_strategy: 'auto',
    });
    expect(diarized).toMatchObject({ task: 'transcribe', text: TEXT });
    expect((diarized as unknown as { segments: object[] }).segments[0]).toMatchObject({
      type: 'transcript.text.segment',
      speaker: 'A',
    });
  });

  it('stream their text to its end, and speakers where they were asked for', async () => {
    const stream = await client.audio.transcriptions.create({ model, file: await file(), stream: true });
    let [joined, done] = ['', ''];
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') joined += event.delta;
      if (event.type === 'transcript.text.done') done = event.text;
    }
    expect([joined, done]).toEqual([TEXT, TEXT]);
    const turns = await client.audio.transcriptions.create({
      model,
      file: await file(),
      stream: true,
      response_format: 'diarized_json',
    });
    const types = new Set<string>();
    for await (const event of turns) types.add(event.type);
    expect([...types]).toEqual(['transcript.text.segment', 'transcript.text.delta', 'transcript.text.done']);
  });

  it('reach upstreams with what those take', async () => {
    upstream.on('/audio/transcriptions', { body: { text: 'Hi', language: 'english' } });
    await client.audio.transcriptions.create({
      model: 'acme/ears',
      file: await file(),
      prompt: 'Names: Ada',
      temperature: 0.5,
      language: 'en',
    });
    const sent = upstream.requests[0]!;
    const form = await new Response(new Uint8Array(sent.bytes), {
      headers: { 'content-type': sent.headers['content-type']! },
    }).formData();
    expect([form.get('prompt'), form.get('temperature'), form.get('language')]).toEqual([
      'Names: Ada',
      '0.5',
      'en',
    ]);
  });

  it('are refused by the name of the field, and nothing is charged', async () => {
    const before = await ledgerRows();
    const cases: [object, string][] = [
      [{ response_format: 'xml' }, 'response_format'],
      [{ include: ['words'] }, 'include'],
      [{ chunking_strategy: 'fine' }, 'chunking_strategy'],
      [{ temperature: 2 }, 'temperature'],
      [{ timestamp_granularities: ['letter'] }, 'timestamp_granularities'],
      [{ stream: true, response_format: 'srt' }, 'stream'],
      [{ known_speaker_names: ['Ada'] }, 'known_speaker_names'],
      [{ language: '??' }, 'language'],
      [{ model: 'acme/ears-4o', response_format: 'diarized_json' }, 'diarization'],
    ];
    for (const [fields, param] of cases) {
      const asked = client.audio.transcriptions.create({ model, file: await file(), ...fields } as never);
      expect([param, await faultOf(asked)]).toMatchObject([
        param,
        { status: 400, param, type: 'invalid_request_error' },
      ]);
    }
    expect(await raw('/audio/transcriptions', { model })).toMatchObject({
      status: 400,
      body: { error: { param: 'file' } },
    });
    expect(await ledgerRows()).toBe(before);
  });
});

describe('translations with the official client', () => {
  it('are English in each response_format', async () => {
    const ask = async (response_format?: 'json' | 'text' | 'verbose_json' | 'srt' | 'vtt') =>
      (await client.audio.translations.create({
        model: 'stt-fast',
        file: await file(),
        ...(response_format ? { response_format } : {}),
      } as never)) as unknown;
    expect(await ask()).toMatchObject({ text: TEXT });
    expect(await ask('verbose_json')).toMatchObject({ task: 'translate', text: TEXT });
    expect(await ask('text')).toBe(`${TEXT}\n`);
    expect(await ask('srt')).toMatch(/^1\n/);
    expect(await faultOf(ask('diarized_json' as never))).toMatchObject({
      status: 400,
      param: 'response_format',
    });
  });

  it('are asked of upstreams at their own address', async () => {
    upstream.on('/audio/translations', { body: { text: 'Good day', language: 'german' } });
    const { text } = await client.audio.translations.create({ model: 'acme/ears', file: await file() });
    expect(text).toBe('Good day');
    expect(upstream.requests[0]?.path).toBe('/v1/audio/translations');
  });
});
