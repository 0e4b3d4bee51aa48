import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chunk, completion, DONE_EVENT, usageChunk } from '../support/fake-upstream.js';
import { PDF, PNG, startMessageWorld, TOOL, user, type MessageWorld, type Create } from './message-world.js';
import { nativeMessage, SIGNATURE, textBlock } from './native-messages.js';

let world: MessageWorld;

beforeAll(async () => {
  world = await startMessageWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.forget());

describe('an upstream that speaks chat', () => {
  it('gets the request as a chat', async () => {
    world.upstream.queue({ body: completion('Hi') });
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
    await world.ask({
      model: 'acme/chat',
      system: [
        { type: 'text', text: 'One' },
        { type: 'text', text: 'Two' },
      ],
      messages: [
        user('First'),
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: SIGNATURE },
            { type: 'text', text: 'Calling' },
            { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
            { type: 'tool_use', id: 'c2', name: 'f', input: {} },
          ],
        },
        user([
          { type: 'tool_result', tool_use_id: 'c1', content: 'one' },
          { type: 'tool_result', tool_use_id: 'c2', content: [{ type: 'text', text: 'two' }, image] },
          { type: 'text', text: 'Go on' },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            title: 'T',
          },
        ]),
        { role: 'system', content: 'Late word' },
      ],
      tools: [TOOL],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2048 },
      max_tokens: 3000,
      stop_sequences: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      top_k: 5,
      metadata: { user_id: 'u' },
      output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    });
    expect(world.sent().path).toBe('/v1/chat/completions');
    expect(world.sent().body).toMatchObject({
      model: 'm',
      messages: [
        { role: 'system', content: 'One\n\nTwo' },
        { role: 'user', content: 'First' },
        {
          role: 'assistant',
          content: 'Calling',
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
            { id: 'c2', type: 'function', function: { name: 'f', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'one' },
        { role: 'tool', tool_call_id: 'c2', content: 'two' },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
            { type: 'text', text: 'Go on' },
            { type: 'text', text: 'T' },
            { type: 'file', file: { filename: 'T.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
          ],
        },
        { role: 'system', content: 'Late word' },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'F' } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      reasoning_effort: 'low',
      max_tokens: 3000,
      stop: ['END'],
      temperature: 0.5,
      top_p: 0.9,
      response_format: { type: 'json_schema' },
    });
    for (const name of ['metadata', 'user', 'top_k', 'thinking', 'system'])
      expect(world.sent().body).not.toHaveProperty(name);
  });

  it('that knows no effort is asked without it', async () => {
    world.upstream.queue(
      {
        status: 400,
        body: { error: { message: "Unknown parameter: 'reasoning_effort'.", param: 'reasoning_effort' } },
      },
      { body: completion('Hi') },
    );
    const answer = await world.ask({ model: 'acme/chat', output_config: { effort: 'high' } });
    expect(answer.content).toMatchObject([{ text: 'Hi' }]);
    expect(world.sent().body).not.toHaveProperty('reasoning_effort');
  });

  it.each<[object, object]>([
    [{ finish_reason: 'length' }, { stop_reason: 'max_tokens' }],
    [{ finish_reason: 'content_filter' }, { stop_reason: 'refusal' }],
    [
      { finish_reason: 'stop', stop_reason: 'END' },
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    ],
    [{ finish_reason: 'stop' }, { stop_reason: 'end_turn', stop_sequence: null }],
  ])('ends as the convention says: %o', async (choice, expected) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'x' }, ...choice }];
    world.upstream.queue({ body: completion('', { choices }) });
    expect(await world.ask({ model: 'acme/chat', stop_sequences: ['END'] })).toMatchObject(expected);
    world.upstream.queue({
      chunks: [
        chunk({ content: 'x' }),
        chunk({}, { ...choice, choices: [{ index: 0, delta: {}, ...choice }] }),
        DONE_EVENT,
      ],
    });
    const streamed = await world.stream({ model: 'acme/chat', stop_sequences: ['END'] }).finalMessage();
    expect(streamed).toMatchObject(expected);
  });

  it.each([false, true])(
    'gets back what its turn carried, which travels sealed (stream: %s)',
    async (isStream) => {
      const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
      const carried = {
        reasoning_content: 'I think',
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'opaque', index: 0 }],
      };
      const extra = { extra_content: { google: { thought_signature: 'sig' } } };
      if (isStream)
        world.upstream.queue({
          chunks: [
            chunk({ reasoning_content: 'I ', reasoning_details: carried.reasoning_details }),
            chunk({ reasoning_content: 'think' }),
            chunk({ content: 'Well' }),
            chunk({ tool_calls: [{ index: 0, ...call, ...extra }] }),
            chunk({}, { finish_reason: 'tool_calls' }),
            usageChunk(10, 5),
            DONE_EVENT,
          ],
        });
      else
        world.upstream.queue({
          body: completion('', {
            choices: [
              {
                index: 0,
                message: {
                  role: 'assistant',
                  content: 'Well',
                  ...carried,
                  tool_calls: [{ ...call, ...extra }],
                },
                finish_reason: 'tool_calls',
              },
            ],
          }),
        });
      const asked = { model: 'acme/chat', tools: [TOOL] };
      const first = isStream ? await world.stream(asked).finalMessage() : await world.ask(asked);
      expect(first.content[0]).toMatchObject({ type: 'thinking', thinking: 'I think' });
      expect(JSON.stringify(first)).not.toContain('opaque');
      const messages = [
        user(),
        { role: 'assistant', content: first.content },
        user([{ type: 'tool_result', tool_use_id: 'c1', content: 'ok' }]),
      ];
      await world.ask({ ...asked, messages });
      const [, assistant] = world.sent().body['messages'] as object[];
      expect(assistant).toMatchObject({
        role: 'assistant',
        content: 'Well',
        ...carried,
        tool_calls: [{ ...call, ...extra }],
      });
      // Another organisation's client cannot use it, and no maker is sent it.
      const stranger = await world.server.createOrg({ plan: 'business_monthly' });
      await new Anthropic({ apiKey: stranger.key, baseURL: world.server.origin }).messages.create({
        ...asked,
        max_tokens: 50,
        messages,
      } as Create);
      expect(JSON.stringify(world.sent().body)).not.toContain('opaque');
      world.upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
      await world.ask({ ...asked, model: 'nat/chat', messages });
      expect(JSON.stringify(world.sent().body)).not.toMatch(/pst1_|opaque/);
    },
  );
});

describe('a budget to think with', () => {
  it('is a 402 where what is left covers no more than it', async () => {
    const poor = await world.server.createOrg({ plan: 'pro_monthly' });
    await world.server.cli('quota', 'set', '--org', poor.orgId, '--bucket', 'credits', '--used', '197');
    const own = new Anthropic({ apiKey: poor.key, baseURL: world.server.origin, maxRetries: 0 });
    const body = {
      messages: [user()],
      thinking: { type: 'enabled' as const, budget_tokens: 5000 },
      max_tokens: 8000,
    };
    for (const model of ['nat/chat', 'acme/chat'])
      await expect(own.messages.create({ ...body, model })).rejects.toMatchObject({
        status: 402,
        error: { error: { type: 'billing_error' } },
      });
    expect(world.upstream.requests).toHaveLength(0);
    world.upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
    const less = { ...body, thinking: { type: 'enabled' as const, budget_tokens: 1024 } };
    await own.messages.create({ ...less, model: 'nat/chat' });
    expect(world.sent().body['max_tokens']).toBeLessThan(8000);
  });
});
