import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { UpstreamError } from '../../src/providers/index.js';
import type { OrderLog, Provider, ProviderRegistry } from '../../src/providers/index.js';
import {
  chatCall,
  drawing,
  listening,
  NATIVE_KEY as KEY,
  openNative,
  signal,
} from '../support/native-provider.js';
import { amazonEvents, converseStream } from '../support/amazon-events.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';

let upstream: NativeUpstream;
let registry: ProviderRegistry | undefined;
beforeEach(async () => {
  upstream = await startNativeUpstream();
});
afterEach(async () => {
  await registry?.close();
  await upstream.close();
});

async function open(id: string): Promise<Provider> {
  const opened = await openNative(id, { origin: upstream.origin });
  registry = opened.registry;
  return opened.provider;
}

/** One call of each adapter. */
const CALLS: [string, (provider: Provider) => PromiseLike<unknown>][] = [
  ['amazon-bedrock', (provider) => provider.chat!.complete(chatCall('amazon.nova-lite-v1:0'))],
  ['anthropic', (provider) => provider.chat!.complete(chatCall('claude-haiku-4-5'))],
  ['azure', (provider) => provider.chat!.complete(chatCall('my-deployment'))],
  ['cohere', (provider) => provider.chat!.complete(chatCall('command-a-03-2025'))],
  ['google', (provider) => provider.chat!.complete(chatCall('gemini-2.5-flash'))],
  [
    'openai',
    (provider) =>
      provider.embedding!('text-embedding-3-small').doEmbed({ values: ['a'], abortSignal: signal }),
  ],
  ['replicate', (provider) => provider.image!('black-forest-labs/flux-dev').doGenerate(drawing())],
  ['fal', (provider) => provider.image!('fal-ai/flux/dev').doGenerate(drawing())],
  ['luma', (provider) => provider.image!('photon-1').doGenerate(drawing())],
  ['xai', (provider) => provider.image!('grok-imagine-image').doGenerate(drawing())],
  ['togetherai', (provider) => provider.image!('black-forest-labs/FLUX.1-dev').doGenerate(drawing())],
  [
    'fireworks',
    (provider) => provider.image!('accounts/fireworks/models/flux-1-schnell-fp8').doGenerate(drawing()),
  ],
  [
    'elevenlabs',
    (provider) => provider.tts!('eleven_v3').doGenerate({ text: 'x', voice: 'nova', abortSignal: signal }),
  ],
  ['deepgram', (provider) => provider.stt!('nova-3').transcribe(listening())],
  ['assemblyai', (provider) => provider.stt!('universal').transcribe(listening())],
];

describe.each(CALLS)('a fault of %s', (id, call) => {
  const faultOf = async (): Promise<UpstreamError> => {
    const error: unknown = await Promise.resolve(call(await open(id))).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UpstreamError);
    const whole = JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).stack);
    expect(whole).not.toContain(KEY);
    return error as UpstreamError;
  };

  it.each([400, 422])('that is the caller’s (%i) is told in its words, without the key', async (status) => {
    const message = `The prompt is odd (${KEY})`;
    upstream.on('/', { status, body: { error: { message }, message, detail: message, err_msg: message } });
    const fault = await faultOf();
    expect([fault.fault, fault.message]).toEqual(['rejected', 'The prompt is odd ([removed])']);
  });

  it('that is the caller’s is told in general words where its own hold a stack trace', async () => {
    const message = 'Traceback (most recent call last):\n  File "/opt/core.py", line 42, in step';
    upstream.on('/', {
      status: 400,
      body: { error: { message }, message, detail: message, err_msg: message },
    });
    const fault = await faultOf();
    expect([fault.fault, fault.message]).toEqual([
      'rejected',
      'The request was rejected by the model provider',
    ]);
  });

  it('that will pass (429, 503) may be asked again, when it says', async () => {
    upstream.on('/', { status: 429, headers: { 'retry-after': '3' }, body: { error: { message: KEY } } });
    expect((await faultOf()).options).toMatchObject({ status: 429, retryable: true, retryAfterMs: 3000 });
    await registry?.close();
    upstream.clear();
    upstream.on('/', { status: 503, body: 'upstream is down' });
    expect((await faultOf()).options).toMatchObject({ status: 503, retryable: true });
  });

  it('that will not (401), is nobody else’s business', async () => {
    upstream.on('/', { status: 401, body: { error: { message: `Wrong key ${KEY}` } } });
    const fault = await faultOf();
    expect([fault.fault, fault.options.retryable]).toEqual(['failed', false]);
  });
});

