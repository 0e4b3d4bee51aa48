import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createModelCatalogue } from '../../src/models/index.js';
import { createProviderRegistry, UpstreamError } from '../../src/providers/index.js';
import type { ChatBody, ChatCall, ChatProvider, ProviderRegistry } from '../../src/providers/index.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';

const KEY = 'sk-native-0123456789abcdef';
const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'weather',
      description: 'The weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

let upstream: NativeUpstream;
let registry: ProviderRegistry | undefined;
beforeEach(async () => {
  upstream = await startNativeUpstream();
});
afterEach(async () => {
  await registry?.close();
  await upstream.close();
});

async function open(env: Record<string, string>): Promise<ProviderRegistry> {
  registry = await createProviderRegistry({
    file: null,
    env,
    logger: pino({ level: 'silent' }),
  });
  return registry;
}

async function chatOf(id: string, env: Record<string, string>): Promise<ChatProvider> {
  const chat = (await open(env)).find(id)?.chat;
  if (chat === undefined) throw new Error(`${id} has no chat`);
  return chat;
}

const call = (modelId: string, body: Partial<ChatBody> = {}): ChatCall => ({
  modelId,
  body: { messages: [{ role: 'user', content: 'Hi' }], ...body },
  maxTokens: 100,
  outputCap: 'max_tokens',
  promptTokens: 1,
  signal: new AbortController().signal,
});

interface Chunk {
  choices: { delta: Record<string, unknown>; finish_reason: string | null }[];
  usage?: object;
}

async function chunksOf(chat: ChatProvider, asked: ChatCall): Promise<Chunk[]> {
  const stream = await chat.stream(asked);
  const chunks: Chunk[] = [];
  for (let text = await stream.next(); text !== null; text = await stream.next())
    chunks.push(JSON.parse(text) as Chunk);
  return chunks;
}

const fault = async (work: Promise<unknown>): Promise<UpstreamError> => {
  const error: unknown = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UpstreamError);
  return error as UpstreamError;
};

describe('a key in the environment', () => {
  it('makes the known models of its provider available, and no others', async () => {
    const models = createModelCatalogue({ providers: await open({ OPENAI_API_KEY: KEY }) });
    expect(models.find('openai/gpt-4')).toMatchObject({
      available: true,
      upstream: { providerId: 'openai', modelId: 'gpt-4', outputCap: 'max_completion_tokens' },
    });
    expect(models.find('openai/gpt-image-1')?.available).toBe(true);
    expect(models.find('openai/sora-2')?.available).toBe(true);
    expect(models.find('openai/gpt-image-1-edit')?.upstream?.modelId).toBe('gpt-image-1');
    expect(models.find('google/gemini-2.5-flash-image')?.available).toBe(false);
    expect(models.find('anthropic/claude-haiku-4-5')?.available).toBe(false);
  });

  it('does nothing where it is empty, or where another that is needed is missing', async () => {
    const found = await open({ OPENAI_API_KEY: ' ', AZURE_API_KEY: KEY });
    expect(found.list().map(({ id }) => id)).toEqual([]);
  });

  it('lets a host of others’ models offer them', async () => {
    const models = createModelCatalogue({ providers: await open({ FAL_API_KEY: KEY }) });
    expect(models.find('black-forest-labs/flux-dev')).toMatchObject({
      available: true,
      upstream: { providerId: 'fal', modelId: 'fal-ai/flux/dev' },
    });
  });
});

