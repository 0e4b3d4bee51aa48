import { expect, test } from 'vitest';
import { TimeSlicer } from '../../src/collections/time-slicer.js';
import { isLongJson, jsonPieces } from '../../src/text/json-pieces.js';
import { writeJson } from '../../src/text/write-json.js';

/** Longer than a piece. */
const LONG = 70_000;
const repeat = <Item>(count: number, item: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => item(at));

/** What is hard to cut: pairs of surrogates, halves of them, what is escaped; values that JSON leaves out or writes otherwise. */
const TEXTS = [
  'a',
  'é',
  '"',
  '\\',
  '\n',
  '\u0000',
  '\u{1f469}',
  `a\u{1f469}`,
  '\ud800',
  '\udc00',
  '\udc00\ud800',
  '\u2028',
];
const SCALARS = [null, true, 0, -0, 1e21, -1.5e-7, NaN, Infinity, '', new Date(0), [], {}];
const ODD = [undefined, () => 1, Symbol('a')];

const values: [string, unknown][] = [
  ...TEXTS.map((text): [string, unknown] => [`a text of ${JSON.stringify(text)}`, text.repeat(LONG)]),
  ...TEXTS.map((text): [string, unknown] => [
    `a name of ${JSON.stringify(text)}`,
    { [text.repeat(LONG)]: 'a'.repeat(LONG) },
  ]),
  ...SCALARS.map((value): [string, unknown] => [`a list of ${String(value)}`, repeat(LONG, () => value)]),
  ...[...SCALARS, ...ODD].map((value, at): [string, unknown] => [
    `value ${at} between long ones`,
    [value, 'a'.repeat(LONG), value, { value, long: 'é'.repeat(LONG), last: value }, value],
  ]),
  [
    'vectors',
    { data: repeat(40, (index) => ({ index, embedding: repeat(1536, (at) => Math.sin(at * index)) })) },
  ],
  ['an object of odd values alone', { a: undefined, b: repeat(LONG, () => undefined), c: { d: undefined } }],
  ['a list with holes', Object.assign([] as unknown[], { 7: 'a', [LONG]: 'b' })],
  ['names that are numbers', Object.fromEntries(repeat(20_000, (at) => [String(at * 7), at]))],
  [
    'no prototype',
    Object.assign(Object.create(null) as object, { a: 'a'.repeat(LONG), b: { c: repeat(LONG, String) } }),
  ],
  [
    'many levels',
    repeat(200, String).reduce<unknown>((inner) => ['a'.repeat(1000), { inner }], 'a'.repeat(LONG)),
  ],
];

test.each(values)('%s is written in pieces as JSON.stringify writes it', (_, value) => {
  const pieces = [...jsonPieces(value)];
  expect(pieces.join('') === JSON.stringify(value)).toBe(true);
  expect(pieces.length).toBeGreaterThan(1);
  // A name and what is escaped may make a piece longer than it looks.
  const longestName =
    value !== null && typeof value === 'object'
      ? Math.max(0, ...Object.keys(value).map((name) => name.length))
      : 0;
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(6 * (longestName + 5 * 65_536));
});

test('a long value is written in slices, to the same bytes', async () => {
  const timeSlicer = new TimeSlicer();
  for (const [, value] of values.filter((__, at) => at % 5 === 0)) {
    const all = repeat(9, () => value);
    const written = writeJson(all, timeSlicer);
    expect(isLongJson(all)).toBe(written instanceof Promise);
    expect(String(await written) === JSON.stringify(all)).toBe(true);
  }
});

test('what is short is written at once', () => {
  const timeSlicer = new TimeSlicer();
  for (const value of [...SCALARS, repeat(20, (at) => ({ id: `job_${at}`, createdAt: new Date(0) }))])
    expect(writeJson(value, timeSlicer)).toBe(JSON.stringify(value));
});
