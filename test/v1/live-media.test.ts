import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { waveOf } from '../support/audio.js';
import { readEvents } from '../support/client.js';
import { startNativeUpstream, type NativeReply, type NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

/** What is given before it is whole: upstreams here send a piece and wait for the test before the next. */

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
          retry: { retries: 1, backoffMs: 1 },
          models: [
            { id: 'acme/voice', type: 'tts', tier: 'fast', upstreamId: 'v' },
            { id: 'acme/ears', type: 'stt', tier: 'fast', upstreamId: 'gpt-4o-transcribe' },
            { id: 'acme/whole', type: 'stt', tier: 'fast', upstreamId: 'gpt-4o-mini-transcribe' },
            { id: 'acme/turns', type: 'stt', tier: 'fast', upstreamId: 'gpt-4o-transcribe-diarize' },
            { id: 'acme/pictures', type: 'image', tier: 'basic', upstreamId: 'gpt-image-1' },
            { id: 'acme/edits', type: 'image_edit', tier: 'fast', upstreamId: 'gpt-image-1' },
          ],
        },
        {
          id: 'eleven',
          kind: 'elevenlabs',
          baseUrl: upstream.origin,
          apiKey: 'k',
          models: [{ id: 'eleven/voice', type: 'tts', tier: 'fast', upstreamId: 'eleven_v3' }],
        },
      ],
      fallbacks: { 'acme/voice': ['sandbox/tts-fast'] },
    },
    plans: { endpointLimits: { tts: window, stt: window, image: window, image_edit: window } },
  });
  client = new OpenAI({ apiKey: 'set below', baseURL: `${server.origin}/v1`, maxRetries: 0 });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(async () => {
  upstream.clear();
  org = await server.createOrg({ plan: 'business_monthly' });
  client.apiKey = org.key;
});

type Piece = object | string | Buffer;

