import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ChatBody, ChatProvider, ProviderRegistry } from '../../src/providers/index.js';
import { chatCall, openNative } from '../support/native-provider.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';

let upstream: NativeUpstream;
let registry: ProviderRegistry | undefined;
beforeAll(async () => {
  upstream = await startNativeUpstream();
});
afterAll(() => upstream.close());
afterEach(async () => {
  await registry?.close();
  upstream.clear();
});

async function chatOf(id: string): Promise<ChatProvider> {
  const opened = await openNative(id, { origin: upstream.origin });
  registry = opened.registry;
  return opened.provider.chat!;
}

type Fields = Record<string, unknown>;

/** A streamed answer put together as a client does. */
async function streamed(
  chat: ChatProvider,
  model: string,
  body: object,
): Promise<{ message: Fields; finish: unknown }> {
  const chunks = await chat.stream(chatCall(model, body));
  const message: Fields = { role: 'assistant', content: null };
  let finish: unknown = null;
  for (let raw = await chunks.next(); raw !== null; raw = await chunks.next()) {
    const { choices } = JSON.parse(raw) as { choices: { delta: Fields; finish_reason: unknown }[] };
    for (const { delta, finish_reason: reason } of choices) {
      finish = reason ?? finish;
      for (const [name, value] of Object.entries(delta)) {
        if (typeof value === 'string' && name !== 'role')
          message[name] = `${(message[name] as string | null) ?? ''}${value}`;
        else if (name === 'tool_calls') joinCalls(message, value as Fields[]);
        else message[name] = value;
      }
    }
  }
  return { message, finish };
}

function joinCalls(message: Fields, parts: Fields[]): void {
  const calls = (message['tool_calls'] ??= []) as Fields[];
  for (const { index, ...part } of parts) {
    const open = calls[index as number];
    if (open === undefined) calls[index as number] = part;
    else (open['function'] as Fields)['arguments'] += String((part['function'] as Fields)['arguments']);
  }
}

const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }];
const user = { role: 'user', content: 'Hi' };
const answerTo = (id: unknown) => ({ role: 'tool', tool_call_id: id, content: '1' });

/** A Claude that thinks, speaks, thinks again where nobody may read it, and calls. */
const BLOCKS = [
  { type: 'thinking', thinking: 'hm', signature: 'sig+/=' },
  { type: 'redacted_thinking', data: 'secret+/=' },
  { type: 'text', text: 'Look' },
  { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
];
const start = {
  type: 'message_start',
  message: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'c',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 2, output_tokens: 1 },
  },
};
const block = (index: number, content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const EVENTS = [
  start,
  ...block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'h' },
    { type: 'thinking_delta', thinking: 'm' },
    { type: 'signature_delta', signature: 'sig+/=' },
  ),
  ...block(1, { type: 'redacted_thinking', data: 'secret+/=' }),
  ...block(
    2,
    { type: 'text', text: '' },
    { type: 'text_delta', text: 'Lo' },
    { type: 'text_delta', text: 'ok' },
  ),
  ...block(
    3,
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
    { type: 'input_json_delta', partial_json: '{}' },
  ),
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 7 },
  },
  { type: 'message_stop' },
];
const WHOLE = {
  ...start.message,
  content: BLOCKS,
  stop_reason: 'tool_use',
  usage: { input_tokens: 2, output_tokens: 7 },
};

test.each(['whole', 'streamed'])(
  'Anthropic gets back the blocks of a %s answer in their order, signatures and all',
  async (way) => {
    const chat = await chatOf('anthropic');
    upstream.on('/messages', way === 'whole' ? { body: WHOLE } : { events: EVENTS });
    const body = { messages: [user], tools } as Partial<ChatBody>;
    const message =
      way === 'whole'
        ? (await chat.complete(chatCall('claude-sonnet-4-5', body))).parsed.choices.map(
            (choice) => (choice as { message: Fields }).message,
          )[0]!
        : (await streamed(chat, 'claude-sonnet-4-5', body)).message;
    expect(message).toMatchObject({ reasoning_content: 'hm', content: 'Look' });
    upstream.on('/messages', {
      body: { ...WHOLE, content: [{ type: 'text', text: 'Done' }], stop_reason: 'end_turn' },
    });
    await chat.complete(
      chatCall('claude-sonnet-4-5', {
        messages: [user, message, answerTo('toolu_1')],
        tools,
        reasoning_effort: undefined,
      }),
    );
    const sent = upstream.requests.at(-1)!.json['messages'] as { role: string; content: Fields[] }[];
    expect(sent[1]?.content).toMatchObject(BLOCKS);
    expect(sent[1]?.content).toHaveLength(BLOCKS.length);
  },
);

test.each(['whole', 'streamed'])(
  'Gemini gets back the signature of the call that it signed in a %s answer',
  async (way) => {
    const chat = await chatOf('google');
    const part = { functionCall: { name: 'f', args: {} }, thoughtSignature: 'sig+/=' };
    const given = {
      candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 2, candidatesTokenCount: 3, totalTokenCount: 5 },
    };
    upstream.on('Content', way === 'whole' ? { body: given } : { events: [given] });
    const body = { messages: [user], tools };
    const message =
      way === 'whole'
        ? (await chat.complete(chatCall('gemini-3-pro-preview', body))).parsed.choices.map(
            (choice) => (choice as { message: Fields }).message,
          )[0]!
        : (await streamed(chat, 'gemini-3-pro-preview', body)).message;
    const [call] = message['tool_calls'] as Fields[];
    await chat
      .complete(
        chatCall('gemini-3-pro-preview', { messages: [user, message, answerTo(call?.['id'])], tools }),
      )
      .catch(() => null);
    expect(JSON.stringify(upstream.requests.at(-1)!.json)).toContain('"thoughtSignature":"sig+/="');
  },
);

const SILENT = ['null', '', '[]', '""', ' ', 'keep-alive', '{"type":"ping"}', '{}'];
test.each(SILENT)('a native stream is whole where an event says nothing: %j', async (silent) => {
  const chat = await chatOf('anthropic');
  for (let at = 0; at <= 4; at++) {
    upstream.on('/messages', { events: [...EVENTS.slice(0, at), silent, ...EVENTS.slice(at)] });
    const { message, finish } = await streamed(chat, 'claude-sonnet-4-5', { messages: [user], tools });
    expect(message).toMatchObject({ reasoning_content: 'hm', content: 'Look' });
    expect(finish).toBe('tool_calls');
  }
});

test('Anthropic gets no blank text, and no answer to go on with that ends in a blank', async () => {
  const chat = await chatOf('anthropic');
  upstream.on('/messages', {
    body: { ...WHOLE, content: [{ type: 'text', text: 'Done' }], stop_reason: 'end_turn' },
  });
  const messages = [
    { role: 'system', content: ' ' },
    {
      role: 'user',
      content: [
        { type: 'text', text: '' },
        { type: 'text', text: 'Hi' },
        { type: 'text', text: '\n' },
      ],
    },
    { role: 'assistant', content: '' },
    { role: 'user', content: 'Go on' },
    { role: 'assistant', content: 'So \n' },
  ];
  await chat.complete(chatCall('claude-sonnet-4-5', { messages }));
  const { system, messages: sent } = upstream.requests.at(-1)!.json as {
    system?: unknown;
    messages: { content: Fields[] }[];
  };
  expect(system).toBeUndefined();
  const texts = sent.flatMap(({ content }) => content.map(({ text }) => text));
  expect(texts).toEqual(['Hi', 'Go on', 'So']);
});
