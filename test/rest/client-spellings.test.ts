import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let upstream: FakeUpstream;
let key: string;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const model = { type: 'chat', tier: 'basic', upstreamId: 'm' };
  server = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: upstream.baseUrl,
          apiKey: 'k',
          models: [{ id: 'acme/chat', ...model }],
        },
        {
          id: 'mistral',
          kind: 'mistral',
          baseUrl: upstream.baseUrl,
          apiKey: 'k',
          models: [{ id: 'mistral/chat', ...model }],
        },
      ],
    },
    plans: {
      endpointLimits: { chat: { limit: 1000, windowSeconds: 60 }, tts: { limit: 1000, windowSeconds: 60 } },
    },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
});

interface Said {
  choices: { message: { content: string | null; function_call?: object }; finish_reason: string }[];
  error?: string;
  param?: string;
}
const chat = (body: object) => server.rest<Said>('POST', '/chat/completions', { key, body });
const user = { role: 'user', content: 'Weather in Bonn?' };
const weather = { name: 'weather', arguments: '{"city":"Bonn"}' };
const asked = { role: 'assistant', content: null, function_call: weather };
const told = { role: 'function', name: 'weather', content: 'Rain' };
const answered = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Take an umbrella' }, finish_reason: 'stop' }],
};

describe('the loop of the older functions', () => {
  const body = { functions: [{ name: 'weather' }], messages: [user, asked, told] };

  it('goes on with the sandbox, whole and by GraphQL', async () => {
    const { status, body: said } = await chat(body);
    expect(status).toBe(200);
    expect(said.choices[0]?.message.content).toEqual(expect.any(String));
    const { data, errors } = await server.graphql<{
      createChatCompletion: { choices: { finishReason: string }[] };
    }>(
      `mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { choices { finishReason } } }`,
      {
        key,
        variables: {
          input: {
            functions: [{ name: 'weather' }],
            messages: [user, { role: 'assistant', functionCall: weather }, told],
          },
        },
      },
    );
    expect(errors ?? []).toEqual([]);
    expect(data?.createChatCompletion.choices[0]?.finishReason).toBe('stop');
  });

  it('goes to an upstream of the convention as it came', async () => {
    upstream.queue({ body: answered });
    expect((await chat({ ...body, model: 'acme/chat' })).status).toBe(200);
    expect(upstream.requests[0]?.body['messages']).toEqual(body.messages);
  });

  it('goes as tools to one that never knew functions, each answer to its call', async () => {
    upstream.queue({ body: answered });
    const again = { ...asked, function_call: { name: 'weather', arguments: '{"city":"Ulm"}' } };
    const other = { role: 'function', name: 'weather', content: 'Sun' };
    const model = 'mistral/chat';
    expect((await chat({ ...body, model, messages: [user, asked, told, again, other] })).status).toBe(200);
    const sent = upstream.requests[0]?.body as { messages: Record<string, unknown>[]; tools: object[] };
    const calls = sent.messages.flatMap(({ tool_calls: made }) => (made ?? []) as { id: string }[]);
    expect(calls).toHaveLength(2);
    expect(sent.messages.filter(({ role }) => role === 'tool')).toMatchObject([
      { tool_call_id: calls[0]?.id, content: 'Rain' },
      { tool_call_id: calls[1]?.id, content: 'Sun' },
    ]);
    expect(JSON.stringify(sent)).not.toContain('"function_call":');
    expect(sent.tools).toMatchObject([{ type: 'function', function: { name: 'weather' } }]);
  });

  it('needs the name of its function', async () => {
    const { status, body: said } = await chat({
      messages: [user, asked, { role: 'function', content: 'Rain' }],
    });
    expect([status, said.error, said.param]).toEqual([400, 'messages[2].name is required', 'messages']);
  });
});

it('every picture goes upstream as what it is, in clean base64, however it was given', async () => {
  const png =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
  const broken = png.replace(/.{20}/g, '$&\r\n');
  const safe = png.replaceAll('+', '-').replaceAll('/', '_');
  const given = [
    broken,
    safe,
    png.replace(/=+$/, ''),
    `data:image/jpeg;base64,${broken}`,
    `data:application/octet-stream;base64,${safe}`,
    `data:;base64,${png.replace(/.{20}/g, '$& ')}`,
    `data:image/gif;base64,${encodeURIComponent(png)}`,
  ];
  const clean = `data:image/png;base64,${png}`;
  for (const url of given) {
    upstream.requests.length = 0;
    upstream.queue({ body: answered });
    const content = [{ type: 'image_url', image_url: { url, detail: 'low' } }];
    const messages = [
      { role: 'user', content },
      { role: 'user', content: 'See', images: [url] },
    ];
    expect((await chat({ model: 'acme/chat', messages })).status).toBe(200);
    expect(upstream.requests[0]?.body['messages'], url).toEqual([
      { role: 'user', content: [{ type: 'image_url', image_url: { url: clean, detail: 'low' } }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: clean } },
        ],
      },
    ]);
  }
});