/** A reply whose pieces the test sends. */
function held(path: string, headers: NativeReply['headers'] = {}) {
  const waiting: (() => void)[] = [];
  const queue: (Piece | Error | null)[] = [];
  async function* pieces(): AsyncGenerator<Piece> {
    for (;;) {
      while (queue.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      const next = queue.shift()!;
      if (next === null) return;
      if (next instanceof Error) throw next;
      yield next;
    }
  }
  upstream.on(path, { headers, pieces: pieces() });
  const push = (piece: Piece | Error | null): void => {
    queue.push(piece);
    waiting.shift()?.();
  };
  return { send: push, end: () => push(null), breakOff: () => push(new Error('cut')) };
}

interface Charged {
  status: string;
  amounts: { bucket: string; amount: number }[];
}

/** What the organisation's calls were charged, once so many have ended. */
async function charges(count: number): Promise<[status: string, units: number][]> {
  const query = '{ usageRecords(first: 100) { nodes { status amounts { bucket amount } } } }';
  const rows = await eventually(async () => {
    const { data } = await server.graphql<{ usageRecords: { nodes: Charged[] } }>(query, { key: org.key });
    return data!.usageRecords.nodes.length === count && data!.usageRecords.nodes;
  });
  return rows.map(({ status, amounts }) => [status, Math.max(0, ...amounts.map(({ amount }) => amount))]);
}

const jobAt = async (id: string) =>
  await eventually(async () => {
    const { data } = await server.graphql<{ job: { status: string } }>(`{ job(id: "${id}") { status } }`, {
      key: org.key,
    });
    return data!.job.status !== 'processing' && data!.job.status;
  });

const wave = waveOf(
  Int16Array.from({ length: 24_000 }, (_, at) => 9000 * Math.sin(at / 9)),
  24_000,
);
/** What pieces of a WAV file say of it whose length nobody knows yet. */
const open = Buffer.from(wave);
open.writeUInt32LE(0xffff_ffff, 4);
open.writeUInt32LE(0xffff_ffff, 40);
const [first, second] = [open.subarray(0, 9000), open.subarray(9000)];
const TEXT = 'Good morning.';

const speak = async (more: Partial<OpenAI.Audio.SpeechCreateParams> = {}) =>
  (await client.audio.speech.create({
    model: 'acme/voice',
    voice: 'alloy',
    input: TEXT,
    response_format: 'wav',
    ...more,
  })) as unknown as Response;

/** Reads so many bytes at least. */
async function take(reader: ReadableStreamDefaultReader<Uint8Array>, atLeast: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  while (bytes.length < atLeast) {
    const { value, done } = await reader.read();
    if (done) break;
    bytes = Buffer.concat([bytes, value]);
  }
  return bytes;
}

describe('speech', () => {
  it.each([
    ['wav', open, 0],
    ['pcm', wave.subarray(44), 44],
  ] as const)('is given in %s as it is made, and is whole', async (format, whole, head) => {
    const { send, end } = held('/audio/speech', { 'content-type': 'audio/wav' });
    send(first);
    const answer = await speak({ response_format: format });
    const reader = answer.body!.getReader();
    expect(await take(reader, 1)).toEqual(whole.subarray(0, 9000 - head));
    send(second);
    end();
    expect(await take(reader, Infinity)).toEqual(whole.subarray(9000 - head));
    expect(await jobAt(answer.headers.get('x-job-id')!)).toBe('completed');
    expect(await charges(1)).toEqual([['succeeded', TEXT.length]]);
  });

  it('is given in events as it is made', async () => {
    const { send, end } = held('/audio/speech', { 'content-type': 'audio/wav' });
    send(first);
    const answer = await speak({ stream_format: 'sse' });
    const events = readEvents(answer.body as unknown as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await events.next()).value!.data) as { type: string; audio: string };
    expect(Buffer.from((await next()).audio, 'base64')).toEqual(first);
    send(second);
    end();
    expect(Buffer.from((await next()).audio, 'base64')).toEqual(second);
    expect(await next()).toMatchObject({ type: 'speech.audio.done' });
    expect(await charges(1)).toEqual([['succeeded', TEXT.length]]);
  });

  it('is given by ElevenLabs as it is made', async () => {
    const made = await speak({ model: 'sandbox/tts-fast', voice: 'nova', response_format: 'mp3' });
    const sound = Buffer.from(await made.arrayBuffer());
    const { send, end } = held('/v1/text-to-speech/', { 'content-type': 'audio/mpeg' });
    send(sound.subarray(0, 1000));
    const answer = await speak({ model: 'eleven/voice', response_format: 'mp3' });
    const reader = answer.body!.getReader();
    expect(await take(reader, 1)).toEqual(sound.subarray(0, 1000));
    expect(upstream.requests[0]?.path).toMatch(/^\/v1\/text-to-speech\/\w+\/stream\?output_format=mp3/);
    send(sound.subarray(1000));
    end();
    expect(await take(reader, Infinity)).toEqual(sound.subarray(1000));
  });

  it('is given whole where it must be converted', async () => {
    const { send, end } = held('/audio/speech', { 'content-type': 'audio/wav' });
    send(first);
    const asked = speak({ response_format: 'mp3' });
    send(second);
    end();
    const answer = await asked;
    expect(Number(answer.headers.get('content-length'))).toBe((await answer.arrayBuffer()).byteLength);
  });

  it('breaks off where its upstream does, and costs nothing', async () => {
    const { send, breakOff } = held('/audio/speech', { 'content-type': 'audio/wav' });
    send(first);
    const answer = await speak();
    const reader = answer.body!.getReader();
    await take(reader, 1);
    breakOff();
    await expect(take(reader, Infinity)).rejects.toThrow();
    expect(await jobAt(answer.headers.get('x-job-id')!)).toBe('failed');
    expect(upstream.requests).toHaveLength(1);
    expect(await charges(1)).toEqual([['failed', 0]]);
  });

  it('goes on without its reader, and is charged once', async () => {
    const { send, end } = held('/audio/speech', { 'content-type': 'audio/wav' });
    send(first);
    const answer = await speak();
    const reader = answer.body!.getReader();
    await take(reader, 1);
    await reader.cancel();
    send(second);
    end();
    expect(await jobAt(answer.headers.get('x-job-id')!)).toBe('completed');
    expect(await charges(1)).toEqual([['succeeded', TEXT.length]]);
  });

  it('is paid for where its job is cancelled after some was given', async () => {
    const { send } = held('/audio/speech', { 'content-type': 'audio/wav' });
    send(first);
    const answer = await speak();
    const reader = answer.body!.getReader();
    await take(reader, 1);
    const id = answer.headers.get('x-job-id')!;
    await server.graphql(`mutation { cancelJob(id: "${id}") { success } }`, { key: org.key });
    await expect(take(reader, Infinity)).rejects.toThrow();
    expect(await charges(1)).toEqual([['cancelled', TEXT.length]]);
  });
});

