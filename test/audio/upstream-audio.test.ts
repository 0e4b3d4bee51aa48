import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answering } from '../support/answering.js';
import { downloadFrom, m4aOf, waveOf } from '../support/audio.js';
import { startPenstock, type TestServer } from '../support/server.js';

interface Seen {
  path: string;
  authorization: string | undefined;
  type: string;
  /** Its `Idempotency-Key`. */
  named: string | string[] | undefined;
  accept: string | undefined;
  body: Buffer;
}
interface Reply {
  status?: number;
  type?: string;
  body: Buffer | object;
}

let upstream: Server;
let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let seen: Seen[] = [];
let replies: Reply[] = [];

/** 2 s of a tone. */
const wave = waveOf(Int16Array.from({ length: 32_000 }, (_, at) => Math.round(8000 * Math.sin(at / 12))));

async function answer(request: IncomingMessage): Promise<Reply> {
  const { authorization, accept, 'content-type': type = '' } = request.headers;
  const named = request.headers['idempotency-key'];
  seen.push({ path: request.url ?? '', authorization, type, named, accept, body: await buffer(request) });
  return replies.shift() ?? { status: 500, body: { error: { message: 'no reply' } } };
}

beforeAll(async () => {
  upstream = createServer(
    answering(async (request, response) => {
      const { status = 200, type = 'application/json', body } = await answer(request);
      response.writeHead(status, { 'content-type': type });
      response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
    }),
  );
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as AddressInfo;
  const window = { limit: 1000, windowSeconds: 60 };
  server = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: `http://127.0.0.1:${port}/v1`,
          apiKey: 'acme-secret',
          models: [
            { id: 'acme/voice', type: 'tts', tier: 'fast', upstreamId: 'tts-1' },
            { id: 'acme/ears', type: 'stt', tier: 'fast', upstreamId: 'whisper-1' },
            { id: 'acme/strict-ears', type: 'stt', tier: 'fast', upstreamId: 'strict-1' },
            { id: 'acme/backed-ears', type: 'stt', tier: 'fast', upstreamId: 'whisper-1' },
            { id: 'acme/plain-ears', type: 'stt', tier: 'fast', upstreamId: 'gpt-4o-transcribe' },
          ],
        },
      ],
      fallbacks: { 'acme/backed-ears': ['sandbox/stt-fast'] },
    },
    plans: { endpointLimits: { tts: window, stt: window } },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
});
beforeEach(() => {
  [seen, replies] = [[], []];
});
afterAll(async () => {
  await server?.close();
  upstream.closeAllConnections();
  upstream.close();
});

const post = (path: string, body: object) =>
  server.rest<Record<string, unknown>>('POST', path, { key: org.key, body });

describe("an upstream's speech", () => {
  it('is asked for in the convention, and stored as it came', async () => {
    replies = [{ type: 'audio/wav', body: wave }];
    const { status, body } = await post('/audio/speech', {
      model: 'acme/voice',
      input: 'Hello',
      voice: 'ash',
      speed: 1.5,
      response_format: 'wav',
      model_inputs: { instructions: 'softly' },
    });
    expect(status).toBe(200);
    expect(seen).toMatchObject([
      { path: '/v1/audio/speech', authorization: 'Bearer acme-secret', accept: 'application/octet-stream' },
    ]);
    expect(JSON.parse(String(seen[0]?.body))).toEqual({
      instructions: 'softly',
      model: 'tts-1',
      input: 'Hello',
      voice: 'ash',
      response_format: 'wav',
      speed: 1.5,
    });
    expect(body).toMatchObject({ duration_seconds: 2, character_count: 5, usage: { chars_used: 5 } });
    expect((await downloadFrom(server.origin, String(body['audio_url']))).bytes.equals(wave)).toBe(true);
  });

  it('that was streamed without sizes is stored with true ones', async () => {
    const streamed = Buffer.from(wave);
    streamed.writeUInt32LE(0xffff_ffff, 4);
    streamed.writeUInt32LE(0xffff_ffff, 40);
    replies = [{ type: 'audio/wav', body: streamed }];
    const { body } = await post('/audio/speech', {
      model: 'acme/voice',
      input: 'Hello',
      response_format: 'wav',
    });
    expect(body).toMatchObject({ duration_seconds: 2 });
    expect((await downloadFrom(server.origin, String(body['audio_url']))).bytes.equals(wave)).toBe(true);
  });

  it('is brought to the format that was asked for where it came in another', async () => {
    replies = [{ type: 'audio/wav', body: wave }];
    const { body } = await post('/audio/speech', {
      model: 'acme/voice',
      input: 'Hello',
      response_format: 'opus',
    });
    const file = await downloadFrom(server.origin, String(body['audio_url']));
    expect([file.type, file.bytes.toString('latin1', 0, 4)]).toEqual(['audio/ogg', 'OggS']);
    expect(body['duration_seconds']).toBe(2);
  });

  it('that is refused, or no sound, is told as such; what the model cannot do is refused before', async () => {
    replies = [{ status: 400, body: { error: { message: 'No such voice, acme-secret' } } }];
    expect(await post('/audio/speech', { model: 'acme/voice', input: 'Hello' })).toMatchObject({
      status: 400,
      body: { error: 'No such voice, [removed]' },
    });
    replies = [{ body: { not: 'audio' } }];
    expect(await post('/audio/speech', { model: 'acme/voice', input: 'Hello' })).toMatchObject({
      status: 500,
      body: { error: 'Generation failed' },
    });
    seen = [];
    expect(
      await post('/audio/speech', {
        model: 'acme/voice',
        input: 'Hello',
        reference_audio: wave.toString('base64'),
      }),
    ).toMatchObject({ status: 400, body: { error: 'Model acme/voice does not support reference_audio' } });
    expect(seen).toEqual([]);
  });
});

