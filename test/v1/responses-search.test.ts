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
import { credits, startResponses, type ResponsesSetup } from './responses-setup.js';

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

describe('web search on the search port', () => {
  const calls = {
    id: 'call_s',
    type: 'function',
    function: { name: 'web_search', arguments: '{"query":"tide"}' },
  };
  const tools = [{ type: 'web_search' as const }];

  it.each([false, true])(
    'is a round inside the same answer of a chat, priced once (stream: %s)',
    async (stream) => {
      const before = (await setup.ledger()).length;
      const message = { role: 'assistant', content: null, tool_calls: [calls] };
      if (stream)
        upstream.queue(
          {
            chunks: [
              chunk({ tool_calls: [{ ...calls, index: 0 }] }),
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
      else
        upstream.queue(
          {
            body: completion('', {
              choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
              usage: { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 },
            }),
          },
          {
            body: completion('At noon.', {
              usage: { prompt_tokens: 2000, completion_tokens: 90, total_tokens: 2090 },
            }),
          },
        );
      const asked = { model: 'acme/chat', input: 'When is high tide?', tools };
      const answer = stream
        ? await client.responses.stream(asked).finalResponse()
        : await client.responses.create(asked);
      expect(answer).toMatchObject({
        output: [
          { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'tide' } },
          { type: 'message', content: [{ text: 'At noon.' }] },
        ],
        usage: { input_tokens: 3000, output_tokens: 100, total_tokens: 3100 },
        credits_used: 9,
        metadata: {},
      });
      expect(setup.search.requests).toHaveLength(1);
      const told = (sent().body['messages'] as { role: string; content: string }[]).at(-1)!;
      expect(told.role).toBe('tool');
      expect(told.content).toContain('High at noon.');
      const rows = (await setup.ledger()).slice(0, (await setup.ledger()).length - before);
      const charged = rows.filter(({ state }) => state === 'settled');
      expect(charged.map((row) => [row.operation, credits(row)]).sort()).toEqual([
        ['agent_tool', 5],
        ['chat', 4],
      ]);
      expect(rows.every(({ state }) => state !== 'reserved')).toBe(true);
    },
  );

  it.each([false, true])('is one at an upstream of the dialect too (stream: %s)', async (stream) => {
    const call = {
      type: 'function_call',
      id: 'fc_up',
      call_id: 'call_n',
      name: 'web_search',
      arguments: '{"query":"tide"}',
      status: 'completed',
    };
    const first = { ...nativeResponse(''), output: [call] };
    if (stream)
      upstream.queue(
        {
          chunks: [
            event({ type: 'response.created', response: { ...first, output: [] } }),
            event({ type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '' } }),
            event({
              type: 'response.function_call_arguments.delta',
              item_id: 'fc_up',
              output_index: 0,
              delta: call.arguments,
            }),
            event({ type: 'response.output_item.done', output_index: 0, item: call }),
            event({ type: 'response.completed', response: first }),
          ],
        },
        { chunks: nativeEvents(['At noon.']) },
      );
    else upstream.queue({ body: first }, { body: nativeResponse('At noon.') });
    const asked = { model: 'nat/chat', input: 'When is high tide?', tools };
    const answer = stream
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked);
    expect(answer.output).toMatchObject([
      { type: 'web_search_call', status: 'completed' },
      { type: 'message', content: [{ text: 'At noon.' }] },
    ]);
    expect(answer.usage).toMatchObject({ input_tokens: 20, output_tokens: 10 });
    expect(upstream.requests[0]!.body['tools']).toMatchObject([{ type: 'function', name: 'web_search' }]);
    expect(sent().body['input']).toMatchObject([
      { role: 'user' },
      { type: 'function_call', call_id: 'call_n' },
      { type: 'function_call_output', call_id: 'call_n', output: expect.stringContaining('High at noon.') },
    ]);
  });

  it('ends after five searches, however often the model asks', async () => {
    const message = { role: 'assistant', content: null, tool_calls: [calls] };
    upstream.always({
      body: completion('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
    });
    try {
      await client.responses.create({ model: 'acme/chat', input: 'Search for ever', tools });
    } finally {
      upstream.always({ body: completion('Hello') });
    }
    expect(setup.search.requests).toHaveLength(5);
  });
});

describe('a call with an Idempotency-Key', () => {
  it.each([false, true])(
    'is made and charged once, and answered again as it was (stream: %s)',
    async (stream) => {
      const before = (await setup.ledger()).length;
      upstream.queue(stream ? { chunks: nativeEvents(['Hi']) } : { body: nativeResponse('Hi') });
      const body = JSON.stringify({ model: 'nat/chat', input: 'Hello', stream });
      const ask = async (): Promise<string> => {
        const answer = await setup.server.raw('/v1/responses', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${setup.key}`,
            'content-type': 'application/json',
            'idempotency-key': `responses-${stream}`,
          },
          body,
        });
        expect(answer.statusCode).toBe(200);
        return answer.body.text();
      };
      const first = await ask();
      expect(await ask()).toBe(first);
      expect(upstream.requests).toHaveLength(1);
      expect((await setup.ledger()).length).toBe(before + 1);
    },
  );
});
