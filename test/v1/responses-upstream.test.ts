import type OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  chunk,
  completion,
  DONE_EVENT,
  event,
  usageChunk,
  type FakeUpstream,
} from '../support/fake-upstream.js';
import { nativeEvents, nativeResponse } from './native-responses.js';
import { credits, eventsOf, startResponses, type ResponsesSetup } from './responses-setup.js';

let setup: ResponsesSetup;
let upstream: FakeUpstream;
let client: OpenAI;

beforeAll(async () => {
  setup = await startResponses();
  ({ upstream, client } = setup);
});
afterAll(() => setup?.close());
beforeEach(() => {
  upstream.requests.length = 0;
  setup.search.requests.length = 0;
});

const sent = () => upstream.requests.at(-1)!;

describe('an upstream that speaks the dialect', () => {
  it.each(['nat/chat', 'oai/chat'])('gets the request as it came, ours aside: %s', async (model) => {
    upstream.queue({ body: nativeResponse('Hi', { fingerprint: 'kept' }) });
    const answer = await client.responses.create({
      model,
      input: [
        { type: 'message', role: 'user', content: 'Hello', id: 'msg_mine' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'maker' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}', id: 'fc_1' },
        { type: 'function_call_output', call_id: 'c1', output: 'done' },
      ],
      instructions: 'Be brief.',
      tools: [
        { type: 'function', name: 'f', parameters: {}, strict: false },
        { type: 'local_shell' },
        { type: 'file_search', vector_store_ids: ['v'] },
      ],
      max_output_tokens: 50,
      reasoning: { effort: 'low' },
      future_field: { kept: true },
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    const { path, body, headers } = sent();
    expect(path).toBe('/v1/responses');
    expect(headers.authorization).toBe('Bearer k');
    expect(body).toEqual({
      model: model === 'nat/chat' ? 'n' : 'g',
      input: [
        { type: 'message', role: 'user', content: 'Hello' },
        { type: 'reasoning', summary: [], encrypted_content: 'maker' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: 'c1', output: 'done' },
      ],
      instructions: 'Be brief.',
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: false }, { type: 'local_shell' }],
      max_output_tokens: 50,
      reasoning: { effort: 'low' },
      future_field: { kept: true },
      include: ['reasoning.encrypted_content'],
      store: false,
      stream: false,
    });
    expect(answer).toMatchObject({
      model,
      store: true,
      output_text: 'Hi',
      fingerprint: 'kept',
      credits_used: 1,
      metadata: { penstock_tools_left_out: 'file_search' },
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    });
    expect(answer.id).toMatch(/^resp_[0-9a-z]{26}$/);
    expect(answer.output[0]!.id).toMatch(/^msg_[0-9a-z]{26}$/);
  });

  it('is asked once more without what only we wanted', async () => {
    const refusal = {
      error: { message: 'Encrypted content is not supported with this model.', param: 'include' },
    };
    upstream.queue({ status: 400, body: refusal }, { body: nativeResponse('Hi') });
    const asked = { model: 'open/chat', input: 'Hello' };
    expect((await client.responses.create(asked)).output_text).toBe('Hi');
    expect(upstream.requests.map(({ body }) => body['include'])).toEqual([
      ['reasoning.encrypted_content'],
      undefined,
    ]);
  });

  it('streams through with our ids and numbers, what nobody knows included', async () => {
    upstream.queue({
      chunks: nativeEvents(['Hel', 'lo', '!'], { extra: { type: 'response.odd', sequence_number: 9, a: 1 } }),
    });
    const events = await eventsOf(client.responses.create({ model: 'nat/chat', input: 'x', stream: true }));
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    expect(events.map(({ type }) => type as string)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.odd',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const last = events.at(-1) as { response: OpenAI.Responses.Response };
    const first = events[0] as { response: OpenAI.Responses.Response };
    expect(last.response).toMatchObject({ id: first.response.id, status: 'completed', credits_used: 1 });
    const id = last.response.output[0]!.id;
    for (const one of events) if ('item_id' in one) expect(one.item_id).toBe(id);
    expect(await client.responses.retrieve(first.response.id)).toMatchObject({ output_text: 'Hello!' });
  });

  it.each([
    ['there is none', ''],
    ['it is null', '"sequence_number":null,'],
  ])('has its events numbered where %s', async (_, number) => {
    const unnumbered = nativeEvents(['One ', 'two ', '"three" ', 'four']).map((text) =>
      text.replace(/"sequence_number":\d+,/, number),
    );
    upstream.queue({ chunks: unnumbered });
    const events = await eventsOf(client.responses.create({ model: 'nat/chat', input: 'x', stream: true }));
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas.map((one) => (one as { delta: string }).delta)).toEqual([
      'One ',
      'two ',
      '"three" ',
      'four',
    ]);
    const last = events.at(-1) as { response: OpenAI.Responses.Response };
    const id = last.response.output[0]!.id;
    for (const one of events) if ('item_id' in one) expect(one.item_id).toBe(id);
  });

  it('gets the earlier turns as items, with what they carried', async () => {
    const thought = { type: 'reasoning', id: 'rs_up', summary: [], encrypted_content: 'maker-secret' };
    const said = nativeResponse('Hi');
    said.output.unshift(thought as never);
    upstream.queue({ body: said }, { body: nativeResponse('Again') });
    const first = await client.responses.create({ model: 'nat/chat', input: 'Hello' });
    await client.responses.create({ model: 'nat/chat', input: 'And?', previous_response_id: first.id });
    expect(sent().body['previous_response_id']).toBeUndefined();
    expect(sent().body['input']).toMatchObject([
      { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      { type: 'reasoning', summary: [], encrypted_content: 'maker-secret' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'And?' }] },
    ]);
    for (const item of sent().body['input'] as object[]) expect(item).not.toHaveProperty('id');
  });

  it('gets the costly tools and file ids that its operator allows', async () => {
    upstream.queue({ body: nativeResponse('Hi') });
    const tools = [
      { type: 'file_search', vector_store_ids: ['v'] },
      { type: 'web_search' },
    ] as OpenAI.Responses.Tool[];
    const content = [{ type: 'input_file' as const, file_id: 'file-1' }];
    const answer = await client.responses.create({
      model: 'open/chat',
      input: [{ role: 'user', content }],
      tools,
    });
    expect(sent().body).toMatchObject({ tools, input: [{ content }] });
    expect(answer.metadata).toEqual({});
    const refused = client.responses.create({ model: 'nat/chat', input: [{ role: 'user', content }] });
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'file_id' });
  });

  it('is followed by a fallback that does not speak it', async () => {
    upstream.queue({ status: 500, body: {} }, { body: completion('From chat') });
    const answer = await client.responses.create({ model: 'nat/chat', input: 'Hello' });
    expect(answer).toMatchObject({ model: 'acme/chat', output_text: 'From chat' });
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/chat/completions']);
    upstream.queue(
      {
        chunks: [event({ type: 'response.created', response: {} }), event({ type: 'error', message: 'no' })],
      },
      {
        chunks: [
          chunk({ content: 'Hi' }),
          chunk({}, { finish_reason: 'stop' }),
          usageChunk(3, 1),
          DONE_EVENT,
        ],
      },
    );
    const streamed = client.responses.stream({ model: 'nat/chat', input: 'Hello' });
    expect(await streamed.finalResponse()).toMatchObject({ model: 'acme/chat', output_text: 'Hi' });
  });

  it('is aborted with its caller, who pays for the prompt and what was delivered', async () => {
    const before = (await setup.ledger()).length;
    const [opening, ...rest] = nativeEvents(['one two three '.repeat(100), 'never']);
    upstream.queue({ chunks: [opening!, ...rest.slice(0, 4)], then: 'hang' });
    const stream = await client.responses.create({ model: 'nat/chat', input: 'Hello', stream: true });
    for await (const one of stream) if (one.type === 'response.output_text.delta') break;
    stream.controller.abort();
    await sent().hungUp;
    await expect.poll(async () => (await setup.ledger())[0]?.state).toBe('settled');
    const rows = await setup.ledger();
    expect(rows.length).toBe(before + 1);
    expect(credits(rows[0])).toBe(1);
  });

  const unfinished = (['failed', 'cancelled', 'canceled', 'expired'] as const).flatMap((status) => [
    { status, error: { code: 'server_error', message: 'Broken.' } },
    { status, error: null },
  ]);
  it.each(unfinished)('that says as its whole answer that it did not finish has failed: %j', async (end) => {
    const before = (await setup.ledger()).length;
    upstream.queue({ body: { ...nativeResponse(''), output: [], usage: null, ...end } });
    await expect(client.responses.create({ model: 'nat/chat', input: 'x' })).rejects.toMatchObject({
      status: 500,
    });
    const rows = await setup.ledger();
    expect(rows.slice(0, rows.length - before).map(({ state }) => state)).toEqual(['released']);
  });

  it.each(
    unfinished.flatMap((end) =>
      ['response.completed', `response.${end.status}`, 'response.done'].map((type) => ({ type, end })),
    ),
  )('that says at the end of its stream that it did not finish has failed: %j', async ({ type, end }) => {
    const response = { ...nativeResponse(''), output: [], usage: null, ...end };
    upstream.queue({ chunks: [...nativeEvents(['Hel', 'lo']).slice(0, 5), event({ type, response })] });
    const events = await eventsOf(client.responses.create({ model: 'nat/chat', input: 'x', stream: true }));
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
  });

  it('that breaks off in its answer ends the stream with response.failed', async () => {
    const [...pieces] = nativeEvents(['Hel', 'lo']);
    upstream.queue({ chunks: pieces.slice(0, 5), then: 'reset' });
    const events = await eventsOf(client.responses.create({ model: 'nat/chat', input: 'x', stream: true }));
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', sequence_number: events.length - 1 });
  });
});