/** The form that an upstream got. */
const formSent = async (): Promise<FormData> => {
  const { bytes, headers } = upstream.requests.at(-1)!;
  const type = { 'content-type': headers['content-type']! };
  return await new Response(new Uint8Array(bytes), { headers: type }).formData();
};

const transcribe = async (more: Partial<OpenAI.Audio.TranscriptionCreateParamsStreaming> = {}) => {
  const stream = await client.audio.transcriptions.create({
    model: 'acme/ears',
    file: await toFile(wave, 'a.wav', { type: 'audio/wav' }),
    stream: true,
    ...more,
  });
  return stream[Symbol.asyncIterator]();
};

describe('a transcription', () => {
  const delta = (text: string, more: object = {}) => ({
    type: 'transcript.text.delta',
    delta: text,
    ...more,
  });

  it('is given as it is heard, with how sure the model is', async () => {
    const { send, end } = held('/audio/transcriptions');
    const logprobs = [{ token: 'Good', logprob: -0.1, bytes: [71] }];
    send(delta('Good ', { logprobs }));
    const events = await transcribe({ include: ['logprobs'] });
    expect((await events.next()).value).toEqual(delta('Good ', { logprobs }));
    const form = await formSent();
    expect(['stream', 'include[]', 'response_format'].map((name) => form.get(name))).toEqual([
      'true',
      'logprobs',
      'json',
    ]);
    send(delta('morning.'));
    expect((await events.next()).value).toEqual(delta('morning.'));
    const usage = { type: 'tokens', input_tokens: 10, output_tokens: 4, total_tokens: 14 };
    send({ type: 'transcript.text.done', text: 'Good morning.', usage });
    end();
    expect((await events.next()).value).toMatchObject({
      type: 'transcript.text.done',
      text: 'Good morning.',
      usage: { type: 'duration', seconds: 1 },
      logprobs,
    });
    expect((await events.next()).done).toBe(true);
    expect(await charges(1)).toEqual([['succeeded', 1]]);
  });

  it('is given in turns of its speakers', async () => {
    const { send, end } = held('/audio/transcriptions');
    const turn = { type: 'transcript.text.segment', id: 'x', start: 0, end: 0.5, text: 'Hi', speaker: 'B' };
    send(turn);
    const events = await transcribe({ model: 'acme/turns', response_format: 'diarized_json' });
    expect((await events.next()).value).toEqual({ ...turn, id: 'seg_0', speaker: 'A' });
    send(delta('Hi'));
    send({ type: 'transcript.text.done', text: 'Hi' });
    end();
    const rest = [(await events.next()).value, (await events.next()).value];
    expect(rest).toMatchObject([delta('Hi'), { type: 'transcript.text.done', text: 'Hi' }]);
  });

  it('comes in chunks of chat from upstreams that send those', async () => {
    const { send, end } = held('/audio/transcriptions');
    send({ object: 'transcription.chunk', choices: [{ delta: { content: 'Hello' } }] });
    const events = await transcribe();
    expect((await events.next()).value).toEqual(delta('Hello'));
    send('[DONE]');
    end();
    expect((await events.next()).value).toMatchObject({ type: 'transcript.text.done', text: 'Hello' });
  });

  it.each([
    ['answers whole', { body: { text: 'Good morning.' } }],
    ['refuses to stream', { status: 400, body: { error: { message: 'Streaming is not supported' } } }],
  ])('is told in words where its upstream %s', async (_, reply) => {
    upstream.on('/audio/transcriptions', ({ bytes }) =>
      bytes.includes('name="stream"') ? reply : { body: { text: 'Good morning.' } },
    );
    const events = await transcribe({ model: 'acme/whole' });
    const told = [(await events.next()).value, (await events.next()).value];
    expect(told).toEqual([delta('Good '), delta('morning.')]);
    expect((await events.next()).value).toMatchObject({ text: 'Good morning.' });
  });

  it('ends with an error where its upstream breaks off, and costs nothing', async () => {
    const { send, breakOff } = held('/audio/transcriptions');
    send(delta('Good '));
    const events = await transcribe();
    await events.next();
    breakOff();
    await expect(events.next()).rejects.toThrow();
    expect(upstream.requests).toHaveLength(1);
    expect(await charges(1)).toEqual([['failed', 0]]);
  });

  it('is told by the sandbox word for word', async () => {
    const speech = await speak({ model: 'sandbox/tts-fast', voice: 'nova' });
    const sound = Buffer.from(await speech.arrayBuffer());
    const file = await toFile(sound, 'a.wav', { type: 'audio/wav' });
    const events = await transcribe({ model: 'sandbox/stt-fast', file });
    const told = [(await events.next()).value, (await events.next()).value];
    expect(told).toEqual([delta('Good '), delta('morning.')]);
  });
});

