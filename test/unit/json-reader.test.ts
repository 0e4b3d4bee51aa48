import { expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.js';
import { JsonReader } from '../../src/text/json-reader.js';
import { requestJsonRules, firstKey, parseJson } from '../../src/http/json-text.js';
import { TimeSlicer } from '../../src/collections/time-slicer.js';

/** What a text is read to, a little at a time; or what it is refused for. */
function inSteps(text: string | Buffer): unknown {
  const reader = new JsonReader(Buffer.from(text), requestJsonRules(firstKey));
  // The time is over at once: it reads no further than it must.
  while (!reader.read(0));
  return reader.value;
}

function outcome(work: () => unknown): unknown {
  try {
    return { value: work() };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { refused: error.message, param: error.details.param };
  }
}

const same = (text: string): void =>
  expect(
    outcome(() => inSteps(text)),
    text.slice(0, 200),
  ).toEqual(outcome(() => parseJson(Buffer.from(text))));

/** Reproducible randomness. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

const STRINGS = [
  '""',
  '"a"',
  '"é漢😀"',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
  '"\\u00e9\\ud83d\\ude00"',
  '"\\ud83d"',
  '"\\ude00x"',
  '"\\u0000"',
  '"a\nb"',
  '"\\x"',
  '"\\u12"',
  '"__proto__"',
];
const WORDS = ['1', '-0', '1.5e-3', '1E400', '01', '+1', '.5', '1.', 'true', 'false', 'null', 'nul', 'NaN'];
const BLANKS = ['', ' ', '\n\t ', '\u00a0', '\f'];

/** Mostly JSON; now and then a part is wrong. */
function makeText(roll: (sides: number) => number, depth = 0): string {
  const pick = <T>(from: readonly T[]): T => from[roll(from.length)] as T;
  const blank = (): string => (roll(4) > 0 ? '' : (BLANKS[roll(roll(10) === 0 ? 5 : 3)] as string));
  const good = (from: readonly string[], many: number): string =>
    from[roll(roll(12) === 0 ? from.length : many)]!;
  const kind = roll(depth > 5 ? 2 : 4);
  if (kind === 0) return blank() + good(STRINGS, 5) + blank();
  if (kind === 1) return blank() + good(WORDS, 4) + blank();
  const items = Array.from({ length: roll(4) }, () => makeText(roll, depth + 1));
  const comma = roll(40) === 0 ? pick([',,', '', ';']) : ',';
  if (kind === 2) return `${blank()}[${items.join(comma)}${roll(40) === 0 ? ',' : ''}]${blank()}`;
  // No name comes twice, in whose place JSON.parse sees the last alone.
  const nameOf = (at: number): string =>
    at === 0 && roll(5) === 0 ? '"__proto__"' : good(STRINGS, 5).replace('"', `"m${at}`);
  const members = items.map((item, at) => `${blank()}${nameOf(at)}${blank()}:${item}`);
  return `${blank()}{${members.join(comma)}${roll(40) === 0 ? '}' : ''}}${blank()}`;
}

it('what is read a little at a time is what JSON.parse makes of it, refusals included', () => {
  const roll = dice(25);
  let refused = 0;
  for (let round = 0; round < 20_000; round++) {
    const text = makeText(roll);
    same(text);
    if ('refused' in (outcome(() => inSteps(text)) as object)) refused++;
  }
  expect(refused).toBeGreaterThan(2000);
  expect(refused).toBeLessThan(18_000);
});

it('a text that ends, or is changed, anywhere is refused as JSON.parse refuses it', () => {
  const text = '{"a":[1,"\\u00e9",{"b":null,"c":-1.5e3}], "d" :"x\\n"}';
  for (let end = 0; end <= text.length; end++) {
    same(text.slice(0, end));
    for (const wrong of ['"', '{', ']', ',', ':', '\\', '0', ' ', 'é'])
      same(text.slice(0, end) + wrong + text.slice(end + 1));
  }
});

it('long strings are whole, wherever their pieces end', () => {
  const piece = 128 * 1024;
  for (const unit of ['x', 'é', '漢', '😀', '\\n', '\\u00e9', '\\ud83d\\ude00', '\\\\', '\\/'])
    for (let shift = 0; shift < 13; shift++)
      same(`{"image":"${'-'.repeat(shift)}${unit.repeat(piece / unit.length + 7)}"}`);
  same(`["${'x'.repeat(3 * piece)}`);
  same(`["${'x'.repeat(3 * piece)}\u0001"]`);
  same(`{"a":{"b":"${'x'.repeat(2 * piece)}\\ud83d${'x'.repeat(piece)}"}}`);
  same(`{"a":1${' '.repeat(3 * piece)}}`);
});

it('what no call needs is refused while it is read', () => {
  const refusal = (text: string): unknown => outcome(() => inSteps(text));
  expect(refusal('['.repeat(501) + ']'.repeat(501))).toMatchObject({ refused: 'JSON is nested too deeply' });
  expect(refusal(`[${'0,'.repeat(1_000_001)}0]`)).toMatchObject({ refused: 'JSON has too many members' });
  expect(refusal(`{${'"a":0,'.repeat(200_001)}"a":0}`)).toMatchObject({
    refused: 'JSON has too many members',
  });
  expect(refusal('1'.repeat(10_000))).toMatchObject({ refused: 'Malformed JSON' });
});

/** Large bodies of every form that a parser may dwell on. */
const MB = 1024 * 1024;
const bodies = (): Record<string, string> => ({
  'one text': `{"query":"${'x'.repeat(36 * MB)}"}`,
  'a text without an end': `{"query":"${'x'.repeat(36 * MB)}`,
  quotes: `{"query":"${'\\"'.repeat(18 * MB)}`,
  backslashes: `{"query":"${'\\\\'.repeat(18 * MB)}`,
  escapes: `{"query":"${'\\u6f22'.repeat(6 * MB)}"`,
  'no ASCII': `{"query":"${'漢'.repeat(12 * MB)}"`,
  blanks: `{"query":${' '.repeat(36 * MB)}`,
  digits: `{"query":${'1'.repeat(36 * MB)}`,
  names: `{${Array.from({ length: 150_000 }, (_, at) => `"${at.toString(36)}":1`).join()},`,
  objects: `[${'{},'.repeat(900_000)}`,
  lists: `[${'[],'.repeat(900_000)}`,
  numbers: `[${'1,'.repeat(999_000)}`,
  'short texts': `[${'"abcdef",'.repeat(900_000)}`,
});

it('no body takes the event loop for long at a time', () => {
  for (const [name, text] of Object.entries(bodies())) {
    const reader = new JsonReader(Buffer.from(text), requestJsonRules(firstKey));
    let worst = 0;
    for (let done = false; !done;) {
      const before = process.threadCpuUsage();
      const read = outcome(() => reader.read(performance.now() + 2)) as { value?: boolean };
      done = read.value !== false;
      const { user, system } = process.threadCpuUsage(before);
      worst = Math.max(worst, (user + system) / 1000);
    }
    // Of this thread's own time: other load of the machine does not count. The promise is 50 ms, and a collection of garbage may come between.
    expect(worst, name).toBeLessThan(200);
  }
}, 120_000);

it('long tasks take turns, and other work runs between their slices', async () => {
  const timeSlicer = new TimeSlicer();
  const order: string[] = [];
  const work = (name: string) => {
    let left = 3;
    return timeSlicer.run(() => {
      order.push(name);
      return --left === 0;
    });
  };
  const works = Promise.all([work('a'), work('b')]);
  const others = async () => {
    for (let turn = 0; turn < 5; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('-');
    }
  };
  await Promise.all([works, others()]);
  expect(order.join('')).toMatch(/^a-b-a-b-a-b$|^a-b-a-b-ab$/);
  await expect(
    timeSlicer.run(() => {
      throw new Error('refused');
    }),
  ).rejects.toThrow('refused');
  expect(await timeSlicer.run(() => true)).toBeUndefined();
});
