import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunk, DONE_EVENT, event, usageChunk, type FakeUpstream } from '../support/fake-upstream.js';
import type { TestServer } from '../support/server.js';
import { startBothForms, type BothForms } from './both-forms.js';
import { createRandom, cut, pick, TEXT, type Random } from './fuzz.js';
import {
  callOf,
  nativeMessage,
  nativeStream,
  SIGNATURE,
  textBlock,
  textOf,
  thoughtOf,
} from './native-messages.js';

let world: BothForms;
let server: TestServer;
let upstream: FakeUpstream;
let client: Anthropic;

beforeAll(async () => {
  world = await startBothForms({ dialects: ['messages'], callsPerMinute: 10_000 });
  ({ server, upstream } = world);
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  client = new Anthropic({ apiKey: key, baseURL: server.origin, maxRetries: 0 });
});
afterAll(() => world?.close());

const THOUGHT = 'Let me … 思考';
const CALL = { city: 'Zürich', list: [1, '"'] };
const pieces = (text: string): string[] => text.match(/.{1,7}/gsu)!;
const BLOCKS = [
  thoughtOf(...pieces(THOUGHT)),
  textOf(...pieces(TEXT)),
  callOf('toolu_1', 'f', ...pieces(JSON.stringify(CALL))),
];
const WHOLE = nativeMessage(
  [
    { type: 'thinking', thinking: THOUGHT, signature: SIGNATURE },
    textBlock(TEXT),
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: CALL },
  ],
  { stop_reason: 'tool_use' },
);

/** Changes that upstreams make to the order and the form of their events. */
const ODDITIES: Record<string, (events: string[], random: Random) => string[]> = {
  'as it should be': (events) => events,
  'without names': (events) => events.map((one) => one.replace(/^event: .*\n/, '')),
  'without its beginning': (events) => events.slice(1),
  'without an announcement of texts': (events) =>
    events.filter((one) => !/content_block_start.*"type":"(?:text|thinking)"/s.test(one)),
  'without the ends of blocks': (events) => events.filter((one) => !one.includes('content_block_stop')),
  'without its last event': (events) => events.slice(0, -1),
  'with its end before that of its blocks': (events) => [
    ...events.filter((one) => !one.includes('content_block_stop') && !one.includes('message_stop')),
    ...events.filter((one) => one.includes('content_block_stop')),
    events.at(-1)!,
  ],
  'with events twice': (events) =>
    events.flatMap((one) => (/content_block_st|message_start/.test(one) ? [one, one] : [one])),
  'with numbers that leave some out': (events) =>
    events.map((one) => one.replace(/"index":(\d)/, (_, at: string) => `"index":${Number(at) * 3 + 2}`)),
  'with one number for all': (events) => events.map((one) => one.replace(/"index":\d/, '"index":0')),
  'with comments and silence': (events) => events.flatMap((one) => [': ping\n\n', one, 'data: \n\n']),
  'with line ends of Windows': (events) => events.map((one) => one.replaceAll('\n', '\r\n')),
  'with [DONE] behind it': (events) => [...events, DONE_EVENT],
  'with spaces within': (events) => events.map((one) => one.replace(/\}\n\n$/, '   }\n\n')),
  'with fields in another order': (events) =>
    events.map((one) =>
      one.replace(/data: (.*)\n\n/, (_, data: string) =>
        event(Object.fromEntries(Object.entries(JSON.parse(data) as object).reverse())),
      ),
    ),
  'with signs of life between': (events, random) =>
    events.flatMap((one) => (random.next() < 0.3 ? [event({ type: 'ping' }), one] : [one])),
  'with events that nobody knows': (events, random) =>
    events.flatMap((one) => (random.next() < 0.3 ? [one, event({ type: 'future', index: 9 })] : [one])),
  'with all in its first event': (events) => [
    event({ type: 'message_start', message: { ...WHOLE, stop_reason: null } }),
    ...events.slice(-2),
  ],
  'in one piece, not as a stream': () => [JSON.stringify(WHOLE)],
};

const TOOL = { name: 'f', input_schema: { type: 'object' as const } };

async function read(model: string) {
  const stream = client.messages.stream({
    model,
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Go' }],
    tools: [TOOL],
  });
  const events: Anthropic.RawMessageStreamEvent[] = [];
  stream.on('streamEvent', (one) => events.push(one));
  return { final: await stream.finalMessage(), events };
}

