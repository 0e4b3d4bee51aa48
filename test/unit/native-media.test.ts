import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProviderRegistry, UpstreamError } from '../../src/providers/index.js';
import type { Provider, ProviderRegistry } from '../../src/providers/index.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';

const KEY = 'sk-native-0123456789abcdef';
const PICTURE = Buffer.from('iVBORw0KGgo=', 'base64');
const signal = new AbortController().signal;

let upstream: NativeUpstream;
let registry: ProviderRegistry | undefined;
beforeEach(async () => {
  upstream = await startNativeUpstream();
});
afterEach(async () => {
  await registry?.close();
  await upstream.close();
});

async function open(id: string, env: Record<string, string>): Promise<Provider> {
  registry = await createProviderRegistry({
    file: null,
    env,
    logger: pino({ level: 'silent' }),
  });
  const provider = registry.find(id);
  if (provider === null) throw new Error(`${id} is not on`);
  return provider;
}

const transcriptionCall = (more: object = {}) => ({
  audio: Buffer.from('RIFF'),
  mediaType: 'audio/wav',
  durationSeconds: 4,
  language: null,
  words: true,
  diarization: true,
  translation: false,
  modelInputs: {},
  signal,
  ...more,
});

const drawing = {
  prompt: 'A cat',
  n: 1,
  size: '1792x1024' as const,
  aspectRatio: undefined,
  seed: undefined,
  files: undefined,
  mask: undefined,
  providerOptions: { penstock: { negative_prompt: 'dogs' } },
  abortSignal: signal,
};

describe('embeddings', () => {
  it('of Google have the dimensions that were asked for', async () => {
    upstream.on(':batchEmbedContents', { body: { embeddings: [{ values: [1, 2] }, { values: [3, 4] }] } });
    const google = await open('google', {
      GOOGLE_GENERATIVE_AI_API_KEY: KEY,
      GOOGLE_BASE_URL: `${upstream.origin}/v1beta`,
    });
    const made = await google.embedding?.('gemini-embedding-001').doEmbed({
      values: ['a', 'b'],
      providerOptions: { penstock: { dimensions: 2 } },
      abortSignal: signal,
    });
    expect(made?.embeddings).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(JSON.stringify(upstream.requests[0]?.json)).toContain('"outputDimensionality":2');
  });

  it('of Cohere tell their tokens', async () => {
    upstream.on('/v2/embed', {
      body: { embeddings: { float: [[1, 2]] }, meta: { billed_units: { input_tokens: 3 } } },
    });
    const cohere = await open('cohere', { COHERE_API_KEY: KEY, COHERE_BASE_URL: `${upstream.origin}/v2` });
    const made = await cohere.embedding?.('embed-v4.0').doEmbed({ values: ['a'], abortSignal: signal });
    expect(made).toMatchObject({ embeddings: [[1, 2]], usage: { tokens: 3 } });
  });
});

describe('images', () => {
  it('of Google get the nearest shape for a size', async () => {
    const inlineData = { mimeType: 'image/png', data: PICTURE.toString('base64') };
    upstream.on(':generateContent', {
      body: { candidates: [{ content: { parts: [{ inlineData }] }, finishReason: 'STOP' }] },
    });
    const google = await open('google', {
      GOOGLE_GENERATIVE_AI_API_KEY: KEY,
      GOOGLE_BASE_URL: `${upstream.origin}/v1beta`,
    });
    const made = await google.image?.('gemini-2.5-flash-image').doGenerate(drawing);
    const [image] = made?.images ?? [];
    expect(typeof image === 'string' ? image : Buffer.from(image ?? []).toString('base64')).toBe(
      PICTURE.toString('base64'),
    );
    expect(upstream.requests[0]?.json).toMatchObject({
      generationConfig: { imageConfig: { aspectRatio: '16:9' } },
    });
  });

  it('that a provider puts on a stranger’s private address are not fetched', async () => {
    const other = await startNativeUpstream();
    other.on('/secret', { body: 'secret' });
    upstream.on('/fal-ai/flux/dev', { body: { images: [{ url: `${other.origin}/secret` }] } });
    const fal = await open('fal', { FAL_API_KEY: KEY, FAL_BASE_URL: upstream.origin });
    const error: unknown = await fal
      .image?.('fal-ai/flux/dev')
      .doGenerate(drawing)
      .then(
        () => null,
        (reason: unknown) => reason,
      );
    expect(error).toBeInstanceOf(UpstreamError);
    expect(other.requests).toHaveLength(0);
    await other.close();
  });

  it('on the provider’s own host are', async () => {
    upstream.on('/files/cat.png', { body: 'picture' });
    upstream.on('/fal-ai/flux/dev', { body: { images: [{ url: `${upstream.origin}/files/cat.png` }] } });
    const fal = await open('fal', { FAL_API_KEY: KEY, FAL_BASE_URL: upstream.origin });
    const made = await fal.image?.('fal-ai/flux/dev').doGenerate(drawing);
    expect(Buffer.from(made?.images[0] as Uint8Array).toString()).toBe('picture');
  });
});

