import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chunk, DONE_EVENT, event, startFakeUpstream, usageChunk } from '../support/fake-upstream.js';
import type { FakeUpstream, Reply, SeenRequest } from '../support/fake-upstream.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { isStored, killedInTheMiddle as killed } from '../support/killed-worker.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';
import { nativeStream, textOf, thoughtOf } from '../v1/native-messages.js';
import { nativeEvents } from '../v1/native-responses.js';

const WORDS = ['The', ' tide', ' comes', ' in', ' at', ' noon', ' and', ' goes', ' out', ' at', ' six.'];
const WHOLE = WORDS.join('');

let first: FakeUpstream;
let second: FakeUpstream;
let third: FakeUpstream;
let installation: Installation;
/** Takes calls and works on none. */
let server: TestServer;
let key: string;
let orgId: string;

beforeAll(async () => {
  [first, second, third] = await Promise.all([startFakeUpstream(), startFakeUpstream(), startFakeUpstream()]);
  const provider = (id: string, { baseUrl }: FakeUpstream, prefill?: boolean, dialects?: string[]) => ({
    id,
    ...(dialects && { dialects }),
    kind: 'openai-compatible',
    baseUrl,
    apiKey: 'k',
    retry: { retries: 0 },
    models: [
      {
        id: `${id}/chat`,
        type: 'chat',
        tier: 'basic',
        upstreamId: id,
        cost: [{ input: '1', output: '10' }],
        ...(prefill === undefined ? {} : { prefill }),
      },
    ],
  });
  installation = await createInstallation({
    providers: {
      providers: [
        provider('acme', first),
        provider('native', first, false, ['responses', 'messages']),
        provider('plain', second, false),
        provider('spare', second, true),
        provider('last', third, true),
      ],
      fallbacks: {
        'acme/chat': ['plain/chat', 'spare/chat', 'last/chat'],
        'native/chat': ['plain/chat', 'spare/chat', 'last/chat'],
        'spare/chat': ['plain/chat'],
      },
      continueStreams: true,
    },
  });
  server = await startPenstock({ installation, role: 'api' });
});
afterAll(async () => {
  await server.close();
  await installation.close();
  await Promise.all([first.close(), second.close(), third.close()]);
});
beforeEach(async () => {
  for (const upstream of [first, second, third]) upstream.requests.length = 0;
  ({ key, orgId } = await installation.createOrg());
});

const begun = chunk({ role: 'assistant', content: '' });
const said = (words: string[]) => words.map((content) => chunk({ content }));
const breaks = (count: number, more: string[] = []): Reply => ({
  chunks: [begun, ...said(WORDS.slice(0, count)), ...more],
  then: 'reset',
});

const lastMessage = (request: Pick<SeenRequest, 'body'> | undefined) =>
  (request?.body['messages'] as { role: string; content: string }[] | undefined)?.at(-1);

/** Goes on from the last message, as models with `prefill` do, for so many words. */
const goesOn =
  (count = Number.POSITIVE_INFINITY) =>
  ({ body }: SeenRequest): Reply => {
    const last = lastMessage({ body });
    const text = last?.role === 'assistant' ? last.content : '';
    if (!WHOLE.startsWith(text)) return { status: 400, body: { error: { message: 'another text' } } };
    let length = 0;
    const rest = WORDS.filter((word) => (length += word.length) > text.length);
    if (count < rest.length) return { chunks: [begun, ...said(rest.slice(0, count))], then: 'reset' };
    const end = [chunk({}, { finish_reason: 'stop' }), usageChunk(500, rest.length), DONE_EVENT];
    return { chunks: [begun, ...said(rest), ...end] };
  };

const ask = { model: 'acme/chat', messages: [{ role: 'user' as const, content: 'When?' }] };
const openai = () => new OpenAI({ apiKey: key, baseURL: `${server.origin}/v1`, maxRetries: 0 });