describe("an upstream's transcription", () => {
  const file = wave.toString('base64');

  it('goes without times that nobody asked for where the upstream refuses them, under a key of its own, and at once from then on', async () => {
    const refused = {
      status: 400,
      body: {
        error: { message: "response_format 'verbose_json' is not compatible", param: 'response_format' },
      },
    };
    const plain = { body: { text: 'Hello there' } };
    replies = [refused, plain, plain, refused];
    seen = [];
    for (let at = 0; at < 2; at++)
      expect(await post('/audio/transcriptions', { model: 'acme/strict-ears', file })).toMatchObject({
        status: 200,
        body: { text: 'Hello there' },
      });
    const forms = seen.map(({ body }) => String(body.toString('latin1')));
    expect(forms.map((form) => form.includes('verbose_json'))).toEqual([true, false, false]);
    expect(new Set(seen.map(({ named }) => named)).size).toBe(3);
    expect(forms.map((form) => form.includes('timestamp_granularities'))).toEqual([true, false, false]);
    // Words that were asked for are missed: the upstream's refusal is the caller's.
    const words = { model: 'acme/strict-ears', file, timestamp_granularities: ['word'] };
    expect(await post('/audio/transcriptions', words)).toMatchObject({ status: 400 });
  });

  it('is asked for as a form with the file, and mapped to segments with words', async () => {
    const words = [
      { word: 'Hello', start: 0.1, end: 0.5 },
      { word: 'there', start: 1.2, end: 1.8 },
    ];
    const segments = [
      { id: 0, start: 0, end: 1, text: ' Hello' },
      { id: 1, start: 1, end: 2, text: ' there' },
    ];
    replies = [{ body: { text: 'Hello there', language: 'english', duration: 2, segments, words } }];
    const { status, body } = await post('/audio/transcriptions', {
      model: 'acme/ears',
      file,
      language: 'en',
      timestamp_granularities: ['word'],
      model_inputs: { prompt: 'names' },
    });
    expect(status).toBe(200);
    const form = String(seen[0]?.body.toString('latin1'));
    expect(seen[0]).toMatchObject({ path: '/v1/audio/transcriptions', authorization: 'Bearer acme-secret' });
    expect(seen[0]?.type).toMatch(/^multipart\/form-data; boundary=/);
    for (const [name, value] of [
      ['model', 'whisper-1'],
      ['response_format', 'verbose_json'],
      ['language', 'en'],
      ['prompt', 'names'],
      ['timestamp_granularities[]', 'word'],
    ])
      expect(form).toContain(`name="${name}"\r\n\r\n${value}\r\n`);
    expect(seen[0]?.body.includes(wave)).toBe(true);
    expect(body).toMatchObject({
      text: 'Hello there',
      language: 'en',
      duration: 2,
      segments: [
        { start: 0, end: 1, text: 'Hello', speaker: null, words: [words[0]] },
        { start: 1, end: 2, text: 'there', speaker: null, words: [words[1]] },
      ],
      usage: { seconds_used: 2 },
    });
  });

  it('tells in its record the tokens that its upstream counted', async () => {
    const usage = {
      type: 'tokens',
      input_tokens: 34,
      input_token_details: { text_tokens: 10, audio_tokens: 24 },
      output_tokens: 7,
      total_tokens: 41,
    };
    replies = [{ body: { text: 'Hello there', usage } }];
    expect(await post('/audio/transcriptions', { model: 'acme/plain-ears', file })).toMatchObject({
      status: 200,
    });
    const query =
      '{ usageRecords(first: 1) { nodes { operation tokens { input cachedInput output reasoning } } } }';
    expect(await server.graphql(query, { key: org.key })).toMatchObject({
      data: {
        usageRecords: {
          nodes: [{ operation: 'stt', tokens: { input: 34, cachedInput: 0, output: 7, reasoning: 0 } }],
        },
      },
    });
  });

  it('has every word that was told, also those between two segments, over an edge or after the last one', async () => {
    const word = (text: string, start: number, end: number) => ({ word: text, start, end });
    const words = [word('hello', 0, 0.4), word('brave', 0.75, 1), word('new', 1, 1.4), word('world', 1.8, 2)];
    const segments = [
      { start: 0, end: 0.8, text: 'hello brave' },
      { start: 1, end: 1.8, text: 'new world.' },
    ];
    replies = [
      { body: { text: 'hello brave new world.', language: 'english', duration: 2, segments, words } },
    ];
    const asked = { model: 'acme/ears', file, timestamp_granularities: ['word'] };
    expect((await post('/audio/transcriptions', asked)).body).toMatchObject({
      segments: [{ words: words.slice(0, 2) }, { words: words.slice(2) }],
    });
  });

  it('has the words of people who speak at once in the segment of who said them', async () => {
    const said = [
      { start: 0, end: 1.4, text: 'One of us, and two.' },
      { start: 0.5, end: 2, text: 'Uno, of you dos.' },
    ];
    const told = [
      ['one', 'of', 'us', 'and', 'two'].map((word, nth) => ({ word, start: nth / 4, end: nth / 4 + 0.2 })),
      ['uno', 'of', 'you', 'dos'].map((word, nth) => ({ word, start: 0.55 + nth / 4, end: 0.7 + nth / 4 })),
    ];
    const words = told.flat().sort((a, b) => a.start - b.start);
    replies = [{ body: { text: 'x', language: 'en', duration: 2, segments: said, words } }];
    const asked = { model: 'acme/ears', file, timestamp_granularities: ['word'] };
    const { body } = await post('/audio/transcriptions', asked);
    const { segments } = body as { segments: { words: { word: string }[] }[] };
    expect(segments.map((segment) => segment.words.map(({ word }) => word))).toEqual(
      told.map((list) => list.map(({ word }) => word)),
    );
  });

  it('is cut for subtitles between the words that its upstream tells, asked for or not', async () => {
    const texts = Array.from({ length: 40 }, (_, nth) => `word${nth}`);
    const words = texts.map((word, nth) => ({ word, start: nth / 20, end: (nth + 1) / 20 }));
    const segments = [{ start: 0, end: 2, text: texts.join(' ') }];
    const reply = { body: { text: texts.join(' '), language: 'english', duration: 2, segments, words } };
    replies = [reply, reply];
    const asked = { model: 'acme/ears', file };
    const { body } = await post('/audio/transcriptions', { ...asked, response_format: 'vtt' });
    const cues = String(body)
      .split('\n\n')
      .filter((cue) => cue.includes('-->'));
    expect(cues.map((cue) => cue.split('\n')[1]).join(' ')).toBe(texts.join(' '));
    for (const cue of cues) expect(cue.split('\n')[1]!.length).toBeLessThanOrEqual(84);
    // Elsewhere words are neither asked for nor shown where nobody wants them.
    await post('/audio/transcriptions', asked);
    expect(seen[0]?.body.includes('\r\n\r\nword\r\n')).toBe(true);
    expect(seen[1]?.body.includes('\r\n\r\nword\r\n')).toBe(false);
  });

  it('is in the order of its times, whatever the order that it was told in', async () => {
    const part = (text: string, start: number, end: number) => ({ text, start, end });
    const segments = [part('Two', 1.5, 2), part('Zero', 0, 0.5), part('One', 0.6, 1)];
    const reply = { body: { text: 'Zero one two', language: 'en', segments } };
    replies = [reply, reply];
    const asked = { model: 'acme/ears', file };
    const ordered = ['Zero', 'One', 'Two'].map((text) => ({ text }));
    expect((await post('/audio/transcriptions', asked)).body).toMatchObject({ segments: ordered });
    const { body } = await post('/audio/transcriptions', { ...asked, response_format: 'srt' });
    expect(String(body)).toMatch(
      /00:00:00,000 --> 00:00:00,500\nZero[^]*00:00:00,600[^]*One[^]*00:00:01,500[^]*Two/,
    );
  });

  it('has the words that an upstream tells with each segment', async () => {
    const word = { word: 'Hello', start: 0, end: 0.5 };
    const segments = [{ start: 0, end: 1, text: 'Hello', words: [word] }];
    replies = [{ body: { text: 'Hello', language: 'en', segments } }];
    const asked = { model: 'acme/ears', file, timestamp_granularities: ['word'] };
    expect((await post('/audio/transcriptions', asked)).body).toMatchObject({
      segments: [{ text: 'Hello', words: [word] }],
    });
  });

  it('is the same request with the same key each time it is sent, of one job', async () => {
    const said = { body: { text: 'Hello', language: 'en', segments: [] } };
    // Still being answered there: it is asked again.
    replies = [{ status: 503, body: {} }, { status: 409, body: {} }, said, said];
    for (let calls = 0; calls < 2; calls++)
      expect((await post('/audio/transcriptions', { model: 'acme/ears', file })).status).toBe(200);
    const [first, second, third, other] = seen.map(({ named }) => named);
    expect(first).toMatch(/^penstock-[0-9a-f]{32}$/);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
    expect(
      seen.slice(1, 3).every(({ body, type }) => body.equals(seen[0]!.body) && type === seen[0]!.type),
    ).toBe(true);
  });

  it('goes to the translations where English is wanted', async () => {
    replies = [
      { body: { text: 'Hello', language: 'german', segments: [{ start: 0, end: 2, text: 'Hello' }] } },
    ];
    const { body } = await post('/audio/transcriptions', { model: 'acme/ears', file, translation: true });
    expect(seen[0]?.path).toBe('/v1/audio/translations');
    expect(body).toMatchObject({ text: 'Hello', language: 'de' });
  });

  it.each([
    ['greek', undefined, 'el'],
    ['haitian creole', undefined, 'ht'],
    ['bengali', undefined, 'bn'],
    ['pt-BR', undefined, 'pt'],
    // Translations are said to be in English by some: what the caller knows of the source counts.
    ['english', 'fi', 'fi'],
  ])('says the code of %s (asked: %s): %s', async (said, language, code) => {
    replies = [{ body: { text: 'Hello', language: said, segments: [{ start: 0, end: 2, text: 'Hello' }] } }];
    const asked = { model: 'acme/ears', file, translation: true, language };
    expect((await post('/audio/transcriptions', asked)).body).toMatchObject({ language: code });
  });

  it('without times is one segment; what the model cannot do is refused before', async () => {
    replies = [{ body: { text: 'Hello there' } }];
    const { body } = await post('/audio/transcriptions', { model: 'acme/plain-ears', file });
    expect(body).toMatchObject({ segments: [{ start: 0, end: 2, text: 'Hello there' }], language: 'und' });
    const refused = async (more: object) =>
      (await post('/audio/transcriptions', { model: 'acme/plain-ears', file, ...more })).body['error'];
    expect(await refused({ diarization: true })).toBe('Model acme/plain-ears does not support diarization');
    expect(await refused({ translation: true })).toBe('Model acme/plain-ears does not support translation');
    expect(await refused({ timestamp_granularities: ['word'] })).toBe(
      'Model acme/plain-ears does not support word timestamps',
    );
    expect(seen).toHaveLength(1);
  });

  it('that fails is the message of the endpoint, and is not charged', async () => {
    const quota = async () =>
      (await server.rest<{ quotas: { stt_seconds: { used: number } } }>('GET', '/quota', { key: org.key }))
        .body.quotas.stt_seconds.used;
    const before = await quota();
    expect(await post('/audio/transcriptions', { model: 'acme/ears', file })).toMatchObject({
      status: 500,
      body: { error: 'Transcription failed' },
    });
    expect(await quota()).toBe(before);
  });

  it('goes to a model that reads what the sandbox cannot; a fallback that cannot is passed over', async () => {
    const lossless = await m4aOf(new Int16Array(32_000));
    for (const box of ['mp4a', 'esds']) lossless.write('alac', lossless.indexOf(box), 'latin1');
    const ask = async (sound: Buffer) =>
      await post('/audio/transcriptions', { model: 'acme/backed-ears', file: sound.toString('base64') });
    replies = [{ body: { text: 'Hello', language: 'english', segments: [] } }];
    expect(await ask(lossless)).toMatchObject({ status: 200, body: { text: 'Hello' } });
    const broken = { status: 401, body: { error: { message: 'no' } } };
    replies = [broken, broken];
    expect(await ask(wave)).toMatchObject({ status: 200, body: { model: 'sandbox/stt-fast' } });
    expect(await ask(lossless)).toMatchObject({ status: 500, body: { error: 'Transcription failed' } });
  });
});