describe('an upstream that speaks chat', () => {
  it('gets what its turns carried back, verbatim, whoever kept it meanwhile', async () => {
    const carried = {
      reasoning_content: 'I think.',
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'abc', index: 0 }],
    };
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'f', arguments: '{}' },
      extra_content: { google: { thought_signature: 's' } },
    };
    const tools = [{ type: 'function' as const, name: 'f', parameters: {}, strict: false }];
    const message = { role: 'assistant', content: null, ...carried, tool_calls: [call] };
    for (const streams of [false, true]) {
      upstream.queue(
        streams
          ? {
              chunks: [
                chunk({ role: 'assistant', ...carried }),
                chunk({ tool_calls: [{ ...call, index: 0 }] }),
                chunk({}, { finish_reason: 'tool_calls' }),
                DONE_EVENT,
              ],
            }
          : { body: completion('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }) },
      );
      const asked = { model: 'acme/chat', input: 'Go', tools };
      const first = streams
        ? await client.responses.stream(asked).finalResponse()
        : await client.responses.create(asked);
      expect(first.output.map(({ type }) => type)).toContain('function_call');
      const summary = first.output.find((item) => item.type === 'reasoning');
      expect(summary).toMatchObject({ summary: [{ type: 'summary_text', text: 'I think.' }] });
      const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'ok' };
      const again = { ...message, reasoning_details: carried.reasoning_details };
      const output = first.output as OpenAI.Responses.ResponseInputItem[];
      await client.responses.create({
        ...asked,
        input: [{ role: 'user', content: 'Go' }, ...output, result],
      });
      expect((sent().body['messages'] as object[])[1]).toEqual(again);
      await client.responses.create({ model: 'acme/chat', input: [result], previous_response_id: first.id });
      expect((sent().body['messages'] as object[])[1]).toEqual(again);
    }
  });

  it('is not told of the seals of others', async () => {
    const sealed = ['gAAAAA-maker', 'pst1_bm90IGEgc2VhbA'];
    await client.responses.create({
      model: 'acme/chat',
      input: [
        { role: 'user', content: 'Hello' },
        ...sealed.map((encrypted_content, at) => ({
          type: 'reasoning' as const,
          id: `rs_${at}`,
          summary: [],
          encrypted_content,
        })),
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: 'Go on' },
      ],
    });
    expect(sent().body['messages']).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
      { role: 'user', content: 'Go on' },
    ]);
  });

  it('is asked in the words of chat', async () => {
    await client.responses.create({
      model: 'acme/chat',
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Rules' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look' },
            { type: 'input_image', image_url: 'https://pictures.example/a.png', detail: 'low' },
          ],
        },
        { type: 'custom_tool_call', call_id: 'c1', name: 'run', input: 'ls' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'a.txt' },
      ],
      tools: [
        { type: 'function', name: 'f', description: 'F', parameters: { type: 'object' }, strict: true },
        { type: 'custom', name: 'run', description: 'Runs' },
      ],
      tool_choice: { type: 'custom', name: 'run' },
      text: {
        format: { type: 'json_schema', name: 's', schema: { type: 'object' }, strict: true },
        verbosity: 'low',
      },
      reasoning: { effort: 'high' },
      max_output_tokens: 77,
      temperature: 0.5,
      top_p: 0.9,
      parallel_tool_calls: false,
    });
    expect(sent().body).toMatchObject({
      model: 'm',
      max_tokens: 77,
      temperature: 0.5,
      top_p: 0.9,
      parallel_tool_calls: false,
      reasoning_effort: 'high',
      verbosity: 'low',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 's', schema: { type: 'object' }, strict: true },
      },
      tool_choice: { type: 'function', function: { name: 'run' } },
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: 'F', parameters: { type: 'object' }, strict: true },
        },
        { type: 'function', function: { name: 'run', description: 'Runs' } },
      ],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'system', content: 'Rules' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image_url', image_url: { url: 'https://pictures.example/a.png', detail: 'low' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'run', arguments: '{"input":"ls"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'a.txt' },
      ],
    });
  });

  it('calls custom tools with a text', async () => {
    const tools = [{ type: 'custom' as const, name: 'run' }];
    upstream.queue({
      chunks: [
        chunk({
          tool_calls: [
            { index: 0, id: 'c1', type: 'function', function: { name: 'run', arguments: '{"inp' } },
          ],
        }),
        chunk({ tool_calls: [{ index: 0, function: { arguments: 'ut":"ls -l"}' } }] }),
        chunk({}, { finish_reason: 'tool_calls' }),
        DONE_EVENT,
      ],
    });
    const answer = await client.responses.stream({ model: 'acme/chat', input: 'Go', tools }).finalResponse();
    expect(answer.output).toMatchObject([
      { type: 'custom_tool_call', call_id: 'c1', name: 'run', input: 'ls -l' },
    ]);
  });
});