const pixels = async (side: number): Promise<Buffer> => {
  const create = { width: side, height: side, channels: 3, background: { r: 200, g: 40, b: 90 } } as const;
  return await sharp({ create }).png().toBuffer();
};
const sizeOf = async (base64: string) => {
  const { width, height, format } = await sharp(Buffer.from(base64, 'base64')).metadata();
  return [width, height, format];
};

describe.each([
  {
    what: 'a picture',
    path: '/images/generations',
    of: 'image_generation',
    ask: async (model: 'acme' | 'sandbox', partials: number) =>
      await client.images.generate({
        model: model === 'acme' ? 'acme/pictures' : 'sandbox/image-basic',
        prompt: 'A red fox',
        size: '1024x1024',
        output_format: 'webp',
        stream: true,
        partial_images: partials,
      }),
    size: [1024, 1024, 'webp'],
  },
  {
    what: 'an edit',
    path: '/images/edits',
    of: 'image_edit',
    ask: async (model: 'acme' | 'sandbox', partials: number) =>
      await client.images.edit({
        model: model === 'acme' ? 'acme/edits' : 'sandbox/image-edit-fast',
        image: await toFile(await pixels(64), 'a.png', { type: 'image/png' }),
        prompt: 'As a sketch',
        stream: true,
        partial_images: partials,
      }),
    size: [64, 64, 'jpeg'],
  },
])('$what', ({ path, of, ask, size }) => {
  it('is given as it is drawn, in its own form', async () => {
    const { send, end } = held(path);
    send({
      type: `${of}.partial_image`,
      b64_json: (await pixels(16)).toString('base64'),
      partial_image_index: 0,
    });
    const events = (await ask('acme', 2))[Symbol.asyncIterator]();
    const coarse = (await events.next()).value as OpenAI.Images.ImageGenPartialImageEvent;
    expect(coarse).toMatchObject({ type: `${of}.partial_image`, partial_image_index: 0 });
    expect(await sizeOf(coarse.b64_json)).toEqual(size);
    send({ type: `${of}.partial_image`, b64_json: 'AAAA', partial_image_index: 1 });
    const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };
    send({ type: `${of}.completed`, b64_json: (await pixels(64)).toString('base64'), usage });
    end();
    const whole = (await events.next()).value as OpenAI.Images.ImageGenCompletedEvent;
    expect(whole).toMatchObject({ type: `${of}.completed`, usage: { total_tokens: expect.any(Number) } });
    expect(await sizeOf(whole.b64_json)).toEqual(size);
    expect((await events.next()).done).toBe(true);
    expect(await charges(1)).toEqual([['succeeded', 1]]);
  });

  it('is drawn by the sandbox from coarse to fine, for the same charge as without', async () => {
    const types = async (partials: number): Promise<string[]> => {
      const seen: string[] = [];
      for await (const event of await ask('sandbox', partials)) {
        seen.push(event.type);
        expect(await sizeOf(event.b64_json)).toEqual(size);
      }
      return seen;
    };
    const partial = `${of}.partial_image`;
    expect(await types(3)).toEqual([partial, partial, partial, `${of}.completed`]);
    expect(await types(0)).toEqual([`${of}.completed`]);
    const [one, other] = await charges(2);
    expect(one).toEqual(other);
  });
});