it('an empty list of content beside what an assistant asked for is no content', async () => {
  upstream.queue({ body: answered });
  const call = { id: 'a', type: 'function', function: weather };
  const messages = [
    user,
    { role: 'assistant', content: [], tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: 'Rain' },
  ];
  expect((await chat({ model: 'acme/chat', messages })).status).toBe(200);
  const sent = upstream.requests[0]?.body as { messages: { content: unknown }[] };
  expect(sent.messages[1]?.content).toBeNull();
  const refused = await chat({ messages: [{ role: 'assistant', content: [] }] });
  expect([refused.status, refused.body.error]).toEqual([
    400,
    'messages[0].content must be a string or a non-empty array of parts',
  ]);
});

describe('a fault inside of a list names its place', () => {
  const said = (message: object) => ({ messages: [user, message] });
  const withTool = (...tools: unknown[]) => ({ messages: [user], tools });
  const ok = { type: 'function', function: { name: 'a' } };
  it.each<[object, string, string]>([
    [withTool(5), 'tools[0] must be an object', 'tools'],
    [withTool({ type: 'web' }), 'tools[0].type must be function', 'tools'],
    [withTool(ok, { type: 'function' }), 'tools[1].function is required', 'tools'],
    [withTool(ok, { function: { name: '' } }), 'tools[1].function.name is required', 'tools'],
    [{ messages: [user], functions: [{ name: 'a' }, {}] }, 'functions[1].name is required', 'functions'],
    [{ messages: [user], stop: ['a', 5] }, 'stop[1] must be a string', 'stop'],
    [said({ role: 'user', content: [5] }), 'messages[1].content[0] must be an object', 'messages'],
    [
      said({
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'image_url', image_url: {} },
        ],
      }),
      'messages[1].content[1].image_url.url is required',
      'image_url',
    ],
    [
      said({ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,x' } }] }),
      'messages[1].content[0].image_url.url must be a JPEG, PNG, WebP or GIF image',
      'image_url',
    ],
    [
      said({ role: 'user', content: 'x', images: ['a', 5] }),
      'messages[1].images[1] must be a string',
      'images',
    ],
    [
      said({ role: 'assistant', tool_calls: [{ function: { name: 'a' } }] }),
      'messages[1].tool_calls[0].function.arguments must be a string',
      'messages',
    ],
    ...['name', 'refusal', 'tool_call_id'].map((field): [object, string, string] => [
      said({ role: 'assistant', content: 'x', [field]: {} }),
      `messages[1].${field} must be a string`,
      'messages',
    ]),
    [
      said({ role: 'assistant', tool_calls: [{ id: {}, function: { name: 'a', arguments: '{}' } }] }),
      'messages[1].tool_calls[0].id must be a string',
      'messages',
    ],
    [
      said({ role: 'assistant', tool_calls: [{ type: 'web', function: weather }] }),
      'messages[1].tool_calls[0].type must be function',
      'messages',
    ],
  ])('%j', async (body, error, param) => {
    expect(await chat(body)).toMatchObject({ status: 400, body: { error, param, code: 'invalid_request' } });
  });

  it.each<[string, object, string]>([
    ['/embeddings', { input: ['a', 5] }, 'input[1] must be a string'],
    ['/embeddings', { input: ['a', ''] }, 'input[1] must not be empty'],
    [
      '/audio/transcriptions',
      { file: 'AAAA', timestamp_granularities: ['word', 'x'] },
      'timestamp_granularities[1] must be segment or word',
    ],
    ['/webhooks', { name: 'a', url: 'https://example.com', events: [5] }, 'events[0] must be an event type'],
  ])('%s %j', async (path, body, error) => {
    expect(await server.rest('POST', path, { key, body })).toMatchObject({ status: 400, body: { error } });
  });
});