/** Notes of a job's orders; `forgotten` are those that were taken back. */
function orderLog(earlier: object[] = []): OrderLog & { forgotten: string[] } {
  const forgotten: string[] = [];
  return {
    key: 'penstock-1',
    earlier: () =>
      earlier.length === 0 ? null : JSON.stringify(earlier.map((answer) => JSON.stringify(answer))),
    held: () => Promise.resolve(true),
    placed: () => Promise.resolve(true),
    withdrawn: (reference) => Promise.resolve(void forgotten.push(reference)),
    isHandedOver: () => false,
    forgotten,
  };
}

test('an order that AssemblyAI does not know any more is placed anew', async () => {
  const lost = { id: 'lost', status: 'queued' };
  const orders = orderLog([{ upload_url: 'https://files.example.com/u' }, lost]);
  upstream.on('/v2/transcript/lost', { status: 404, body: { error: 'Transcript not found' } });
  upstream.on('/v2/transcript/t2', { body: { id: 't2', status: 'completed', text: 'Hello.' } });
  upstream.on('/v2/upload', { body: { upload_url: 'https://files.example.com/u' } });
  upstream.on('/v2/transcript', { body: { id: 't2', status: 'queued' } });
  const heard = await (await open('assemblyai')).stt!('universal').transcribe(listening({ orders }));
  expect([heard.text, orders.forgotten]).toEqual(['Hello.', [expect.stringContaining('lost')]]);
  expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /v2/transcript/lost',
    'POST /v2/upload',
    'POST /v2/transcript',
    'GET /v2/transcript/t2',
  ]);
});

describe('an order that takes longer than its package would wait', () => {
  afterEach(() => void vi.useRealTimers());

  it('is waited for at fal', async () => {
    let asked = 0;
    upstream.on('/requests/r1', () => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
      return ++asked < 2
        ? { status: 400, body: { detail: 'Request is still in progress' } }
        : { body: { text: 'Hello.', chunks: [] } };
    });
    upstream.on('/fal-ai/wizper', { body: { request_id: 'r1' } });
    const ears = (await open('fal')).stt!('fal-ai/wizper');
    expect((await ears.transcribe(listening({ orders: orderLog() }))).text).toBe('Hello.');
  });

  it('is waited for at Fireworks', async () => {
    const later = globalThis.setTimeout;
    const hurried = (work: () => void, ms?: number) => later(work, ms === 120_000 ? 20 : ms);
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(hurried as typeof setTimeout);
    const ready = performance.now() + 200;
    upstream.on('/get_result', () => ({
      body:
        performance.now() < ready
          ? { id: 'f1', status: 'Pending', result: null }
          : { id: 'f1', status: 'Ready', result: { sample: `${upstream.origin}/files/cat.png` } },
    }));
    upstream.on('/files/', { headers: { 'content-type': 'image/png' }, body: 'PNG' });
    upstream.on('/workflows/', { body: { request_id: 'f1' } });
    const painter = (await open('fireworks')).image!('accounts/fireworks/models/flux-kontext-pro');
    const made = await painter.doGenerate(drawing({ orders: orderLog() }));
    expect(made.images).toHaveLength(1);
  });
});

describe('a stream of Amazon Bedrock, which is binary', () => {
  const streamed = async (body: Buffer): Promise<string[]> => {
    upstream.on('/converse-stream', {
      headers: { 'content-type': 'application/vnd.amazon.eventstream' },
      body,
    });
    const bedrock = await open('amazon-bedrock');
    const chunks = await bedrock.chat!.stream(chatCall('amazon.nova-lite-v1:0'));
    const texts: string[] = [];
    for (let text = await chunks.next(); text !== null; text = await chunks.next()) texts.push(text);
    return texts;
  };
  const begun = { event: 'contentBlockDelta', payload: { contentBlockIndex: 0, delta: { text: 'Y' } } };
  const fault = { exception: 'throttlingException', payload: { message: `Slow down, ${KEY}` } };

  it('comes as chunks of the convention', async () => {
    const chunks = (await streamed(converseStream('Yes'))).map(
      (text) =>
        JSON.parse(text) as { choices: { delta: object; finish_reason: string | null }[]; usage?: object },
    );
    expect(chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))).toContainEqual(
      expect.objectContaining({ content: 'Yes' }),
    );
    expect(chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason))).toContain('stop');
    expect(chunks.at(-1)?.usage).toEqual({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 });
  });

  it.each([
    ['before its first word', amazonEvents(fault)],
    ['after it', amazonEvents(begun, fault)],
    ['cut off', converseStream('Yes').subarray(0, 300)],
    ['of broken check sums', converseStream('Yes').fill(0, 20, 24)],
  ])('fails as an upstream’s fault, without the key: %s', async (_when, body) => {
    const error: unknown = await streamed(body).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UpstreamError);
    expect((error as UpstreamError).fault).toBe('failed');
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(KEY);
  });
});
