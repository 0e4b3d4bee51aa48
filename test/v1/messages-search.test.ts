import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chunk, completion, DONE_EVENT, usageChunk } from '../support/fake-upstream.js';
import { credits, startMessageWorld, user, type MessageWorld } from './message-world.js';
import {
  callOf,
  nativeMessage,
  nativeStream,
  SIGNATURE,
  textBlock,
  textOf,
  thoughtOf,
} from './native-messages.js';

let world: MessageWorld;

beforeAll(async () => {
  world = await startMessageWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.forget());

describe('a web search', () => {
  const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }];
  const call = {
    id: 'call_s',
    type: 'function',
    function: { name: 'web_search', arguments: '{"query":"tide"}' },
  };
  const found = [
    { type: 'server_tool_use', name: 'web_search', input: { query: 'tide' } },
    { type: 'web_search_tool_result', content: [{ title: 'Tide', url: 'https://tide.example/' }] },
    { type: 'text', text: 'At noon.' },
  ];

  it.each([false, true])(
    'is a round inside the same answer of a chat, priced once (stream: %s)',
    async (isStream) => {
      const before = (await world.ledger()).length;
      if (isStream)
        world.upstream.queue(
          {
            chunks: [
              chunk({ tool_calls: [{ ...call, index: 0 }] }),
              chunk({}, { finish_reason: 'tool_calls' }),
              usageChunk(1000, 10),
              DONE_EVENT,
            ],
          },
          {
            chunks: [
              chunk({ content: 'At noon.' }),
              chunk({}, { finish_reason: 'stop' }),
              usageChunk(2000, 90),
              DONE_EVENT,
            ],
          },
        );
      else {
        const message = { role: 'assistant', content: null, tool_calls: [call] };
        const usage = (prompt_tokens: number, completion_tokens: number) => ({
          prompt_tokens,
          completion_tokens,
        });
        world.upstream.queue(
          {
            body: completion('', {
              choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
              usage: usage(1000, 10),
            }),
          },
          { body: completion('At noon.', { usage: usage(2000, 90) }) },
        );
      }
      const asked = { model: 'acme/chat', tools, tool_choice: { type: 'tool', name: 'web_search' } };
      const answer = isStream ? await world.stream(asked).finalMessage() : await world.ask(asked);
      expect(answer).toMatchObject({
        content: found,
        stop_reason: 'end_turn',
        usage: { input_tokens: 3000, output_tokens: 100, server_tool_use: { web_search_requests: 1 } },
      });
      expect(world.upstream.requests[0]!.body['tool_choice']).toMatchObject({
        function: { name: 'web_search' },
      });
      expect(world.sent().body['tool_choice']).toBe('auto');
      const told = (world.sent().body['messages'] as { role: string; content: string }[]).at(-1)!;
      expect(told).toMatchObject({ role: 'tool', content: expect.stringContaining('High at noon.') });
      const rows = (await world.ledger()).slice(0, (await world.ledger()).length - before);
      const charged = rows.filter(({ state }) => state === 'settled');
      expect(charged.map((row) => [row.operation, credits(row)]).sort()).toEqual([
        ['agent_tool', 5],
        ['chat', 4],
      ]);
      // The next turn goes on without what only our search knows.
      await world.ask({
        ...asked,
        messages: [user(), { role: 'assistant', content: answer.content }, user('And tomorrow?')],
      });
      expect(world.sent().body['messages']).toMatchObject([
        {},
        { role: 'assistant', content: 'At noon.' },
        {},
      ]);
    },
  );

  it.each([false, true])('is one at an upstream of the dialect too (stream: %s)', async (isStream) => {
    const asks = { type: 'tool_use', id: 'toolu_s', name: 'web_search', input: { query: 'tide' } };
    const thinking = { type: 'thinking', thinking: 'Look', signature: SIGNATURE };
    if (isStream)
      world.upstream.queue(
        {
          chunks: nativeStream([thoughtOf('Look'), callOf('toolu_s', 'web_search', '{"query":', '"tide"}')], {
            reason: 'tool_use',
          }),
        },
        { chunks: nativeStream([textOf('At ', 'noon.')]) },
      );
    else
      world.upstream.queue(
        { body: nativeMessage([thinking, asks], { stop_reason: 'tool_use' }) },
        { body: nativeMessage([textBlock('At noon.')]) },
      );
    const asked = { model: 'nat/chat', tools };
    const answer = isStream ? await world.stream(asked).finalMessage() : await world.ask(asked);
    expect(answer.content).toMatchObject([thinking, ...found]);
    expect(answer.usage).toMatchObject({ input_tokens: 20, cache_read_input_tokens: 8, output_tokens: 10 });
    expect(world.upstream.requests[0]!.body['tools']).toMatchObject([
      { name: 'web_search', input_schema: {} },
    ]);
    expect(world.sent().body['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [thinking, asks] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_s' }] },
    ]);
    world.upstream.queue({ body: nativeMessage([textBlock('Rain')]) });
    await world.ask({
      ...asked,
      messages: [user(), { role: 'assistant', content: answer.content }, user('And?')],
    });
    expect(world.sent().body['messages']).toMatchObject([
      {},
      { content: [thinking, { text: 'At noon.' }] },
      {},
    ]);
  });
});
