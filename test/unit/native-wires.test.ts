import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createEgress } from '../../src/egress/index.js';
import type { Egress } from '../../src/egress/index.js';
import type { ChatCall, Provider, ProviderRegistry } from '../../src/providers/index.js';
import {
  chatCall,
  drawing,
  listening,
  NATIVE_KEY as KEY,
  openNative,
  signal,
} from '../support/native-provider.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';

const PICTURE = Buffer.from('iVBORw0KGgo=', 'base64');

let upstream: NativeUpstream;
let registry: ProviderRegistry | undefined;
beforeEach(async () => {
  upstream = await startNativeUpstream();
});
afterEach(async () => {
  await registry?.close();
  await upstream.close();
});

async function open(id: string, egress?: Egress): Promise<Provider> {
  const opened = await openNative(id, {
    origin: upstream.origin,
    ...(egress === undefined ? {} : { egress }),
  });
  registry = opened.registry;
  return opened.provider;
}

const bytesOf = (image: string | Uint8Array | undefined): string =>
  typeof image === 'string' ? image : Buffer.from(image ?? []).toString('base64');

const TOOL = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

describe('chat of Amazon Bedrock', () => {
  it('is signed, and comes back in the convention’s words, tool calls included', async () => {
    upstream.on('/converse', {
      body: {
        output: {
          message: {
            role: 'assistant',
            content: [{ toolUse: { toolUseId: 't1', name: 'weather', input: { city: 'Bern' } } }],
          },
        },
        stopReason: 'tool_use',
        usage: { inputTokens: 9, outputTokens: 4, totalTokens: 13 },
      },
    });
    const bedrock = await open('amazon-bedrock');
    const body = { tools: [TOOL], temperature: 0.5, stop: 'END' };
    const { parsed } = await bedrock.chat!.complete(chatCall('amazon.nova-lite-v1:0', body));
    expect(parsed).toMatchObject({
      choices: [
        {
          message: {
            content: null,
            tool_calls: [{ id: 't1', function: { name: 'weather', arguments: '{"city":"Bern"}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
    });
    const [request] = upstream.requests;
    expect(decodeURIComponent(request!.path)).toBe('/model/amazon.nova-lite-v1:0/converse');
    expect(request?.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIA0\//);
    expect(request?.json).toMatchObject({
      messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
      inferenceConfig: { maxTokens: 20, temperature: 0.5, stopSequences: ['END'] },
      toolConfig: { tools: [{ toolSpec: { name: 'weather' } }] },
    });
  });
});

it('Bedrock is told in words what tools found where none are offered any more', async () => {
  const message = { role: 'assistant', content: [{ text: 'Sunny' }] };
  const usage = { inputTokens: 9, outputTokens: 4, totalTokens: 13 };
  upstream.on('/converse', { body: { output: { message }, stopReason: 'end_turn', usage } });
  const asked = { id: 't1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } };
  const messages = [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: null, tool_calls: [asked] },
    { role: 'tool', tool_call_id: 't1', content: '21 degrees' },
  ];
  const bedrock = await open('amazon-bedrock');
  await bedrock.chat!.complete(chatCall('amazon.nova-lite-v1:0', { messages }));
  await bedrock.chat!.complete(
    chatCall('amazon.nova-lite-v1:0', { messages, tools: [TOOL], tool_choice: 'none' }),
  );
  for (const { json } of upstream.requests) {
    expect(JSON.stringify(json)).toContain('[weather answered: 21 degrees]');
    expect(json).not.toHaveProperty('toolConfig');
  }
});

describe('a picture by address', () => {
  const asking = (url: string): ChatCall =>
    chatCall('amazon.nova-lite-v1:0', {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    });

  it('is fetched for a provider that reads none, as callers’ addresses are', async () => {
    const message = { role: 'assistant', content: [{ text: 'A cat' }] };
    const usage = { inputTokens: 9, outputTokens: 4, totalTokens: 13 };
    upstream.on('/converse', { body: { output: { message }, stopReason: 'end_turn', usage } });
    upstream.on('/cat.png', { body: PICTURE });
    const egress = createEgress({ config: { egress: { allow: ['127.0.0.1/32'] } } });
    const bedrock = await open('amazon-bedrock', egress);
    await bedrock.chat!.complete(asking(`${upstream.origin}/cat.png`));
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      messages: [{ content: [{ image: { format: 'png', source: { bytes: PICTURE.toString('base64') } } }] }],
    });
    await egress.close();
  });

  it('that is private is not, which is the caller’s fault', async () => {
    const shut = createEgress({ config: { egress: { allow: [] } } });
    const bedrock = await open('amazon-bedrock', shut);
    await expect(bedrock.chat!.complete(asking(`${upstream.origin}/cat.png`))).rejects.toMatchObject({
      fault: 'rejected',
      message: 'image_url cannot be fetched',
    });
    expect(upstream.requests).toHaveLength(0);
    await shut.close();
  });
});

describe('chat of Cohere', () => {
  it('has text, why it stopped and what it used, whole and streamed', async () => {
    const usage = { tokens: { input_tokens: 5, output_tokens: 2 } };
    upstream.on('/v2/chat', ({ json }) =>
      json['stream'] === true
        ? {
            events: [
              { type: 'message-start', id: 'm' },
              {
                type: 'content-start',
                index: 0,
                delta: { message: { content: { type: 'text', text: '' } } },
              },
              { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Hel' } } } },
              { type: 'content-delta', index: 0, delta: { message: { content: { text: 'lo' } } } },
              { type: 'content-end', index: 0 },
              { type: 'message-end', delta: { finish_reason: 'MAX_TOKENS', usage } },
            ],
          }
        : {
            body: {
              generation_id: 'g',
              message: { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
              finish_reason: 'COMPLETE',
              usage,
            },
          },
    );
    const cohere = await open('cohere');
    const format = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } };
    const { parsed } = await cohere.chat!.complete(
      chatCall('command-a-03-2025', { seed: 4, top_p: 0.9, stop: ['x'], response_format: format }),
    );
    expect(parsed).toMatchObject({
      choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    });
    expect(upstream.requests[0]).toMatchObject({
      headers: { authorization: `Bearer ${KEY}` },
      json: {
        max_tokens: 20,
        seed: 4,
        p: 0.9,
        stop_sequences: ['x'],
        response_format: { type: 'json_object', json_schema: { type: 'object' } },
      },
    });
    const chunks = await cohere.chat!.stream(chatCall('command-a-03-2025'));
    const seen: Record<string, unknown>[] = [];
    for (let raw = await chunks.next(); raw !== null; raw = await chunks.next())
      seen.push(JSON.parse(raw) as Record<string, unknown>);
    const choices = seen.flatMap(
      (chunk) => chunk['choices'] as { delta: { content?: string }; finish_reason: string | null }[],
    );
    expect(choices.map(({ delta }) => delta.content ?? '').join('')).toBe('Hello');
    expect(choices.at(-1)?.finish_reason).toBe('length');
    expect(seen.at(-1)).toMatchObject({ usage: { prompt_tokens: 5, completion_tokens: 2 } });
  });
});

describe('Azure', () => {
  it('gets the convention with its own key header and cap', async () => {
    upstream.on('/openai/v1/chat/completions', {
      body: { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }] },
    });
    const azure = await open('azure');
    await azure.chat!.complete({ ...chatCall('my-deployment'), outputCap: 'max_completion_tokens' });
    expect(upstream.requests[0]).toMatchObject({
      path: '/openai/v1/chat/completions',
      headers: { 'api-key': KEY },
      json: { model: 'my-deployment', max_completion_tokens: 20 },
    });
  });
});

describe('a video that is being made', () => {
  it('outlives a reload of the configuration', async () => {
    const reloaded = Promise.withResolvers<void>();
    let asked = 0;
    upstream.on('/videos/v1/content', { body: PICTURE });
    upstream.on('/videos/v1', () => {
      if (++asked === 1) void registry?.reload().then(reloaded.resolve);
      return { body: { status: asked === 1 ? 'in_progress' : 'completed' } };
    });
    upstream.on('/videos', { body: { id: 'v1', status: 'queued' } });
    const video = (await open('openai')).video!('sora-2');
    const made = await video.doGenerate({
      prompt: 'A cat',
      n: 1,
      aspectRatio: '16:9',
      resolution: '1280x720',
      duration: 4,
      fps: 30,
      seed: undefined,
      image: undefined,
      frameImages: undefined,
      inputReferences: undefined,
      generateAudio: undefined,
      providerOptions: {},
      abortSignal: signal,
    });
    await reloaded.promise;
    expect(made.videos[0]).toMatchObject({ type: 'binary', data: PICTURE });
    expect(asked).toBe(2);
  });
});

describe('images', () => {
  it('of Replicate are ordered with seed and fetched', async () => {
    upstream.on('/files/cat.png', { body: PICTURE });
    upstream.on('/predictions', {
      body: {
        id: 'p',
        status: 'succeeded',
        output: [`${upstream.origin}/files/cat.png`],
        urls: { get: `${upstream.origin}/v1/predictions/p` },
      },
    });
    const replicate = await open('replicate');
    const asked = drawing({ seed: 7, size: '1536x1024' });
    const made = await replicate.image!('black-forest-labs/flux-dev').doGenerate(asked);
    expect(bytesOf(made.images[0])).toBe(PICTURE.toString('base64'));
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1/models/black-forest-labs/flux-dev/predictions',
      headers: { authorization: `Bearer ${KEY}` },
      json: { input: { prompt: 'A cat', seed: 7, aspect_ratio: '3:2' } },
    });
  });

  it('of Luma are asked about until they are there', async () => {
    let asked = 0;
    upstream.on('/files/cat.png', { body: PICTURE });
    upstream.on('/generations/image', { body: { id: 'g1', state: 'queued' } });
    upstream.on('/generations/g1', () => ({
      body: {
        id: 'g1',
        state: ++asked < 2 ? 'dreaming' : 'completed',
        assets: { image: `${upstream.origin}/files/cat.png` },
      },
    }));
    const luma = await open('luma');
    const made = await luma.image!('photon-1').doGenerate(drawing());
    expect(bytesOf(made.images[0])).toBe(PICTURE.toString('base64'));
    expect(upstream.requests[0]).toMatchObject({
      headers: { authorization: `Bearer ${KEY}` },
      json: { model: 'photon-1', prompt: 'A cat', aspect_ratio: '1:1' },
    });
  });

  it.each([
    [
      'xai',
      'grok-imagine-image',
      '/v1/images/generations',
      { data: [{ b64_json: PICTURE.toString('base64') }] },
    ],
    [
      'togetherai',
      'black-forest-labs/FLUX.1-dev',
      '/v1/images/generations',
      { data: [{ b64_json: PICTURE.toString('base64') }] },
    ],
  ])('of %s come as base64', async (id, modelId, path, body) => {
    upstream.on(path, { body });
    const made = await (await open(id)).image!(modelId).doGenerate(drawing());
    expect(bytesOf(made.images[0])).toBe(PICTURE.toString('base64'));
    expect(upstream.requests[0]).toMatchObject({
      path,
      headers: { authorization: `Bearer ${KEY}` },
      json: { model: modelId, prompt: 'A cat' },
    });
  });

  it('of Fireworks come as bytes', async () => {
    upstream.on('/workflows/', { headers: { 'content-type': 'image/png' }, body: PICTURE });
    const modelId = 'accounts/fireworks/models/flux-1-schnell-fp8';
    const made = await (await open('fireworks')).image!(modelId).doGenerate(drawing({ seed: 3 }));
    expect(bytesOf(made.images[0])).toBe(PICTURE.toString('base64'));
    expect(upstream.requests[0]?.path).toBe(`/inference/v1/workflows/${modelId}/text_to_image`);
    expect(upstream.requests[0]?.json).toMatchObject({ prompt: 'A cat', seed: 3, aspect_ratio: '1:1' });
  });
});

describe('sound', () => {
  it('of AssemblyAI is uploaded, asked about, and counted in seconds', async () => {
    upstream.on('/v2/upload', { body: { upload_url: `${upstream.origin}/u/1` } });
    let asked = 0;
    const words = [{ text: 'Hello.', start: 100, end: 900, speaker: 'A' }];
    upstream.on('/v2/transcript/t1', () => ({
      body:
        ++asked < 2
          ? { id: 't1', status: 'processing' }
          : {
              id: 't1',
              status: 'completed',
              text: 'Hello.',
              language_code: 'en_us',
              words,
              audio_duration: 2,
              utterances: [],
            },
    }));
    upstream.on('/v2/transcript', { body: { id: 't1', status: 'queued' } });
    const made = await (await open('assemblyai')).stt!('universal').transcribe(listening());
    expect(made).toMatchObject({
      text: 'Hello.',
      language: 'en',
      segments: [{ start: 0.1, end: 0.9, text: 'Hello.', speaker: 'SPEAKER_00' }],
    });
    const order = upstream.requests.find(
      ({ path, method }) => path === '/v2/transcript' && method === 'POST',
    );
    expect(order).toMatchObject({
      headers: { authorization: KEY },
      json: { speaker_labels: true, language_detection: true },
    });
  });

  it('of Google is spoken by the voice that stands for a preset, as WAV', async () => {
    const inlineData = {
      mimeType: 'audio/L16;codec=pcm;rate=24000',
      data: Buffer.alloc(480).toString('base64'),
    };
    upstream.on(':generateContent', { body: { candidates: [{ content: { parts: [{ inlineData }] } }] } });
    const speech = (await open('google')).tts!('gemini-2.5-flash-preview-tts');
    const { audio } = await speech.doGenerate({ text: 'Hello', voice: 'nova', abortSignal: signal });
    expect(Buffer.from(audio as Uint8Array).toString('latin1', 0, 4)).toBe('RIFF');
    expect(JSON.stringify(upstream.requests[0]?.json)).toContain('"voiceName":"Kore"');
  });

  it('of Deepgram is spoken by the voice that stands for a preset', async () => {
    upstream.on('/v1/speak', { headers: { 'content-type': 'audio/mpeg' }, body: 'ID3' });
    const deepgram = await open('deepgram');
    const speech = deepgram.tts!('aura-2');
    await speech.doGenerate({ text: 'Hello', voice: 'nova', abortSignal: signal });
    expect(upstream.requests[0]?.path).toContain('model=aura-2-andromeda-en');
    expect(upstream.requests[0]).toMatchObject({
      headers: { authorization: `Token ${KEY}` },
      json: { text: 'Hello' },
    });
    expect(speech.capabilities).toMatchObject({ speed: { min: 1, max: 1 }, voices: null });
    // A voice itself: another cannot be asked for.
    const thalia = deepgram.tts!('aura-2-thalia-en');
    await thalia.doGenerate({ text: 'Hello', voice: 'nova', abortSignal: signal });
    expect(upstream.requests.at(-1)?.path).toContain('model=aura-2-thalia-en');
    expect(thalia.capabilities?.voices).toEqual(['nova']);
  });
});