function checkOrder(events: readonly Anthropic.RawMessageStreamEvent[]): void {
  expect(events[0]?.type).toBe('message_start');
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop']);
  const open = new Set<number>();
  let begun = 0;
  for (const one of events) {
    if (one.type === 'content_block_start') {
      expect(one.index).toBe(begun++);
      open.add(one.index);
    } else if (one.type === 'content_block_delta') expect(open.has(one.index)).toBe(true);
    else if (one.type === 'content_block_stop') expect(open.delete(one.index)).toBe(true);
  }
  expect(open.size).toBe(0);
}

const thoughts = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
const texts = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');
const calls = ({ content }: Anthropic.Message): unknown[] =>
  content.flatMap((block) => (block.type === 'tool_use' ? [block.input] : []));

describe('any stream of an upstream is one that the official client reads to its end', () => {
  it.each(Object.keys(ODDITIES))('of the dialect, %s', async (oddity) => {
    for (let seed = 1; seed <= 6; seed++) {
      const random = createRandom(seed);
      const events = ODDITIES[oddity]!(nativeStream(BLOCKS, { reason: 'tool_use' }), random);
      upstream.queue({ chunks: cut(events, random) });
      const { events: read_, final } = await read('nat/chat');
      checkOrder(read_);
      expect(thoughts(final)).toBe(THOUGHT);
      expect(texts(final)).toBe(TEXT);
      expect(calls(final)).toEqual([CALL]);
      expect(JSON.stringify(final.content)).toContain(SIGNATURE);
      expect(final.stop_reason).toBe('tool_use');
      expect(final.usage.output_tokens).toBe(5);
    }
  });

  it('of chat, with texts, thoughts, refusals and calls in any order', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed);
      const said = { text: '', thought: '', calls: [] as unknown[] };
      const chunks: string[] = random.next() < 0.5 ? [chunk({ role: 'assistant', content: '' })] : [];
      const count = 1 + Math.floor(random.next() * 12);
      for (let at = 0; at < count; at++) {
        const word = pick(random, ['ä', '🌍', 'plain ', '"', '\\n']);
        const kind = pick(random, ['text', 'text', 'thought', 'refused', 'call'] as const);
        if (kind === 'call') {
          const index = said.calls.length;
          said.calls.push({ a: at });
          const call = { index, id: `call_${index}`, type: 'function' };
          const whole = { name: 'f', arguments: `{"a":${at}}` };
          if (random.next() < 0.5)
            chunks.push(
              chunk({ tool_calls: [{ ...call, function: { name: 'f', arguments: '' } }] }),
              chunk({ tool_calls: [{ index, function: { arguments: `{"a"` } }] }),
              chunk({ tool_calls: [{ index, function: { arguments: `:${at}}` } }] }),
            );
          else chunks.push(chunk({ tool_calls: [{ ...call, function: whole }] }));
        } else {
          said[kind === 'thought' ? 'thought' : 'text'] += word;
          const field = { text: 'content', thought: 'reasoning_content', refused: 'refusal' }[kind];
          chunks.push(chunk({ [field]: word }));
        }
      }
      chunks.push(chunk({}, { finish_reason: said.calls.length > 0 ? 'tool_calls' : 'stop' }));
      if (random.next() < 0.7) chunks.push(usageChunk(10, 5));
      chunks.push(DONE_EVENT);
      upstream.queue({ chunks: cut(chunks, random) });
      const { events, final } = await read('acme/chat');
      checkOrder(events);
      expect([texts(final), thoughts(final), calls(final)]).toEqual([said.text, said.thought, said.calls]);
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
    expect(calls(final)).toEqual([{ x: 1 }, { y: 2 }]);
  });

  it('and what breaks off is an error, not an end', async () => {
    const events = nativeStream(BLOCKS);
    const broken: string[][] = [
      events.slice(0, 6),
      [
        ...events.slice(0, 6),
        `event: error\n${event({ type: 'error', error: { type: 'overloaded_error' } })}`,
      ],
      [...events.slice(0, 6), event({ type: 'error', error: { type: 'api_error', message: 'x' } })],
    ];
    for (const chunks of broken) {
      upstream.queue({ chunks });
      await expect(read('nat/chat')).rejects.toMatchObject({ error: { error: { type: 'api_error' } } });
    }
  });
});
