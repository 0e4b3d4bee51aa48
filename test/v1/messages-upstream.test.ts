import type Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { completion } from '../support/fake-upstream.js';
import { credits, PDF, PNG, startMessageWorld, TOOL, user, type MessageWorld } from './message-world.js';
import {
  callOf,
  nativeMessage,
  nativeStream,
  SIGNATURE,
  textBlock,
  textOf,
  thoughtOf,
} from './native-messages.js';
import { at } from './v1.js';

let world: MessageWorld;

beforeAll(async () => {
  world = await startMessageWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.forget());

describe('an upstream that speaks the dialect', () => {
  it.each(['nat/chat', 'ant/chat'])('gets the request as it came, ours aside: %s', async (model) => {
    world.upstream.queue({ body: nativeMessage([textBlock('Hi')], { fingerprint: 'kept' }) });
    const cache_control = { type: 'ephemeral' as const };
    const body = {
      system: [{ type: 'text', text: 'Be brief.', cache_control }],
      messages: [
        user([{ type: 'text', text: 'Hello', cache_control }]),
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: SIGNATURE },
            { type: 'redacted_thinking', data: 'opaque' },
            { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
          ],
        },
        user([
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [
              { type: 'text', text: 'no' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            ],
          },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            title: 'T',
          },
        ]),
      ],
      tools: [
        { ...TOOL, cache_control },
        { type: 'bash_20250124', name: 'bash' },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2048 },
      max_tokens: 4000,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      context_management: { edits: [] },
      future_field: { kept: true },
    };
    const { data, response } = await world.client.beta.messages
      .create({ model, betas: ['context-management-2025-06-27'], ...body } as never)
      .withResponse();
    expect(world.sent().path).toBe('/v1/messages');
    expect(world.sent().headers).toMatchObject({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'context-management-2025-06-27',
      ...(model === 'nat/chat' ? { authorization: 'Bearer k' } : { 'x-api-key': 'k' }),
    });
    expect(world.sent().body).toEqual({
      ...body,
      model: model === 'nat/chat' ? 'n' : 'claude',
      stream: false,
    });
    expect(data).toMatchObject({
      model,
      content: [{ type: 'text', text: 'Hi' }],
      fingerprint: 'kept',
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 4,
        output_tokens: 5,
        credits_used: 1,
      },
    });
    expect((data as Anthropic.Message).id).toMatch(/^msg_[0-9a-z]{26}$/);
    expect(response.headers.get('x-penstock-tools-left-out')).toBeNull();
  });

  it('has its stream passed, and its signatures come back to it verbatim', async () => {
    const blocks = [thoughtOf('Let me ', 'see'), callOf('toolu_9', 'f', '{"a"', ':1}')];
    world.upstream.queue({ chunks: nativeStream(blocks, { reason: 'tool_use' }) });
    const first = await world.stream({ model: 'nat/chat', tools: [TOOL] }).finalMessage();
    expect(first).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Let me see', signature: SIGNATURE },
        { type: 'tool_use', id: 'toolu_9', name: 'f', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 5 },
    });
    world.upstream.queue({ body: nativeMessage([textBlock('Done')]) });
    const result = user([{ type: 'tool_result', tool_use_id: 'toolu_9', content: 'ok' }]);
    await world.ask({
      model: 'nat/chat',
      tools: [TOOL],
      messages: [user(), { role: 'assistant', content: first.content }, result],
    });
    const [, assistant] = world.sent().body['messages'] as { content: object[] }[];
    expect(assistant!.content).toEqual(first.content);
  });

  it('has deltas passed byte by byte', async () => {
    const events = nativeStream([textOf('a', 'b', 'c')]);
    world.upstream.queue({ chunks: events });
    const { body } = await at(world.server, '/v1')('POST', '/messages', {
      headers: { 'x-api-key': world.org.key },
      body: { model: 'nat/chat', messages: [user()], stream: true },
    });
    for (const delta of events.filter((one) => one.includes('delta"'))) {
      if (!delta.includes('message_delta')) expect(body).toContain(delta);
    }
  });

  it('is charged for by what it reports, caches included', async () => {
    const before = (await world.ledger()).length;
    const usage = {
      input_tokens: 1000,
      cache_creation_input_tokens: 1000,
      cache_read_input_tokens: 1000,
      output_tokens: 500,
    };
    world.upstream.queue({ body: nativeMessage([textBlock('Hi')], { usage }) });
    const answer = await world.ask({ model: 'nat/chat' });
    expect(answer.usage).toMatchObject({ ...usage, credits_used: 4 });
    const rows = await world.ledger();
    expect(rows).toHaveLength(before + 1);
    expect([rows[0]!.operation, credits(rows[0])]).toEqual(['chat', 4]);
  });

  it('is aborted with its reader, who pays for what was delivered', async () => {
    const before = (await world.ledger()).length;
    world.upstream.queue({ chunks: nativeStream([textOf('one ', 'two ')]).slice(0, 5), then: 'hang' });
    const reading = world.stream({ model: 'nat/chat' });
    reading.on('text', (_, snapshot) => {
      if (snapshot.length > 5) reading.abort();
    });
    await expect(reading.finalMessage()).rejects.toThrow();
    await world.sent().hungUp;
    await expect.poll(async () => (await world.ledger())[0]?.state).toBe('settled');
    expect((await world.ledger()).length).toBe(before + 1);
    expect(credits((await world.ledger())[0])).toBe(1);
  });

  it('that fails before its answer is replaced by a fallback that speaks chat', async () => {
    world.upstream.queue({ status: 500, body: {} }, { body: completion('From the other') });
    const answer = await world.ask({ model: 'nat/chat', messages: [user()] });
    expect(answer).toMatchObject({ model: 'acme/chat', content: [{ type: 'text', text: 'From the other' }] });
  });

  it('gets tools that cost money there only where its entry allows them', async () => {
    const tools = [
      TOOL,
      { type: 'web_fetch_20250910', name: 'web_fetch' },
      { type: 'code_execution_20250825', name: 'code_execution' },
    ];
    const mcp_servers = [{ type: 'url', url: 'https://mcp.example', name: 'm' }];
    world.upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
    const shut = await at(world.server, '/v1')('POST', '/messages', {
      headers: { 'x-api-key': world.org.key },
      body: { model: 'nat/chat', messages: [user()], tools, mcp_servers, container: 'c' },
    });
    expect(shut.headers['x-penstock-tools-left-out']).toBe(
      'web_fetch_20250910,code_execution_20250825,mcp_servers',
    );
    expect(world.sent().body).toMatchObject({ tools: [TOOL] });
    expect(world.sent().body).not.toHaveProperty('mcp_servers');
    expect(world.sent().body).not.toHaveProperty('container');
    world.upstream.queue({ body: nativeMessage([textBlock('Hi')]) });
    const file = { type: 'document', source: { type: 'file', file_id: 'file_1' } };
    await world.ask({
      model: 'open/chat',
      tools: [{ type: 'web_search_20250305', name: 'web_search' }, tools[2]],
      mcp_servers,
      container: 'c',
      messages: [user([file, { type: 'text', text: 'x' }])],
    });
    expect(world.sent().body).toMatchObject({
      tools: [{ type: 'web_search_20250305' }, { type: 'code_execution_20250825' }],
      mcp_servers,
      container: 'c',
      messages: [{ content: [file, {}] }],
    });
  });
});

describe('a call with an Idempotency-Key', () => {
  it.each([false, true])(
    'is made and charged once, and answered again as it was (stream: %s)',
    async (isStream) => {
      const before = (await world.ledger()).length;
      world.upstream.queue(
        isStream ? { chunks: nativeStream([textOf('Hi')]) } : { body: nativeMessage([textBlock('Hi')]) },
      );
      const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch' }];
      const post = () =>
        at(world.server, '/v1')('POST', '/messages', {
          headers: { 'x-api-key': world.org.key, 'idempotency-key': `native-${isStream}` },
          body: { model: 'nat/chat', messages: [user()], tools, stream: isStream },
        });
      const first = await post();
      const again = await post();
      expect(again.body).toEqual(first.body);
      expect(again.headers['x-penstock-tools-left-out']).toBe('web_fetch_20250910');
      expect(first.headers['x-penstock-tools-left-out']).toBe('web_fetch_20250910');
      expect(world.upstream.requests).toHaveLength(1);
      expect((await world.ledger()).length).toBe(before + 1);
    },
  );
});
