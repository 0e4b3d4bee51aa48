import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { OrderLog } from '../../src/providers/order.types.js';
import { drawing, listening, openNative, signal } from '../support/native-provider.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeReply, NativeRequest, NativeUpstream } from '../support/native-upstream.js';

let upstream: NativeUpstream;

beforeAll(async () => {
  upstream = await startNativeUpstream();
});
beforeEach(() => upstream.clear());
afterAll(() => upstream?.close());

const refusal = (said: string): NativeReply => ({ status: 400, body: { err_msg: said, error: said } });
const plain = { words: false, diarization: false };

const heard = {
  results: { channels: [{ alternatives: [{ transcript: 'Hello', words: [] }] }] },
  metadata: { duration: 2 },
};
const listen = (request: NativeRequest): NativeReply =>
  request.path.includes('punctuate') ? refusal('Unknown parameter: `punctuate`') : { body: heard };

test('a transcription goes without what nobody asked for and its maker refuses, and it is not sent again', async () => {
  upstream.on('/listen', listen);
  const { provider, registry } = await openNative('deepgram', { origin: upstream.origin });
  const told = () => upstream.requests.map(({ path }) => path.includes('punctuate'));
  for (const asked of [
    [true, false],
    [true, false, false],
  ]) {
    expect(await provider.stt!('nova-3').transcribe(listening(plain))).toMatchObject({
      text: 'Hello',
    });
    expect(told()).toEqual(asked);
  }
  expect(upstream.requests.every(({ path }) => path.includes('detect_language=true'))).toBe(true);
  await registry.close();
});

test('a transcription whose words were asked for is refused where its maker refuses what they need', async () => {
  upstream.on('/listen', listen);
  const { provider, registry } = await openNative('deepgram', { origin: upstream.origin });
  const call = listening({ words: true, diarization: false });
  await expect(provider.stt!('nova-3').transcribe(call)).rejects.toMatchObject({
    fault: 'rejected',
  });
  expect(upstream.requests).toHaveLength(1);
  await registry.close();
});

/** Keeps an order's name as a job does. */
function orderLog(): OrderLog & { placedOrders: string[] } {
  const placedOrders: string[] = [];
  let earlier: string | null = null;
  return {
    key: 'job-1',
    placedOrders,
    earlier: () => earlier,
    held: () => Promise.resolve(true),
    placed(reference) {
      placedOrders.push(reference);
      earlier = reference;
      return Promise.resolve(true);
    },
    withdrawn() {
      earlier = null;
      return Promise.resolve();
    },
    isHandedOver: () => false,
  };
}

test('an order that is refused for such a field is placed once more, from its beginning and under another key', async () => {
  upstream.on('/v2/upload', { body: { upload_url: `${upstream.origin}/file` } });
  upstream.on('/v2/transcript/t1', { body: { id: 't1', status: 'completed', text: 'Hello', words: [] } });
  upstream.on('/v2/transcript', ({ json }) =>
    'language_detection' in json
      ? refusal('"language_detection" is not supported')
      : { body: { id: 't1', status: 'queued' } },
  );
  const { provider, registry } = await openNative('assemblyai', { origin: upstream.origin });
  const orders = orderLog();
  const call = listening({ ...plain, orders });
  expect(await provider.stt!('best').transcribe(call)).toMatchObject({ text: 'Hello' });
  const posted = upstream.requests.filter(({ method }) => method === 'POST');
  expect(posted.map(({ path }) => path)).toEqual([
    '/v2/upload',
    '/v2/transcript',
    '/v2/upload',
    '/v2/transcript',
  ]);
  expect(new Set(posted.map(({ headers }) => headers['idempotency-key'])).size).toBe(4);
  // Whoever takes the job over is given the answers of the second try alone.
  expect(JSON.parse(orders.placedOrders.at(-1)!)).toHaveLength(2);
  await registry.close();
});

test('a picture is drawn without the shape that its maker refuses, as it is brought to its size here', async () => {
  const parts = [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }];
  const candidates = [{ content: { role: 'model', parts }, finishReason: 'STOP' }];
  upstream.on(':generateContent', ({ bytes }) =>
    bytes.toString().includes('aspectRatio')
      ? refusal('Unknown name "aspectRatio"')
      : { body: { candidates } },
  );
  const { provider, registry } = await openNative('google', { origin: upstream.origin });
  for (const requests of [2, 3]) {
    const { images } = await provider.image!('gemini-2.5-flash-image').doGenerate(drawing());
    expect(images).toHaveLength(1);
    expect(upstream.requests).toHaveLength(requests);
  }
  await registry.close();
});

const speaking = { text: 'Hello', outputFormat: 'wav', abortSignal: signal };
/** Where each maker speaks, and its word for the format in what it is sent. */
const SPEAKERS = [
  ['elevenlabs', 'eleven_v3', '/text-to-speech', /output_format=mp3/],
  ['deepgram', 'aura-2-thalia-en', '/speak', /encoding=mp3/],
] as const;

test.each(SPEAKERS)(
  'speech of %s comes in the maker’s own format where it refuses the one that is told, and that is not told again',
  async (id, model, path, word) => {
    const told = ({ path: sent }: NativeRequest): boolean => word.test(sent);
    const [, name = ''] = /(\w+)=/.exec(word.source) ?? [];
    upstream.on(path, (request) =>
      told(request)
        ? refusal(`Invalid value for "${name}"`)
        : { headers: { 'content-type': 'audio/wav' }, body: Buffer.from('RIFF') },
    );
    const { provider, registry } = await openNative(id, { origin: upstream.origin });
    for (const asked of [
      [true, false],
      [true, false, false],
    ]) {
      const { audio } = await provider.tts!(model).doGenerate({ ...speaking, voice: 'nova' });
      expect(Buffer.from(audio as Uint8Array).toString()).toBe('RIFF');
      expect(upstream.requests.map(told)).toEqual(asked);
    }
    await registry.close();
  },
);
