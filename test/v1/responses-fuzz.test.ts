import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunk, DONE_EVENT, event, usageChunk, type FakeUpstream } from '../support/fake-upstream.js';
import type { TestServer } from '../support/server.js';
import { startBothForms, type BothForms } from './both-forms.js';
import { createRandom, cut, pick, TEXT, type Random } from './fuzz.js';
import { nativeEvents, nativeResponse } from './native-responses.js';

let world: BothForms;
let server: TestServer;
let upstream: FakeUpstream;
let client: OpenAI;

beforeAll(async () => {
  world = await startBothForms({ dialects: ['responses'], callsPerMinute: 10_000 });
  ({ server, upstream } = world);
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  client = new OpenAI({ apiKey: key, baseURL: `${server.origin}/v1`, maxRetries: 0 });
});
afterAll(() => world?.close());

/** Changes that upstreams make to the order and the form of their events. */
const ODDITIES: Record<string, (events: string[], random: Random) => string[]> = {
  'as it should be': (events) => events,
  'without names': (events) => events.map((one) => one.replace(/^event: .*\n/, '')),
  'without an announcement of items': (events) => events.filter((one) => !one.includes('output_item.added')),
  'without an announcement of parts': (events) => events.filter((one) => !one.includes('content_part')),
  'without the ends of items': (events) =>
    events.filter((one) => !/output_item\.done|output_text\.done/.test(one)),
  'without its beginning': (events) => events.slice(2),
  'with events twice': (events) => events.flatMap((one) => (one.includes('.added') ? [one, one] : [one])),
  'with comments and silence': (events) => events.flatMap((one) => [': ping\n\n', one, 'data: \n\n']),
  'with line ends of Windows': (events) => events.map((one) => one.replaceAll('\n', '\r\n')),
  'with [DONE] behind it': (events) => [...events, DONE_EVENT],
  'with signs of life between': (events, random) =>
    events.flatMap((one) => (random.next() < 0.3 ? [event({ type: 'keepalive', n: 1 }), one] : [one])),
  'with deltas alone': (events) => events.filter((one) => /\.delta|completed/.test(one)),
  'with no deltas': (events) => events.filter((one) => !one.includes('.delta')),
  'with its last event alone': (events) => events.slice(-1),
  'in one piece, not as a stream': () => [JSON.stringify(nativeResponse(TEXT))],
};

async function read(model: string) {
  const stream = client.responses.stream({ model, input: 'Go', tools: [TOOL], store: false });
  const events: ResponseStreamEvent[] = [];
  for await (const one of stream) events.push(one as ResponseStreamEvent);
  return { events, final: await stream.finalResponse() };
}

const TOOL = { type: 'function' as const, name: 'f', parameters: {}, strict: false };

function checkOrder(events: readonly ResponseStreamEvent[]): void {
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  expect(events.at(-1)?.type).toBe('response.completed');
  const open = new Set<string>();
  const done = new Set<string>();
  for (const one of events) {
    if (one.type === 'response.output_item.added') {
      expect(open.has(one.item.id!)).toBe(false);
      open.add(one.item.id!);
    } else if (one.type === 'response.output_item.done') {
      expect(open.has(one.item.id!) && !done.has(one.item.id!)).toBe(true);
      done.add(one.item.id!);
    } else if ('item_id' in one)
      expect([one.type, open.has(one.item_id!), done.has(one.item_id!)]).toEqual([one.type, true, false]);
  }
  expect(done).toEqual(open);
}

describe('any stream of an upstream is one that the official client reads to its end', () => {
  it.each(Object.keys(ODDITIES))('of the dialect, %s', async (oddity) => {
    for (let seed = 1; seed <= 6; seed++) {
      const random = createRandom(seed);
      const texts = TEXT.match(/.{1,7}/gsu)!;
      upstream.queue({ chunks: cut(ODDITIES[oddity]!(nativeEvents(texts), random), random) });
      const { events, final } = await read('nat/chat');
      checkOrder(events);
      expect(final.output_text).toBe(TEXT);
      expect(final.usage?.total_tokens).toBe(15);
    }
  });

  it('of chat, with texts, thoughts, refusals and calls in any order', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed);
      const said = { text: '', thought: '', refused: '', calls: new Map<number, string>() };
      const chunks: string[] = random.next() < 0.5 ? [chunk({ role: 'assistant', content: '' })] : [];
      const count = 1 + Math.floor(random.next() * 12);
      for (let at = 0; at < count; at++) {
        const word = pick(random, ['ä', '🌍', 'plain ', '"', '\\n']);
        const kind = pick(random, ['text', 'text', 'thought', 'refused', 'call'] as const);
        if (kind === 'call') {
          const index = said.calls.size;
          said.calls.set(index, `{"a":${at}}`);
          const call = { index, id: `call_${index}`, type: 'function' };
          if (random.next() < 0.5)
            chunks.push(
              chunk({ tool_calls: [{ ...call, function: { name: 'f', arguments: '' } }] }),
              chunk({ tool_calls: [{ index, function: { arguments: `{"a"` } }] }),
              chunk({ tool_calls: [{ index, function: { arguments: `:${at}}` } }] }),
            );
          else
            chunks.push(
              chunk({ tool_calls: [{ ...call, function: { name: 'f', arguments: `{"a":${at}}` } }] }),
            );
        } else {
          said[kind] += word;
          const field = { text: 'content', thought: 'reasoning_content', refused: 'refusal' }[kind];
          chunks.push(chunk({ [field]: word }));
        }
      }
      chunks.push(chunk({}, { finish_reason: said.calls.size > 0 ? 'tool_calls' : 'stop' }));
      if (random.next() < 0.7) chunks.push(usageChunk(10, 5));
      chunks.push(DONE_EVENT);
      upstream.queue({ chunks: cut(chunks, random) });
      const { events, final } = await read('acme/chat');
      checkOrder(events);
      const parts = final.output.flatMap((item) => (item.type === 'message' ? item.content : []));
      expect(parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('')).toBe(said.text);
      expect(parts.map((part) => (part.type === 'refusal' ? part.refusal : '')).join('')).toBe(said.refused);
      const thoughts = final.output.flatMap((item) => (item.type === 'reasoning' ? item.summary : []));
      expect(thoughts.map(({ text }) => text).join('')).toBe(said.thought);
      const calls = final.output.flatMap((item) => (item.type === 'function_call' ? [item.arguments] : []));
      expect(calls).toEqual([...said.calls.values()]);
    }
  });

  it('of chat, with calls whose parts come in turn', async () => {
    const part = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] });
    upstream.queue({
      chunks: [
        part(0, { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":' } }),
        part(1, { id: 'b', type: 'function', function: { name: 'f', arguments: '{"y":' } }),
        part(0, { function: { arguments: '1}' } }),
        part(1, { function: { arguments: '2}' } }),
        chunk({}, { finish_reason: 'tool_calls' }),
        DONE_EVENT,
      ],
    });
    const { events, final } = await read('acme/chat');
    checkOrder(events);
    expect(final.output).toMatchObject([
      { call_id: 'a', arguments: '{"x":1}' },
      { call_id: 'b', arguments: '{"y":2}' },
    ]);
  });
});