describe('speech of ElevenLabs', () => {
  it('is asked for with voice and key, and comes as bytes', async () => {
    upstream.on('/v1/text-to-speech/', { headers: { 'content-type': 'audio/mpeg' }, body: 'ID3' });
    const eleven = await open('elevenlabs', {
      ELEVENLABS_API_KEY: KEY,
      ELEVENLABS_BASE_URL: upstream.origin,
    });
    const made = await eleven
      .tts?.('eleven_flash_v2_5')
      .doGenerate({ text: 'Hello', voice: 'voice1', outputFormat: 'flac', abortSignal: signal });
    expect(Buffer.from(made?.audio as Uint8Array).toString()).toBe('ID3');
    const [request] = upstream.requests;
    expect(request?.path).toBe('/v1/text-to-speech/voice1?output_format=mp3_44100_128');
    expect(request?.headers['xi-api-key']).toBe(KEY);
    expect(request?.json).toMatchObject({ text: 'Hello', model_id: 'eleven_flash_v2_5' });
  });
});

describe('transcription', () => {
  it('of Deepgram has sentences, words and speakers', async () => {
    const words = [
      { word: 'hello', punctuated_word: 'Hello', start: 0.1, end: 0.4, speaker: 0 },
      { word: 'there', punctuated_word: 'there.', start: 0.4, end: 0.8, speaker: 0 },
      { word: 'hi', punctuated_word: 'Hi.', start: 1.2, end: 1.5, speaker: 1 },
    ];
    upstream.on('/v1/listen', {
      body: {
        metadata: { duration: 4 },
        results: {
          channels: [{ detected_language: 'en', alternatives: [{ transcript: 'Hello there. Hi.', words }] }],
        },
      },
    });
    const deepgram = await open('deepgram', { DEEPGRAM_API_KEY: KEY, DEEPGRAM_BASE_URL: upstream.origin });
    const made = await deepgram.stt?.('nova-3').transcribe(transcriptionCall());
    expect(made).toEqual({
      text: 'Hello there. Hi.',
      language: 'en',
      segments: [
        {
          start: 0.1,
          end: 0.8,
          text: 'Hello there.',
          speaker: 'SPEAKER_00',
          words: [
            { word: 'Hello', start: 0.1, end: 0.4 },
            { word: 'there.', start: 0.4, end: 0.8 },
          ],
        },
        {
          start: 1.2,
          end: 1.5,
          text: 'Hi.',
          speaker: 'SPEAKER_01',
          words: [{ word: 'Hi.', start: 1.2, end: 1.5 }],
        },
      ],
    });
    const [request] = upstream.requests;
    expect(request?.path).toContain('diarize=true');
    expect(request?.path).toContain('detect_language=true');
    expect(request?.headers.authorization).toBe(`Token ${KEY}`);
  });

  it('of ElevenLabs sends the sound as a form', async () => {
    upstream.on('/v1/speech-to-text', {
      body: {
        language_code: 'eng',
        language_probability: 1,
        text: 'Hello.',
        words: [{ text: 'Hello.', type: 'word', start: 0, end: 0.5, speaker_id: 'speaker_0' }],
      },
    });
    const eleven = await open('elevenlabs', {
      ELEVENLABS_API_KEY: KEY,
      ELEVENLABS_BASE_URL: upstream.origin,
    });
    const made = await eleven.stt?.('scribe_v1').transcribe(transcriptionCall({ words: false }));
    expect(made?.language).toBe('en');
    expect(made?.segments).toEqual([
      { start: 0, end: 0.5, text: 'Hello.', speaker: 'SPEAKER_00', words: null },
    ]);
    const [request] = upstream.requests;
    expect(request?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(request?.bytes.toString('latin1')).toContain('RIFF');
  });
});

describe('sound', () => {
  const openFal = () => open('fal', { FAL_API_KEY: KEY, FAL_BASE_URL: upstream.origin });

  it('of fal is heard in its queue, in the language that was asked for', async () => {
    let asked = 0;
    upstream.on('/fal-ai/wizper/requests/r1', () =>
      ++asked < 2
        ? { status: 400, body: { detail: 'Request is still in progress' } }
        : { body: { text: 'Hallo.', chunks: [{ text: 'Hallo.', timestamp: [0, 0.9] }] } },
    );
    upstream.on('/fal-ai/wizper', { body: { request_id: 'r1' } });
    const heard = await (
      await openFal()
    ).stt!('fal-ai/wizper').transcribe({
      ...transcriptionCall({ words: false, diarization: false, language: 'de' }),
    });
    expect(heard).toMatchObject({ text: 'Hallo.', segments: [{ start: 0, end: 0.9, text: 'Hallo.' }] });
    expect(upstream.requests[0]).toMatchObject({
      headers: { authorization: `Key ${KEY}` },
      json: { task: 'transcribe', language: 'de', diarize: false },
    });
  });

  it('of fal is spoken and fetched', async () => {
    upstream.on('/files/said', { headers: { 'content-type': 'audio/mpeg' }, body: 'ID3' });
    upstream.on('/fal-ai/speaker', { body: { audio: { url: 'https://fal.run/files/said' } } });
    const speech = (await openFal()).tts!('fal-ai/speaker');
    const { audio } = await speech.doGenerate({
      text: 'Hello',
      voice: 'Ann',
      speed: 1.5,
      abortSignal: signal,
    });
    expect(Buffer.from(audio as Uint8Array).toString('latin1')).toBe('ID3');
    expect(upstream.requests[0]).toMatchObject({
      headers: { authorization: `Key ${KEY}` },
      json: { text: 'Hello', voice: 'Ann', speed: 1.5 },
    });
  });
});