async function stream(body: object = ask) {
  const answer = await openai().chat.completions.create({
    ...ask,
    ...body,
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  let fault: unknown = null;
  try {
    for await (const one of answer) chunks.push(one);
  } catch (error) {
    fault = error;
  }
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  return { chunks, text, fault };
}

const ledger = () =>
  installation.sql<{ state: string; status: string; tokens: string; cost: string; ids: string }>(
    `SELECT state, status, charged[2] / 100 AS tokens, cost_nano AS cost, upstream_id AS ids FROM usage_ledger WHERE org_id = '${orgId}' AND kind <> 'period'`,
  );

describe('a stream that breaks in the middle', () => {
  it('goes on at the first fallback that takes a beginning, as one stream with one charge', async () => {
    first.queue(breaks(4));
    second.queue(goesOn());
    const { chunks, text, fault } = await stream();
    expect({ text, fault }).toEqual({ text: WHOLE, fault: null });
    expect(new Set(chunks.map(({ id, model }) => `${id} ${model}`)).size).toBe(1);
    expect(chunks.filter(({ choices }) => choices[0]?.finish_reason != null)).toHaveLength(1);
    expect(second.requests.map(({ body }) => body['model'])).toEqual(['spare']);
    expect(lastMessage(second.requests[0])).toEqual({
      role: 'assistant',
      content: WORDS.slice(0, 4).join(''),
    });
    const { usage } = chunks.at(-1) ?? {};
    expect(usage?.completion_tokens).toBe(WORDS.length + 1);
    expect(usage?.prompt_tokens).toBeLessThan(20);
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + WORDS.length + 1);
  });

  it('goes on again where the fallback breaks too, and fails where nobody is left', async () => {
    first.queue(breaks(2));
    second.queue(goesOn(3));
    third.queue(goesOn());
    expect(await stream()).toMatchObject({ text: WHOLE, fault: null });
    first.queue(breaks(2));
    second.queue(goesOn(3));
    third.queue(goesOn(1));
    const broken = await stream();
    expect(broken.text).toBe(WORDS.slice(0, 6).join(''));
    expect(broken.fault).not.toBeNull();
    expect((await ledger()).map(({ state }) => state)).toEqual(['settled', 'settled']);
  });

  it('is asked for no more tokens than are left of its maximum', async () => {
    first.queue(breaks(4));
    second.queue(goesOn());
    await stream({ max_tokens: 100 });
    expect(first.requests[0]?.body['max_tokens']).toBe(100);
    expect(second.requests[0]?.body['max_tokens']).toBe(96);
  });

  it.each([
    [
      'a tool call',
      chunk({
        tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{' } }],
      }),
    ],
    ['reasoning', chunk({ reasoning_content: 'hm' })],
  ])('fails where %s was delivered besides text', async (_, more) => {
    first.queue(breaks(4, [more]));
    const tools = [{ type: 'function' as const, function: { name: 'f', parameters: {} } }];
    expect((await stream({ tools })).fault).not.toBeNull();
    expect(second.requests).toEqual([]);
  });

  it('goes on after an error event as after a lost connection', async () => {
    first.queue({ chunks: [begun, ...said(WORDS.slice(0, 5)), event({ error: { message: 'overloaded' } })] });
    second.queue(goesOn());
    expect(await stream()).toMatchObject({ text: WHOLE, fault: null });
  });

  it('fails where no fallback takes a beginning', async () => {
    second.queue(breaks(4));
    expect((await stream({ model: 'spare/chat' })).fault).not.toBeNull();
    expect(second.requests).toHaveLength(1);
  });
});

describe('every dialect that is answered by chat', () => {
  it('streams Responses on', async () => {
    first.queue(breaks(4));
    second.queue(goesOn());
    const response = openai().responses.stream({ model: 'acme/chat', input: 'When?' });
    const final = await response.finalResponse();
    expect(final.output_text).toBe(WHOLE);
    expect(final.usage?.output_tokens).toBe(WORDS.length + 1);
  });

  it('streams Messages on', async () => {
    first.queue(breaks(4));
    second.queue(goesOn());
    const messages = anthropic().messages.stream({ ...ask, max_tokens: 100 });
    expect(await messages.finalText()).toBe(WHOLE);
    expect((await ledger()).map(({ state }) => state)).toEqual(['settled']);
  });
});

const anthropic = () => new Anthropic({ apiKey: key, baseURL: server.origin, maxRetries: 0 });

/** The beginning of a response of so many words, by an upstream that speaks the dialect. */
const responseBreaks = (count: number, more: string[] = []): Reply => ({
  chunks: [...nativeEvents(WORDS).slice(0, 4 + count), ...more],
  then: 'reset',
});

/** The same of a message. */
const messageBreaks = (count: number, more: string[] = []): Reply => ({
  chunks: [...nativeStream([textOf(...WORDS)]).slice(0, 3 + count), ...more],
  then: 'reset',
});

describe('an upstream that speaks the dialect and breaks off in the middle', () => {
  const askedResponse = { model: 'native/chat', input: 'When?', stream: true } as const;
  const askedMessage = { ...ask, model: 'native/chat', max_tokens: 100 };

  it.each([
    ['a lost connection', responseBreaks(4)],
    [
      'an error event',
      {
        ...responseBreaks(4, [event({ type: 'error', error: { message: 'overloaded' } })]),
        then: 'end' as const,
      },
    ],
    ['a stream without its end', { ...responseBreaks(4), then: 'end' as const }],
  ])('goes on as one response after %s', async (_, broken) => {
    first.queue(broken);
    second.queue(goesOn());
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const one of await openai().responses.create(askedResponse)) events.push(one);
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((__, at) => at));
    const deltas = events.flatMap((one) => (one.type === 'response.output_text.delta' ? [one] : []));
    expect(deltas.map(({ delta }) => delta).join('')).toBe(WHOLE);
    expect(new Set(deltas.map(({ item_id, output_index }) => `${item_id} ${output_index}`)).size).toBe(1);
    const types = events.map(({ type }) => type);
    for (const once of ['output_item.added', 'content_part.added', 'output_text.done', 'output_item.done'])
      expect(types.filter((type) => type === `response.${once}`)).toHaveLength(1);
    const last = events.at(-1);
    if (last?.type !== 'response.completed') throw new Error(`it ended with ${last?.type}`);
    expect(last.response).toMatchObject({
      output: [{ id: deltas[0]?.item_id, status: 'completed', content: [{ text: WHOLE }] }],
      usage: { output_tokens: WORDS.length + 1 },
    });
    expect((await openai().responses.retrieve(last.response.id)).output_text).toBe(WHOLE);
    expect(lastMessage(second.requests[0])).toEqual({
      role: 'assistant',
      content: WORDS.slice(0, 4).join(''),
    });
    expect(await ledger()).toMatchObject([{ state: 'settled', status: 'succeeded' }]);
  });

  it('goes on as one message, with the costs of both models in one record', async () => {
    first.queue(messageBreaks(4));
    second.queue(goesOn());
    const stream = anthropic().messages.stream(askedMessage);
    const starts: unknown[] = [];
    stream.on('streamEvent', ({ type }) => type === 'content_block_start' && starts.push(type));
    const { content, usage, stop_reason: reason } = await stream.finalMessage();
    expect(content).toEqual([{ type: 'text', text: WHOLE }]);
    expect({ reason, starts: starts.length }).toEqual({ reason: 'end_turn', starts: 1 });
    expect(usage.output_tokens).toBe(WORDS.length + 1);
    const [record, ...others] = await ledger();
    expect(others).toEqual([]);
    expect(record).toMatchObject({ state: 'settled', status: 'succeeded', ids: 'msg_upstream chatcmpl-up1' });
  });

  it('goes on a second time where the fallback breaks too, and fails where nobody is left', async () => {
    first.queue(messageBreaks(2));
    second.queue(goesOn(3));
    third.queue(goesOn());
    expect(await anthropic().messages.stream(askedMessage).finalText()).toBe(WHOLE);
    first.queue(messageBreaks(2));
    second.queue(goesOn(3));
    third.queue(goesOn(1));
    await expect(anthropic().messages.stream(askedMessage).finalText()).rejects.toThrow();
    expect(await ledger()).toMatchObject([{ status: 'succeeded' }, { status: 'failed' }]);
  });

  it('continues a call of a tool after its text', async () => {
    first.queue(messageBreaks(4));
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"at":"six"}' } };
    const end = chunk({ tool_calls: [call] }, { finish_reason: 'tool_calls' });
    second.queue({ chunks: [begun, ...said(WORDS.slice(4)), end, DONE_EVENT] });
    const tools = [{ name: 'f', input_schema: { type: 'object' as const } }];
    const message = await anthropic()
      .messages.stream({ ...askedMessage, tools })
      .finalMessage();
    expect(message.content).toMatchObject([
      { type: 'text', text: WHOLE },
      { type: 'tool_use', name: 'f', input: { at: 'six' } },
    ]);
    expect(message.stop_reason).toBe('tool_use');
  });

  it('fails where anything but text was delivered', async () => {
    const call = { type: 'response.output_item.added', output_index: 1, item: { type: 'function_call' } };
    first.queue(responseBreaks(4, [event(call)]));
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    const read = async () => {
      for await (const one of await openai().responses.create(askedResponse)) events.push(one);
    };
    await read().catch(() => undefined);
    expect(events.at(-1)?.type).not.toBe('response.completed');
    const thought = thoughtOf('hm');
    first.queue({ chunks: nativeStream([thought, textOf(...WORDS)]).slice(0, 8), then: 'reset' });
    await expect(anthropic().messages.stream(askedMessage).finalText()).rejects.toThrow();
    expect(second.requests).toEqual([]);
  });
});

