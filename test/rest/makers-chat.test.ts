import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { amazonEvents, converseStream } from '../support/amazon-events.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeReply, NativeUpstream } from '../support/native-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;
let upstream: NativeUpstream;
let key: string;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const of = (kind: string, path: string, models: Record<string, string>) => ({
    id: kind,
    kind,
    baseUrl: upstream.origin + path,
    apiKey: `sk-${kind}-secret`,
    retry: { retries: 0, backoffMs: 1 },
    models: Object.entries(models).map(([name, upstreamId]) => ({
      id: `${kind}/${name}`,
      upstreamId,
      type: 'chat',
      tier: 'basic',
    })),
  });
  penstock = await startPenstock({
    providers: {
      providers: [
        of('google', '/v1beta', { chat: 'gemini-2.5-flash', replaced: 'gemini-2.5-pro' }),
        of('cohere', '/v2', { chat: 'command-a-03-2025', replaced: 'command-r7b-12-2024' }),
        of('amazon-bedrock', '', { chat: 'amazon.nova-lite-v1:0' }),
        of('mistral', '/mistral', { chat: 'mistral-small-latest' }),
      ],
      fallbacks: { 'google/replaced': ['mistral/chat'], 'cohere/replaced': ['mistral/chat'] },
    },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});
beforeEach(() => upstream.clear());

const messages = [{ role: 'user', content: 'Hi' }];
const ask = (body: object) =>
  penstock.rest('POST', '/chat/completions', { key, body: { messages, ...body } });

/** What comes of a stream: what was said, how it ended, and whether it says that it is whole. */
async function streamed(body: object) {
  const { status, events } = await penstock.events('POST', '/chat/completions', {
    key,
    body: { messages, stream: true, ...body },
  });
  const texts: string[] = [];
  for await (const { data } of events) texts.push(data);
  const chunks = texts.flatMap((text) =>
    text === '[DONE]' ? [] : [JSON.parse(text) as { choices?: unknown; error?: string; model?: string }],
  );
  const choices = chunks.flatMap(
    (chunk) => (chunk.choices ?? []) as { delta: { content?: string }; finish_reason: string | null }[],
  );
  return {
    status,
    said: choices.map(({ delta }) => delta.content ?? '').join(''),
    finishReasons: choices.flatMap((choice) => choice.finish_reason ?? []),
    error: chunks.find((chunk) => chunk.error !== undefined)?.error,
    done: texts.includes('[DONE]'),
    model: chunks[0]?.model,
  };
}

async function creditsUsed(): Promise<number> {
  const { body } = await penstock.rest<{ quotas: { credits: { used: number } } }>('GET', '/quota', { key });
  return body.quotas.credits.used;
}

const MISTRAL: NativeReply = {
  body: {
    id: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Instead' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  },
};

describe('an answer of Gemini without candidates', () => {
  it.each<[string, object]>([
    ['an error with status 200', { error: { code: 503, status: 'UNAVAILABLE' } }],
    ['an empty object', {}],
    ['a count of tokens alone', { usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 } }],
    ['a candidate that says nothing, not even why', { candidates: [{ content: {} }] }],
  ])('is no answer: it is free, and a fallback answers (%s)', async (_name, body) => {
    upstream.on(':generateContent', { body });
    upstream.on('/mistral', MISTRAL);
    const before = await creditsUsed();
    expect(await ask({ model: 'google/chat' })).toMatchObject({
      status: 500,
      body: { error: 'Generation failed' },
    });
    expect(await creditsUsed()).toBe(before);
    expect(await ask({ model: 'google/replaced' })).toMatchObject({
      status: 200,
      body: { model: 'mistral/chat', choices: [{ message: { content: 'Instead' } }] },
    });
  });

  it('is one where a filter says why there are none', async () => {
    upstream.on(':generateContent', { body: { promptFeedback: { blockReason: 'SAFETY' } } });
    expect(await ask({ model: 'google/chat' })).toMatchObject({
      status: 200,
      body: { choices: [{ message: { content: '' }, finish_reason: 'content_filter' }] },
    });
  });
});

describe('a stream of a maker’s own API that is cut off', () => {
  const COHERE = [
    { type: 'message-start', id: 'm' },
    { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
    { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Half' } } } },
  ];
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":' } };
  const CALLING = [
    COHERE[0]!,
    { type: 'tool-call-start', index: 0, delta: { message: { tool_calls: call } } },
  ];
  const bedrock = (body: Buffer): NativeReply => ({
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
    body,
  });
  const half = { event: 'contentBlockDelta', payload: { contentBlockIndex: 0, delta: { text: 'Half' } } };
  const timeout = { exception: 'modelTimeoutException', payload: { message: 'Too slow' } };

  it.each<[string, string, NativeReply, string]>([
    ['Cohere, after its first words', 'cohere/chat', { events: COHERE }, 'Half'],
    ['Cohere, within a tool call', 'cohere/chat', { events: CALLING }, ''],
    ['Bedrock, after its first words', 'amazon-bedrock/chat', bedrock(amazonEvents(half)), 'Half'],
    ['Bedrock, by its time-out', 'amazon-bedrock/chat', bedrock(amazonEvents(half, timeout)), 'Half'],
  ])('fails after what was delivered, and is charged for that (%s)', async (_name, model, reply, said) => {
    upstream.on('/v2/chat', reply);
    upstream.on('/converse-stream', reply);
    const before = await creditsUsed();
    expect(await streamed({ model })).toMatchObject({
      status: 200,
      said,
      finishReasons: [],
      error: 'Generation failed',
      done: false,
    });
    expect(await creditsUsed()).toBe(before + 1);
  });

  it('before its first word is free, and a fallback answers', async () => {
    upstream.on('/v2/chat', { events: [COHERE[0]!] });
    upstream.on('/mistral', {
      events: [{ choices: [{ index: 0, delta: { content: 'Instead' }, finish_reason: 'stop' }] }, '[DONE]'],
    });
    const before = await creditsUsed();
    const { status } = await ask({ model: 'cohere/chat', stream: true });
    expect(status).toBe(500);
    expect(await creditsUsed()).toBe(before);
    expect(await streamed({ model: 'cohere/replaced' })).toMatchObject({
      said: 'Instead',
      model: 'mistral/chat',
      finishReasons: ['stop'],
      done: true,
    });
  });

  it('is whole where its maker said why it ended', async () => {
    upstream.on('/converse-stream', bedrock(converseStream('Yes')));
    expect(await streamed({ model: 'amazon-bedrock/chat' })).toMatchObject({
      said: 'Yes',
      finishReasons: ['stop'],
      done: true,
    });
  });
});
