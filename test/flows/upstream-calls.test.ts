import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chunk, DONE_EVENT } from '../support/fake-upstream.js';
import { finish, startOddUpstream, WAYS } from '../support/malformed-upstream.js';
import type { OddUpstream, Said } from '../support/malformed-upstream.js';

let odd: OddUpstream;
beforeAll(async () => {
  odd = await startOddUpstream();
});
afterAll(() => odd?.close());

type Part = Record<string, unknown>;
const part = (name: unknown, given: unknown, more: Part = {}): Part => ({
  index: 0,
  id: 'c1',
  type: 'function',
  function: { name, arguments: given },
  ...more,
});
const bare = (given: unknown, more: Part = {}): Part => ({
  index: 0,
  function: { arguments: given },
  ...more,
});
const weather = [{ id: 'c1', name: 'get_weather', arguments: '{"city":"Rome"}' }];
const twice = (first: string, second: string): Said['calls'] => [
  { id: 'c1', name: 'go', arguments: first },
  { id: 'c2', name: 'go', arguments: second },
];
const CALLS: [string, Part[], Said['calls']][] = [
  [
    'that say id and name in each',
    [part('get_weather', '{"city"'), part('get_weather', ':'), part('get_weather', '"Rome"}')],
    weather,
  ],
  [
    'that say an empty id and name',
    [part('get_weather', ''), part('', '{"city":', { id: '' }), part('', '"Rome"}', { id: '' })],
    weather,
  ],
  [
    'that say null for id and name',
    [part('get_weather', ''), part(null, '{"city":', { id: null }), part(null, '"Rome"}', { id: null })],
    weather,
  ],
  [
    'with a name in pieces',
    [part('get_', ''), bare('', { function: { name: 'weather' } }), bare('{"city":"Rome"}')],
    weather,
  ],
  [
    'with a name in pieces and its id in each',
    [part('get', ''), part('_weather', ''), part('', '{"city":"Rome"}')],
    weather,
  ],
  [
    'with all of a name so far',
    [part('get_', ''), part('get_weather', ''), bare('{"city":"Rome"}')],
    weather,
  ],
  [
    'with a name that is one piece twice',
    [part('ha', ''), part('ha', ''), part('haha', '{}')],
    [{ id: 'c1', name: 'haha', arguments: '{}' }],
  ],
  [
    'with a name that begins another',
    [part('go', ''), part('go', ''), part('go', '{}')],
    [{ id: 'c1', name: 'go', arguments: '{}' }],
  ],
  [
    'with all arguments once more',
    [part('get_weather', '{"city"'), bare(':"Rome"}'), part('get_weather', '{"city":"Rome"}')],
    weather,
  ],
  [
    'with all arguments so far',
    ['{"ci', '{"city":', '{"city":"Ro', '{"city":"Rome"}'].map((given) => part('get_weather', given)),
    weather,
  ],
  [
    'with a name that begins another, and without arguments',
    [part('go', '')],
    [{ id: 'c1', name: 'go', arguments: '' }],
  ],
  ['with arguments as an object', [part('get_weather', { city: 'Rome' })], weather],
  [
    'with an object inside an object of one name',
    [part('get_weather', '{"a":'), bare('{"a":'), bare('{"a":1}}}')],
    [{ id: 'c1', name: 'get_weather', arguments: '{"a":{"a":{"a":1}}}' }],
  ],
  [
    'of one index and new ids',
    [part('get_weather', '{}'), part('go', '{', { id: 'c2' }), part('go', '}', { id: 'c2' })],
    [
      { id: 'c1', name: 'get_weather', arguments: '{}' },
      { id: 'c2', name: 'go', arguments: '{}' },
    ],
  ],
  [
    'of words for an index, by turns',
    [
      part('get_weather', '', { index: '0' }),
      part('go', '', { index: '1', id: 'c2' }),
      bare('{"city":"Rome"}', { index: '0' }),
      bare('{}', { index: '1' }),
    ],
    [weather[0]!, { id: 'c2', name: 'go', arguments: '{}' }],
  ],
  [
    'counted from one',
    [part('go', '{"a":1}', { index: 1 }), part('go', '{"a":2}', { index: 2, id: 'c2' })],
    twice('{"a":1}', '{"a":2}'),
  ],
  [
    'of one index and one name, each with an id of its own',
    [part('go', '{"a":1}'), part('go', '{"a":2}', { id: 'c2' })],
    twice('{"a":1}', '{"a":2}'),
  ],
  [
    'with a new id in each',
    [part('get_weather', '{"city"'), part('get_weather', ':', { id: 'x' }), part('', '"Rome"}', { id: 'y' })],
    weather,
  ],
  [
    'with its id, its name and its arguments by themselves',
    [{ index: 0, id: 'c1' }, bare(undefined, { function: { name: 'get_weather' } }), bare('{"city":"Rome"}')],
    weather,
  ],
  [
    'with its arguments before its name',
    [
      bare('{"city"', { id: 'c1' }),
      bare(undefined, { function: { name: 'get_weather', arguments: ':"Rome"}' } }),
    ],
    weather,
  ],
  [
    'with no arguments ahead of them',
    [part('get_weather', '{}'), bare('{"city"'), bare(':"Rome"}')],
    weather,
  ],
  ['with an empty object ahead of them', [part('get_weather', {}), bare('{"city":"Rome"}')], weather],
  [
    'without a field for its function',
    [{ index: 0, id: 'c1', name: 'get_weather', arguments: '{"city":"Rome"}' }],
    weather,
  ],
  [
    'with a name that could go on, and another behind it',
    [part('go', ''), part('get_weather', '{}', { index: 1, id: 'c2' })],
    [
      { id: 'c1', name: 'go', arguments: '' },
      { id: 'c2', name: 'get_weather', arguments: '{}' },
    ],
  ],
  [
    'without an index, by turns',
    [
      part('get_weather', '{', { index: undefined }),
      part('go', '{', { index: undefined, id: 'c2' }),
      { id: 'c1', function: { arguments: '}' } },
      { id: 'c2', function: { arguments: '}' } },
    ],
    [
      { id: 'c1', name: 'get_weather', arguments: '{}' },
      { id: 'c2', name: 'go', arguments: '{}' },
    ],
  ],
];

