import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;
let upstream: FakeUpstream;
let key: string;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const model = { upstreamId: 'chat', type: 'chat', tier: 'basic', imageTokens: 100 };
  penstock = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: upstream.baseUrl,
          apiKey: 'sk-acme-secret',
          allowedParameters: ['preamble'],
          models: [
            { ...model, id: 'acme/chat' },
            { ...model, id: 'acme/narrow', contextWindow: 1000 },
          ],
        },
      ],
    },
    plans: {
      plans: { free: { rate: { rpm: 1000, burst: 1000 } } },
      endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } },
    },
  });
  let orgId: string;
  ({ key, orgId } = await penstock.createOrg({ plan: 'free' }));
  await penstock.cli('quota', 'set', '--org', orgId, '--bucket', 'credits', '--used', '99');
});
beforeEach(() => void (upstream.requests.length = 0));
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

const send = (body: object) =>
  penstock.rest('POST', '/chat/completions', { key, body: { model: 'acme/chat', max_tokens: 10, ...body } });

describe('a caller with one credit left', () => {
  const text = 'river valley '.repeat(1500);
  const hi = { role: 'user', content: 'Hi' };
  const said = (more: object) => ({ messages: [hi, { role: 'assistant', content: 'x', ...more }, hi] });
  const picture = { url: 'https://example.com/a.png' };
  const part = (more: object) => ({ messages: [{ role: 'user', content: [more] }] });
  const f = { name: 'f', arguments: '{}' };
  const toolCall = { id: 'c1', type: 'function', function: f };

  it.each<[string, object]>([
    ['the content', said({ content: text })],
    ['a refusal', said({ content: null, refusal: text })],
    ['what was thought', said({ reasoning_content: text })],
    ['a field that nobody knows', said({ zz: text })],
    ['the name of such a field', said({ [text]: null })],
    ['a list in such a field', said({ zz: Array.from({ length: 3000 }, (_, number) => number) })],
    ['a list in a known field', said({ reasoning_content: [{ text }] })],
    ['the id of a tool call', said({ tool_calls: [{ ...toolCall, id: text }] })],
    ['a field beside a tool call', said({ tool_calls: [{ ...toolCall, zz: { text } }] })],
    ['a field beside its arguments', said({ tool_calls: [{ ...toolCall, function: { ...f, zz: text } }] })],
    ['a field of the older function call', said({ function_call: { ...f, zz: text } })],
    ['the id that a tool’s answer has', { messages: [{ role: 'tool', content: 'x', tool_call_id: text }] }],
    ['a field beside a text part', part({ type: 'text', text: 'Hi', zz: text })],
    ['a picture beside a text part', part({ type: 'text', text: 'Hi', image_url: { url: text } })],
    ['the detail of a picture', part({ type: 'image_url', image_url: { ...picture, detail: text } })],
    ['a text beside a picture', part({ type: 'image_url', image_url: picture.url, text })],
    ['a prediction', { messages: [hi], prediction: { type: 'content', content: text } }],
    [
      'a prediction in parts',
      { messages: [hi], prediction: { type: 'content', content: [{ type: 'text', text }] } },
    ],
    ['a choice of tools', { messages: [hi], tool_choice: { type: 'function', function: f, zz: text } }],
    ['an answer’s format', { messages: [hi], response_format: { type: 'text', zz: text } }],
    ['a text that the model’s entry lets through', { messages: [hi], preamble: text }],
  ])('sends no more upstream than that covers in %s', async (_where, body) => {
    expect(await send(body)).toMatchObject({
      status: 402,
      body: { error: 'Quota exceeded for chat_tokens', code: 'quota_exceeded' },
    });
    const narrow = await send({ ...body, model: 'acme/narrow' });
    expect(narrow).toMatchObject({ status: 400, body: { param: 'messages' } });
    expect(upstream.requests).toEqual([]);
  });
});

it('a message as clients send it back costs what it says: its empty fields nothing, nor the names of the convention', async () => {
  const org = await penstock.createOrg();
  const tokensOf = async (more: object) => {
    const messages = [
      { role: 'assistant', content: 'Hello', ...more },
      { role: 'user', content: 'Hi' },
    ];
    const body = { model: 'sandbox/chat-basic', messages, max_tokens: 1 };
    const answer = await penstock.rest<{ usage: { prompt_tokens: number } }>('POST', '/chat/completions', {
      key: org.key,
      body,
    });
    return answer.body.usage.prompt_tokens;
  };
  const plain = await tokensOf({});
  const empty = { refusal: null, audio: null, annotations: null, function_call: null, tool_calls: null };
  expect(await tokensOf(empty)).toBe(plain);
  expect(await tokensOf({ ...empty, annotations: [], tool_calls: [] })).toBe(plain);
  expect(await tokensOf({ refusal: 'Hello', reasoning_content: 'Hello' })).toBe(plain + 2);
  const call = { id: 'a', type: 'function', function: { name: 'b', arguments: 'c' } };
  expect(await tokensOf({ tool_calls: [call] })).toBe(plain + 4);
});

describe('a picture of more than 20 MB', () => {
  /** Begins as a PNG does: what follows is nobody's matter before it goes upstream. */
  const png = (bytes: number) => {
    const data = Buffer.alloc(bytes);
    data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    return data;
  };
  const largest = png(20 * 1_048_576);
  const larger = png(20 * 1_048_576 + 1);
  const base64 = (data: Buffer) => data.toString('base64');
  const wrapped = (data: Buffer) => base64(data).replace(/.{76}/g, '$&\r\n');
  const url = (data: string) => `data:image/png;base64,${data}`;
  const listed = (image: string) => [{ role: 'user', content: 'x', images: [image] }];
  const part = (image: string) => [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: image } }] },
  ];
  let rich: TestServer['createOrg'] extends (...given: never[]) => Promise<infer Org> ? Org : never;
  beforeAll(async () => {
    rich = await penstock.createOrg();
  });
  const ask = (messages: object[]) =>
    penstock.rest('POST', '/chat/completions', { key: rich.key, body: { model: 'acme/chat', messages } });

  it.each<[string, string, (data: Buffer) => object[]]>([
    ['bare base64', 'images', (data) => listed(base64(data))],
    ['base64 with line breaks', 'images', (data) => listed(wrapped(data))],
    ['a data: URL', 'image_url', (data) => part(url(base64(data)))],
    ['a data: URL with line breaks', 'image_url', (data) => part(url(wrapped(data)))],
  ])('is 413 as %s, and one of 20 MB goes upstream', async (_form, param, messages) => {
    expect(await ask(messages(larger))).toMatchObject({
      status: 413,
      body: { error: `${param} exceeds the maximum size of 20 MB`, code: 'payload_too_large', param },
    });
    expect(upstream.requests).toEqual([]);
    expect((await ask(messages(largest))).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });

  it('is 413 as a file of this installation, too', async () => {
    const { files } = penstock.services;
    const kept = async (bytes: Buffer) =>
      files.url(await files.save({ orgId: rich.orgId, bytes, contentType: 'image/png' }));
    expect(await ask(part(await kept(larger)))).toMatchObject({
      status: 413,
      body: { error: 'image_url exceeds the maximum size of 20 MB', param: 'image_url' },
    });
    expect((await ask(part(await kept(largest)))).status).toBe(200);
  });
});