describe('OpenAI', () => {
  it('gets the convention as it is, with its own spelling of the cap', async () => {
    upstream.on('/v1/chat/completions', {
      body: { id: 'a', choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' } }] },
    });
    const chat = await chatOf('openai', { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${upstream.origin}/v1` });
    const { parsed } = await chat.complete({ ...call('gpt-4'), outputCap: 'max_completion_tokens' });
    expect(parsed.choices).toHaveLength(1);
    expect(upstream.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(upstream.requests[0]?.json).toMatchObject({ model: 'gpt-4', max_completion_tokens: 100 });
  });
});

describe('Mistral', () => {
  it('gets no field that it refuses', async () => {
    upstream.on('/chat/completions', {
      events: [{ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }, '[DONE]'],
    });
    const chat = await chatOf('mistral', { MISTRAL_API_KEY: KEY, MISTRAL_BASE_URL: upstream.origin });
    await chunksOf(chat, call('mistral-small-latest', { seed: 7, user: 'me', tool_choice: 'required' }));
    expect(upstream.requests[0]?.json).toEqual({
      model: 'mistral-small-latest',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 100,
      stream: true,
      random_seed: 7,
      tool_choice: 'any',
    });
  });
});

describe('Anthropic', () => {
  const env = () => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: `${upstream.origin}/v1` });
  const answer = {
    type: 'message',
    id: 'msg_1',
    model: 'claude-haiku-4-5',
    role: 'assistant',
    content: [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 12, output_tokens: 7 },
  };

  it('answers in the convention’s words, tool calls and usage included', async () => {
    upstream.on('/v1/messages', { body: answer });
    const chat = await chatOf('anthropic', env());
    const { parsed, text } = await chat.complete(call('claude-haiku-4-5', { tools: TOOLS }));
    expect(JSON.parse(text)).toEqual(parsed);
    expect(parsed).toMatchObject({
      id: 'msg_1',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: 'Let me see.',
            tool_calls: [
              {
                id: 'toolu_1',
                type: 'function',
                function: { name: 'weather', arguments: '{"city":"Rome"}' },
              },
            ],
          },
        },
      ],
      usage: { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 },
    });
  });

  it('gets system words, pictures, tool calls and their results in its own form', async () => {
    upstream.on('/v1/messages', { body: answer });
    const chat = await chatOf('anthropic', env());
    const call1 = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } };
    const messages = [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And here?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [call1] },
      { role: 'tool', tool_call_id: 'c1', content: 'Sunny' },
    ];
    await chat.complete(call('claude-haiku-4-5', { messages, tools: TOOLS, tool_choice: 'required' }));
    const [request] = upstream.requests;
    expect(request?.headers['x-api-key']).toBe(KEY);
    expect(request?.json).toMatchObject({
      model: 'claude-haiku-4-5',
      max_tokens: 100,
      system: [{ type: 'text', text: 'Be brief.' }],
      tool_choice: { type: 'any' },
      tools: [{ name: 'weather' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'And here?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png' } },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', input: { city: 'Rome' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1' }] },
      ],
    });
  });

  it('streams text and tool calls as chunks, then why it stopped and what it used', async () => {
    upstream.on('/v1/messages', {
      events: [
        { type: 'message_start', message: { ...answer, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Let me' } },
        { type: 'an_event_of_next_year', note: 1 },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' see.' } },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'content_block_start',
          index: 1,
          content_block: { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
        },
        {
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'input_json_delta', partial_json: '{"city":' },
        },
        {
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'input_json_delta', partial_json: '"Rome"}' },
        },
        { type: 'content_block_stop', index: 1 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'tool_use', stop_sequence: null },
          usage: { output_tokens: 7 },
        },
        { type: 'message_stop' },
      ],
    });
    const chunks = await chunksOf(
      await chatOf('anthropic', env()),
      call('claude-haiku-4-5', { tools: TOOLS }),
    );
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas.map((delta) => delta['content'] ?? '').join('')).toBe('Let me see.');
    expect(deltas[0]).toMatchObject({ role: 'assistant' });
    const tools = deltas.flatMap(
      (delta) => (delta['tool_calls'] ?? []) as { function: { arguments: string } }[],
    );
    expect(tools[0]).toMatchObject({ index: 0, id: 'toolu_1', function: { name: 'weather' } });
    expect(tools.map((tool) => tool.function.arguments).join('')).toBe('{"city":"Rome"}');
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 7 } });
  });

  it('says what the caller did wrong without the key, and that a busy one may be asked again', async () => {
    const chat = await chatOf('anthropic', env());
    const error = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } });
    upstream.on('/v1/messages', { status: 400, body: error(`temperature: too hot for ${KEY}`) });
    const rejected = await fault(chat.complete(call('claude-haiku-4-5')));
    expect(rejected).toMatchObject({ fault: 'rejected', message: 'temperature: too hot for [removed]' });
    upstream.on('/v1/messages', { status: 529, body: error('Overloaded'), headers: { 'retry-after': '2' } });
    const busy = await fault(chat.complete(call('claude-haiku-4-5')));
    expect(busy.options).toMatchObject({ status: 529, retryable: true, retryAfterMs: 2000 });
    upstream.on('/v1/messages', { status: 401, body: error('invalid x-api-key') });
    const refused = await fault(chat.stream(call('claude-haiku-4-5')));
    expect(refused.options).toMatchObject({ status: 401, retryable: false });
    expect(upstream.requests).toHaveLength(3);
    await upstream.close();
    const gone = await fault(chat.complete(call('claude-haiku-4-5')));
    expect(gone.options).toMatchObject({ status: null, retryable: true });
  });

  it('refuses what it has no word for instead of leaving it out, and may use one tool at a time', async () => {
    upstream.on('/v1/messages', { body: answer });
    const chat = await chatOf('anthropic', env());
    for (const body of [
      { frequency_penalty: 0.5 },
      { presence_penalty: -1 },
      { seed: 7 },
      { logprobs: true },
      { logit_bias: { 50256: -100 } },
      { temperature: 1.01 },
    ]) {
      const refused = await fault(chat.complete(call('claude-haiku-4-5', body)));
      const [name] = Object.keys(body);
      expect([refused.fault, refused.message]).toEqual([
        'rejected',
        `Model claude-haiku-4-5 does not support ${name}${name === 'temperature' ? ' above 1' : ''}`,
      ]);
    }
    expect(upstream.requests).toHaveLength(0);
    const plain = { frequency_penalty: 0, presence_penalty: 0, logprobs: false, logit_bias: {} };
    await chat.complete(call('claude-haiku-4-5', { ...plain, tools: TOOLS, parallel_tool_calls: false }));
    expect(upstream.requests[0]?.json['tool_choice']).toMatchObject({ disable_parallel_tool_use: true });
  });

  it('refuses what its package says it left out, whole and streamed; the contract’s defaults ask for nothing', async () => {
    const start = { type: 'message_start', message: { ...answer, content: [], stop_reason: null } };
    const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } };
    upstream.on('/v1/messages', (request) =>
      request.json['stream'] === true ? { events: [start, end, { type: 'message_stop' }] } : { body: answer },
    );
    const chat = await chatOf('anthropic', env());
    // A model that takes no temperature at all.
    for (const [body, name] of [
      [{ temperature: 0.3 }, 'temperature'],
      [{ top_p: 0.5 }, 'top_p'],
    ] as const) {
      const refusal = { fault: 'rejected', message: `Model claude-opus-4-8 does not support ${name}` };
      expect(await fault(chat.complete(call('claude-opus-4-8', body)))).toMatchObject(refusal);
      expect(await fault(chat.stream(call('claude-opus-4-8', body)))).toMatchObject(refusal);
    }
    const plain = { temperature: 0.7, top_p: 1, frequency_penalty: 0, presence_penalty: 0 };
    const made = await chat.complete(call('claude-opus-4-8', plain));
    expect(made.parsed).toMatchObject({ choices: [{ message: { role: 'assistant' } }] });
  });

  it('is given a schema for json_object, which it would leave out otherwise', async () => {
    const json = { type: 'tool_use', id: 'toolu_1', name: 'json', input: { city: 'Rome' } };
    upstream.on('/v1/messages', { body: { ...answer, content: [json], stop_reason: 'tool_use' } });
    const chat = await chatOf('anthropic', env());
    const made = await chat.complete(call('claude-haiku-4-5', { response_format: { type: 'json_object' } }));
    expect(made.parsed).toMatchObject({ choices: [{ message: { content: '{"city":"Rome"}' } }] });
    expect(upstream.requests[0]?.json).toMatchObject({
      tools: [{ name: 'json', input_schema: { type: 'object' } }],
    });
  });

  it('is not believed where its stream breaks off', async () => {
    upstream.on('/v1/messages', {
      events: [
        { type: 'message_start', message: { ...answer, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half' } },
      ],
    });
    const broken = await fault(chunksOf(await chatOf('anthropic', env()), call('claude-haiku-4-5')));
    expect(broken.fault).toBe('failed');
  });
});

describe('Google', () => {
  const env = () => ({
    GOOGLE_GENERATIVE_AI_API_KEY: KEY,
    GOOGLE_BASE_URL: `${upstream.origin}/v1beta`,
  });
  const part = (content: object, finishReason?: string) => ({
    candidates: [
      { content: { role: 'model', parts: [content] }, index: 0, ...(finishReason ? { finishReason } : {}) },
    ],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 },
  });

  it('answers and streams in the convention’s words', async () => {
    upstream.on(':generateContent', { body: part({ text: 'Hello there' }, 'STOP') });
    upstream.on(':streamGenerateContent', {
      events: [part({ text: 'Hello' }), part({ text: ' there' }, 'STOP')],
    });
    const chat = await chatOf('google', env());
    const { parsed } = await chat.complete(call('gemini-2.5-flash', { temperature: 0.5, stop: 'END' }));
    expect(parsed).toMatchObject({
      choices: [{ message: { content: 'Hello there' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 9, completion_tokens: 4 },
    });
    expect(upstream.requests[0]?.headers['x-goog-api-key']).toBe(KEY);
    expect(upstream.requests[0]?.json).toMatchObject({
      generationConfig: { temperature: 0.5, maxOutputTokens: 100, stopSequences: ['END'] },
    });
    const chunks = await chunksOf(chat, call('gemini-2.5-flash'));
    const text = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta['content'] ?? ''));
    expect(text.join('')).toBe('Hello there');
  });

  it('streams a tool call whole', async () => {
    upstream.on(':streamGenerateContent', {
      events: [part({ functionCall: { name: 'weather', args: { city: 'Rome' } } }, 'STOP')],
    });
    const chunks = await chunksOf(await chatOf('google', env()), call('gemini-2.5-flash', { tools: TOOLS }));
    const tools = chunks.flatMap(({ choices }) =>
      choices.flatMap(({ delta }) => (delta['tool_calls'] ?? []) as { function: { arguments: string } }[]),
    );
    expect(tools[0]).toMatchObject({ function: { name: 'weather' } });
    expect(tools.map((tool) => tool.function.arguments).join('')).toBe('{"city":"Rome"}');
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('tool_calls');
  });
});