describe('an unknown field that is null', () => {
  it('is no fault anywhere, and one that says something is where it was', async () => {
    const id = await makeAgent(server, key);
    const rows: [string, 'POST' | 'PATCH', object][] = [
      ['/images/generations', 'POST', { prompt: 'a red square', size: '512x512' }],
      ['/audio/speech', 'POST', { input: 'Hi', model_inputs: { nothing: null } }],
      ['/music/generations?async=true', 'POST', { prompt: 'a march', duration_seconds: 1 }],
      ['/videos/generations?async=true', 'POST', { prompt: 'a cloud', duration_seconds: 1 }],
      ['/agents', 'POST', { name: 'a', system_prompt: 'b' }],
      [`/agents/${id}`, 'PATCH', {}],
      [`/agents/${id}/duplicate`, 'POST', {}],
      ['/webhooks', 'POST', { name: 'a', url: 'https://example.com/hook', events: ['credits.low'] }],
    ];
    for (const [path, method, body] of rows) {
      const taken = await server.rest(method, path, { key, body: { ...body, nothing: null } });
      expect([path, taken.status]).toEqual([path, 200]);
      const refused = await server.rest(method, path, { key, body: { ...body, nothing: 1 } });
      expect([path, refused.status, refused.body]).toMatchObject([
        path,
        400,
        { error: 'Unknown parameter: nothing', param: 'nothing' },
      ]);
    }
    const run = await server.events('POST', `/agents/${id}/run`, {
      key,
      body: {
        input: 'Hi',
        nothing: null,
        conversation_history: [{ role: 'user', content: 'x', name: null }],
      },
    });
    expect(run.status).toBe(200);
    for await (const event of run.events) void event;
  });
});

it('images and edits count the tokens of the convention beside their own units', async () => {
  const none = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
  const made = await server.rest<{ data: { url: string }[]; usage: object }>('POST', '/images/generations', {
    key,
    body: { prompt: 'a red square', size: '512x512' },
  });
  expect(made.body.usage).toMatchObject({ generations_used: 1, ...none });
  const edit = { image: made.body.data[0]?.url, operation: 'colorization' };
  const edited = await server.rest<{ usage: object }>('POST', '/images/edits', { key, body: edit });
  expect(edited.body.usage).toMatchObject({ quota_multiplier: expect.any(Number) as number, ...none });
  const { data } = await server.graphql<{ generateImage: { usage: object } }>(
    `mutation { generateImage(input: { prompt: "a" }) { usage { inputTokens outputTokens totalTokens } } }`,
    { key },
  );
  expect(data?.generateImage.usage).toEqual({ inputTokens: 0, outputTokens: 0, totalTokens: 0 });
});

describe('an address with a slash too many', () => {
  /** Of an organisation without work under way: its quota stands still between two looks. */
  let key: string;
  beforeAll(async () => {
    ({ key } = await server.createOrg());
  });

  it.each([
    '/api/v1/quota/',
    '/api/v1//quota',
    '/api/v1//quota//',
    '//api/v1/quota',
    '//api//v1/quota?x=1',
    '/api//v1//quota/',
    '/api/v1/models/sandbox//chat-basic/',
    '/api/v1/openapi.json/',
  ])('finds its path: %s', async (path) => {
    const answer = await fetch(server.origin + path, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual(
      await (
        await fetch(server.origin + path.replaceAll(/\/{2,}/g, '/').replace(/\/(\?|$)/, '$1'), {
          headers: { authorization: `Bearer ${key}` },
        })
      ).json(),
    );
  });

  it('is not let in without a key, and finds no more than there is', async () => {
    expect((await fetch(`${server.origin}//api//v1//quota/`)).status).toBe(401);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${server.origin}//api/v1/nowhere/`, { headers })).status).toBe(404);
    expect((await fetch(`${server.origin}/api/v1x/quota`, { headers })).status).toBe(404);
  });
});

describe('connection_init', () => {
  it.each<[string, (authorization: string) => object]>([
    ['names in any case', (authorization) => ({ Authorization: authorization, 'X-Client-Name': 'desk' })],
    [
      'headers within',
      (authorization) => ({ headers: { Authorization: authorization, 'x-client-name': 'desk' } }),
    ],
    [
      'Headers in any case',
      (authorization) => ({ Headers: { AUTHORIZATION: authorization, 'X-CLIENT-NAME': 'desk' } }),
    ],
    [
      'both, the nearer first',
      (authorization) => ({
        authorization,
        headers: { authorization: 'Bearer nobody', 'x-client-name': 'desk' },
      }),
    ],
  ])('counts %s', async (_, payload) => {
    const org = await server.createOrg();
    const ws = await openRawWebSocket(server.wsUrl);
    ws.send({ type: 'connection_init', payload: payload(`Bearer ${org.key}`) });
    await ws.next('connection_ack');
    const query = `mutation { createChatCompletion(input: { messages: [{ role: user, content: "Hi" }], maxTokens: 3 }) { id } }`;
    ws.send({ id: '1', type: 'subscribe', payload: { query } });
    await ws.next('complete');
    const { data } = await server.graphql<{ usageRecords: { nodes: { client: { clientName: string } }[] } }>(
      '{ usageRecords(first: 1) { nodes { client { clientName } } } }',
      { key: org.key },
    );
    expect(data?.usageRecords.nodes[0]?.client.clientName).toBe('desk');
    ws.socket.close();
  });
});