describe.each(WAYS)('an answer that is %s', (way) => {
  test.each(CALLS)('has each call once where it comes in parts %s', async (_what, parts, calls) => {
    const reply = { chunks: [...parts.map((one) => chunk({ tool_calls: [one] })), finish(), DONE_EVENT] };
    expect(await odd.ask(way, reply)).toMatchObject({ calls, finish: 'tool_calls', content: null });
    const once = calls.map((call) => `${call.id}function${call.name}${call.arguments}`).join('');
    const text = await odd.joined(reply);
    expect([...text].sort().join('')).toBe([...once].sort().join(''));
  });

  test.each([
    ['in one list under one index', [[part('go', '{"a":1}', { id: '' }), part('go', '{"a":2}', { id: '' })]]],
    ['under one index', [[part('go', '{"a":1}', { id: '' })], [part('go', '{"a":2}', { id: '' })]]],
    [
      'without an index',
      [
        [{ function: { name: 'go', arguments: { a: 1 } } }],
        [{ function: { name: 'go', arguments: { a: 2 } } }],
      ],
    ],
    ['outside of a list', [part('go', '{"a":1}', { id: '' }), part('go', '{"a":2}', { id: '' })]],
  ])('has two calls of one function that have no ids, %s', async (_what, lists) => {
    const reply = { chunks: [...lists.map((tool_calls) => chunk({ tool_calls })), finish(), DONE_EVENT] };
    const { calls } = await odd.ask(way, reply);
    expect(calls.map(({ name, arguments: given }) => [name, given])).toEqual([
      ['go', '{"a":1}'],
      ['go', '{"a":2}'],
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  const held = part('go', '', { id: 'c1' });
  const begun = part('get_weather', '{"city":"Rome"}', { id: 'c0' });
  const goCall = { id: 'c1', name: 'go', arguments: '' };
  test.each([
    ['alone', [chunk({ tool_calls: [held] })], [goCall]],
    ['after its role', [chunk({ role: 'assistant' }), chunk({ tool_calls: [held] })], [goCall]],
    [
      'after another',
      [chunk({ tool_calls: [begun] }), chunk({ tool_calls: [{ ...held, index: 1 }] })],
      [{ ...weather[0]!, id: 'c0' }, goCall],
    ],
  ])(
    'has a call whose name could have gone on, %s, where it ends without a finish reason',
    async (_what, chunks, calls) => {
      const reply = { chunks: [...chunks, DONE_EVENT] };
      expect(await odd.ask(way, reply)).toMatchObject({ calls, finish: 'tool_calls', content: null });
    },
  );
});
