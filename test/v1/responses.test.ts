import OpenAI, { type APIError } from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type {
  ResponseFunctionToolCall,
  ResponseInputItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startPenstock, type TestServer } from '../support/server.js';
import { at } from './v1.js';

let server: TestServer;
let client: OpenAI;
let key: string;

beforeAll(async () => {
  server = await startPenstock({
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  client = clientOf(key);
});
afterAll(() => server?.close());

const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${server.origin}/v1`, maxRetries: 0 });

const model = 'sandbox/chat-basic';
const input = 'Say hello. @sandbox{"tokens":12}';

/** What a refusal says. */
async function refusal(asked: Promise<unknown>): Promise<APIError> {
  const fault = await asked.then(
    () => null,
    (error: unknown) => error,
  );
  expect(fault).toBeInstanceOf(OpenAI.APIError);
  return fault as APIError;
}

describe('a response, as the official client asks for it', () => {
  it('is the whole object with usage, charge and tier', async () => {
    const answer = await client.responses.create({ model: 'chat-basic', input, metadata: { a: 'b' } });
    expect(answer).toMatchObject({
      object: 'response',
      status: 'completed',
      model,
      error: null,
      incomplete_details: null,
      background: false,
      store: true,
      metadata: { a: 'b' },
      model_tier: 'basic',
      credits_used: 1,
      tools: [],
      tool_choice: 'auto',
      output: [{ type: 'message', role: 'assistant', status: 'completed' }],
    });
    expect(answer.id).toMatch(/^resp_[0-9a-z]{26}$/);
    expect(answer.output_text).not.toBe('');
    const usage = answer.usage!;
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
    expect(usage.output_tokens).toBe(12);
    expect(usage.output_tokens_details.reasoning_tokens).toBe(0);
  });

  it('streams the same text in typed events, numbered from 0 without a hole', async () => {
    const whole = await client.responses.create({ model, input });
    const stream = client.responses.stream({ model, input });
    const events: ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event as ResponseStreamEvent);
    const final = await stream.finalResponse();
    expect(final.output_text).toBe(whole.output_text);
    expect(final.usage).toEqual(whole.usage);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const types = events.map(({ type }) => type);
    expect(types.filter((type, at) => type !== types[at - 1])).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  it('ends incomplete at its most tokens', async () => {
    const answer = await client.responses.create({ model, input, max_output_tokens: 5 });
    expect(answer).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
    const events = await client.responses.create({ model, input, max_output_tokens: 5, stream: true });
    let last: ResponseStreamEvent | undefined;
    for await (const event of events) last = event;
    expect(last?.type).toBe('response.incomplete');
  });

  it('fits a schema where it is asked to', async () => {
    const Person = z.object({ name: z.string(), age: z.number().int() });
    const answer = await client.responses.parse({
      model,
      input: 'Who is it?',
      text: { format: zodTextFormat(Person, 'person') },
    });
    expect(Person.safeParse(answer.output_parsed).success).toBe(true);
  });

  it('reads the words of files, and tells alternatives to its tokens where it is asked for them', async () => {
    const file = { filename: 'a.txt', file_data: Buffer.from('word '.repeat(200)).toString('base64') };
    const asked = (content: OpenAI.Responses.ResponseInputMessageContentList) =>
      client.responses.create({
        model,
        input: [{ role: 'user', content }],
        include: ['message.output_text.logprobs'],
        top_logprobs: 2,
        max_output_tokens: 5,
      });
    const text = { type: 'input_text' as const, text: input };
    const bare = await asked([text]);
    const filed = await asked([{ type: 'input_file', ...file }, text]);
    expect(filed.usage!.input_tokens).toBeGreaterThan(bare.usage!.input_tokens + 150);
    const [message] = bare.output;
    const [part] = message?.type === 'message' ? message.content : [];
    const logprobs = part?.type === 'output_text' ? part.logprobs : [];
    expect(logprobs).toHaveLength(5);
    expect(logprobs?.[0]?.top_logprobs).toHaveLength(2);
  });

  it('loops over tools to its end, streamed and not', async () => {
    const tools: OpenAI.Responses.FunctionTool[] = [
      {
        type: 'function',
        name: 'weather',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        strict: false,
      },
    ];
    const ask = 'What is the weather? @sandbox{"tool_call":{"name":"weather","arguments":{"city":"Rome"}}}';
    const items: ResponseInputItem[] = [{ role: 'user', content: ask }];
    for (const stream of [false, true]) {
      const asked = { model, tools, tool_choice: 'required' as const, input: items, store: false };
      const first = stream
        ? await client.responses.stream(asked).finalResponse()
        : await client.responses.create(asked);
      const call = first.output.find((item) => item.type === 'function_call') as ResponseFunctionToolCall;
      expect(call).toMatchObject({ name: 'weather', status: 'completed' });
      expect(JSON.parse(call.arguments)).toBeTypeOf('object');
      const second = await client.responses.create({
        model,
        tools,
        store: false,
        input: [
          ...items,
          ...(first.output as ResponseInputItem[]),
          { type: 'function_call_output', call_id: call.call_id, output: 'Sunny' },
        ],
      });
      expect(second.status).toBe('completed');
      expect(second.output_text).not.toBe('');
    }
  });

  it('is a GraphQL mutation too', async () => {
    const { data } = await server.graphql<{
      createResponse: { id: string; status: string; outputText: string };
    }>(
      `mutation ($input: ModelResponseInput!) { createResponse(input: $input) { id status outputText usage { creditsUsed } } }`,
      { key, variables: { input: { model, input } } },
    );
    expect(data?.createResponse).toMatchObject({ status: 'completed', usage: { creditsUsed: 1 } });
    const stored = await client.responses.retrieve(data!.createResponse.id);
    expect(stored.output.length).toBe(1);
  });
});

describe('a stored response', () => {
  it('can be read, listed by its input items, cancelled without effect, and deleted', async () => {
    const made = await client.responses.create({
      model,
      input: [
        { role: 'user', content: 'One' },
        { role: 'assistant', content: 'Two' },
        { role: 'user', content: input },
      ],
    });
    const { output_text: _, _request_id: __, ...object } = made as typeof made & { _request_id?: string };
    expect(await client.responses.retrieve(made.id)).toMatchObject(object);
    expect(await client.responses.cancel(made.id)).toMatchObject(object);
    const items = await client.responses.inputItems.list(made.id, { limit: 2, order: 'asc' });
    expect(items.data.map((item) => (item as { role?: string }).role)).toEqual(['user', 'assistant']);
    expect(items.has_more).toBe(true);
    const all: unknown[] = [];
    for await (const item of client.responses.inputItems.list(made.id, { limit: 1 })) all.push(item);
    expect(all).toHaveLength(3);
    expect(all[0]).toMatchObject({ content: [{ type: 'input_text', text: input }] });
    await client.responses.delete(made.id);
    expect((await refusal(client.responses.retrieve(made.id))).status).toBe(404);
    expect((await refusal(client.responses.delete(made.id))).status).toBe(404);
  });

  it('is what a next one goes on from, and holds items that can be referred to', async () => {
    const first = await client.responses.create({ model, input: 'My name is Ada.' });
    const second = await client.responses.create({ model, input: 'Hello', previous_response_id: first.id });
    expect(second.previous_response_id).toBe(first.id);
    expect(second.usage!.input_tokens).toBeGreaterThan(
      first.usage!.input_tokens + first.usage!.output_tokens,
    );
    const third = await client.responses.create({ model, input: 'Again', previous_response_id: second.id });
    expect(third.usage!.input_tokens).toBeGreaterThan(second.usage!.input_tokens);
    const referring = await client.responses.create({
      model,
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'item_reference', id: first.output[0]!.id! },
        { role: 'user', content: 'Go on' },
      ],
    });
    expect(referring.usage!.input_tokens).toBeGreaterThan(first.usage!.output_tokens);
    await client.responses.delete(first.id);
    const gone = await refusal(
      client.responses.create({ model, input: 'And now?', previous_response_id: third.id }),
    );
    expect(gone).toMatchObject({
      status: 400,
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    });
    expect(gone.message).toContain(first.id);
  });

  it('is kept from nobody but its organisation, and not at all where nobody wants it', async () => {
    const made = await client.responses.create({ model, input });
    const other = clientOf((await server.createOrg({ plan: 'business_monthly' })).key);
    for (const asked of [
      () => other.responses.retrieve(made.id),
      () => other.responses.delete(made.id),
      () => other.responses.cancel(made.id),
      () => other.responses.inputItems.list(made.id),
    ])
      expect((await refusal(asked())).status).toBe(404);
    const chained = await refusal(other.responses.create({ model, input, previous_response_id: made.id }));
    expect(chained).toMatchObject({ status: 400, param: 'previous_response_id' });
    const item = made.output[0]!.id!;
    const referred = await refusal(
      other.responses.create({ model, input: [{ type: 'item_reference', id: item }] }),
    );
    expect(referred).toMatchObject({ status: 400, param: 'input' });
    const unstored = await client.responses.create({ model, input, store: false });
    expect((await refusal(client.responses.retrieve(unstored.id))).status).toBe(404);
  });

  it('is read with whatever clients ask for besides, and from any of its events on', async () => {
    const made = await client.responses.create({ model, input });
    const include = ['reasoning.encrypted_content' as const];
    expect((await client.responses.retrieve(made.id, { include })).id).toBe(made.id);
    const joined = await at(server, '/v1')('GET', `/responses/${made.id}?stream=true&starting_after=1`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(joined.status).toBe(200);
    const numbers = [...String(joined.body).matchAll(/"sequence_number":(\d+)/g)].map(([, n]) => Number(n));
    expect(numbers).toEqual(numbers.map((_, nth) => nth + 2));
    expect(String(joined.body)).toContain('event: response.completed');
  });

  it('counts as storage until it is deleted', async () => {
    const { key: own } = await server.createOrg({ plan: 'business_monthly' });
    const used = async (): Promise<number> => {
      const { data } = await server.graphql<{ penstockStorage: { usedBytes: number } }>(
        '{ penstockStorage { usedBytes } }',
        {
          key: own,
        },
      );
      return data!.penstockStorage.usedBytes;
    };
    expect(await used()).toBe(0);
    const made = await clientOf(own).responses.create({ model, input });
    expect(await used()).toBeGreaterThan(500);
    await clientOf(own).responses.delete(made.id);
    expect(await used()).toBe(0);
  });
});

describe('a response that cannot be', () => {
  it('is refused with the name and the place of the fault', async () => {
    const user = { role: 'user', content: 'x' } as const;
    const cases: [object, string, string][] = [
      [{}, 'input', 'input is required'],
      [{ input: 5 }, 'input', 'input must be a string or an array of items'],
      [{ input: [] }, 'input', 'input must not be empty'],
      [{ input: [user, { role: 'nobody', content: 'x' }] }, 'input', 'input[1].role must be one of'],
      [{ input: [{ type: 'magic' }] }, 'input', 'input[0].type magic is not supported'],
      [
        { input: [{ role: 'user', content: [{ type: 'input_text' }] }] },
        'input',
        'input[0].content[0].text must be a string',
      ],
      [
        { input: [user, { type: 'function_call_output', call_id: 'c', output: 'x' }] },
        'input',
        'input[1]: No tool call found for the output with call_id c',
      ],
      [
        {
          input: [
            { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,aGk=' }] },
          ],
        },
        'input',
        'input[0]',
      ],
      [{ input, background: true, store: false }, 'store', 'background needs store'],
      [{ input, conversation: 'c' }, 'conversation', 'conversation is not supported'],
      [{ input, tools: [{ type: 'function' }] }, 'tools', 'tools[0].name is required'],
      [{ input, tool_choice: { type: 'function', name: 'f' } }, 'tool_choice', 'there is no tool named f'],
      [
        { input, tools: [{ type: 'file_search' }], tool_choice: { type: 'file_search' } },
        'tool_choice',
        'file_search is not available here',
      ],
      [{ input, text: { format: { type: 'xml' } } }, 'text', 'text.format.type must be'],
      [{ input, include: ['everything'] }, 'include', 'include[0] must be one of'],
      [{ input, temperature: 3 }, 'temperature', 'temperature must be between 0 and 2'],
      [{ input, max_output_tokens: 0 }, 'max_output_tokens', 'max_output_tokens must be a whole number'],
      [{ input, metadata: { a: 1 } }, 'metadata', 'metadata must be texts'],
      [{ input, previous_response_id: 'resp_1' }, 'previous_response_id', "with id 'resp_1' not found"],
    ];
    for (const [body, param, message] of cases) {
      const asked = { model, ...body } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
      const fault = await refusal(client.responses.create(asked));
      expect([body, fault.status, fault.param, fault.type]).toEqual([
        body,
        400,
        param,
        'invalid_request_error',
      ]);
      expect(fault.message).toContain(message);
    }
    const unknown = await refusal(client.responses.create({ model: 'gpt-none', input }));
    expect(unknown).toMatchObject({ status: 400, code: 'model_not_found' });
    const joined = await at(server, '/v1')('GET', '/responses/resp_1?stream=true', {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(joined.status).toBe(404);
  });

  it('names the tools that were left out', async () => {
    const tools = [
      { type: 'file_search', vector_store_ids: ['v'] },
      { type: 'web_search' },
      { type: 'mcp', server_label: 'm' },
    ] as OpenAI.Responses.Tool[];
    const answer = await client.responses.create({ model, input, tools });
    expect(answer.metadata).toEqual({ penstock_tools_left_out: 'file_search,web_search,mcp' });
  });

  it('fails inside its stream with an event of the convention', async () => {
    const stream = await client.responses.create({
      model,
      input: 'Break. @sandbox{"tokens":20,"fail_after_tokens":3}',
      stream: true,
    });
    const events: ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    const last = events.at(-1)!;
    expect(last).toMatchObject({
      type: 'response.failed',
      sequence_number: events.length - 1,
      response: { status: 'failed', error: { code: 'server_error', message: 'Generation failed' } },
    });
    const { id } = (last as { response: { id: string } }).response;
    expect(await client.responses.retrieve(id)).toMatchObject({ status: 'failed' });
  });
});