/** @param ask begins an answer whose first worker is killed after four words */
const killedInTheMiddle = <T>(ask: () => Promise<T>): Promise<T> =>
  killed({ installation, orgId, ask, isDue: () => isStored(installation, orgId, WORDS[3] as string) });

const hangs = (count: number): Reply => ({ ...breaks(count), then: 'hang' });

describe('an answer whose worker is killed in the middle', () => {
  beforeEach(async () => {
    ({ key, orgId } = await installation.createOrg({ plan: 'business_monthly' }));
  });

  it('goes on as the same response: each event once, one text, one charge', async () => {
    second.queue(hangs(4), goesOn());
    const events = await killedInTheMiddle(async () => {
      const asked = { model: 'spare/chat', input: 'When?', background: true, stream: true } as const;
      const found: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const one of await openai().responses.create(asked)) found.push(one);
      return found;
    });
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, at) => at));
    expect(
      events.flatMap((one) => (one.type === 'response.output_text.delta' ? [one.delta] : [])).join(''),
    ).toBe(WHOLE);
    const items = new Set(events.flatMap((one) => ('item_id' in one ? [one.item_id] : [])));
    expect(items.size).toBe(1);
    const last = events.at(-1);
    if (last?.type !== 'response.completed') throw new Error(`it ended with ${last?.type}`);
    const [item] = last.response.output;
    expect(item).toMatchObject({ id: [...items][0], content: [{ text: WHOLE }] });
    expect(last.response.usage?.output_tokens).toBe(WORDS.length + 1);
    expect(lastMessage(second.requests[1])?.content).toBe(WORDS.slice(0, 4).join(''));
    expect((await ledger()).map(({ state }) => state)).toEqual(['settled']);
  }, 90_000);

  it('goes on as the same chat under a key', async () => {
    second.queue(hangs(4), goesOn());
    const query = `subscription ($input: ChatCompletionInput!) {
      chatCompletion(input: $input, idempotencyKey: "tide") { sequence id choices { delta { content } finishReason } usage { completionTokens } } }`;
    interface Chunk {
      sequence: number;
      id: string;
      choices: { delta: { content: string | null }; finishReason: string | null }[];
      usage: { completionTokens: number } | null;
    }
    const chunks = await killedInTheMiddle(async () => {
      const client = server.ws(key);
      const found: Chunk[] = [];
      const variables = { input: { ...ask, model: 'spare/chat' } };
      try {
        for await (const { data, errors } of client.iterate<{ chatCompletion: Chunk }>({
          query,
          variables,
        })) {
          if (errors) throw new Error(JSON.stringify(errors));
          if (data) found.push(data.chatCompletion);
        }
      } finally {
        await client.dispose();
      }
      return found;
    });
    expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, at) => at + 1));
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(WHOLE);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.find(({ usage }) => usage !== null)?.usage?.completionTokens).toBe(WORDS.length + 1);
    expect((await ledger()).map(({ state }) => state)).toEqual(['settled']);
  }, 90_000);

  it('ends as interrupted where its model takes no beginning', async () => {
    const ended = await killedInTheMiddle(async () => {
      const asked = { model: 'plain/chat', input: 'When?', background: true } as const;
      second.queue(hangs(4));
      const { id } = await openai().responses.create(asked);
      return await eventually(
        async () => {
          const found = await openai().responses.retrieve(id);
          return found.status === 'failed' && found;
        },
        { timeoutMs: 60_000 },
      );
    });
    expect(ended.error?.message).toBe('Interrupted');
    expect(ended.output_text).toBe(WORDS.slice(0, 4).join(''));
    expect((await ledger()).map(({ state }) => state)).toEqual(['settled']);
  }, 90_000);
});
