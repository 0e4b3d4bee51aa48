import { randomFillSync, randomInt } from 'node:crypto';

/** One call of the generator serves hundreds of ids: a call for each id costs more than the id. */
const pool = Buffer.alloc(4096);
let used = pool.length;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME = 10;
const COUNT = 4;
const RANDOM = 12;

/** In base 32. */
function digits(value: number, length: number): string {
  let text = '';
  for (let rest = value, i = 0; i < length; i++, rest = Math.floor(rest / 32))
    text = ALPHABET[rest % 32] + text;
  return text;
}

/** When an id was made, as Unix milliseconds. */
export function timeOfId(id: string): number {
  const time = id.slice(id.indexOf('_') + 1).slice(0, TIME);
  return [...time].reduce((value, digit) => value * 32 + ALPHABET.indexOf(digit), 0);
}

/** The ids of one millisecond begin alike, and are counted from somewhere in the lower half of what can be counted. */
let lastTime = -1;
let lastText = '';
let count = 0;

function timeOf(now: number): string {
  if (now !== lastTime) {
    lastTime = now;
    lastText = digits(now, TIME);
    count = randomInt(32 ** COUNT / 2);
  }
  return lastText + digits(count++, COUNT);
}

/**
 * A new id: `<prefix>_` and a lower-case ULID (10 characters of time in ms, 16 of randomness, of which the first four count the ids of a
 * millisecond), so that the ids of a process sort by creation.
 */
export function newId(prefix: string, now: number = Date.now()): string {
  if (used + RANDOM > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  let random = '';
  for (const end = used + RANDOM; used < end; used++) random += ALPHABET[(pool[used] ?? 0) & 31];
  return `${prefix}_${timeOf(now)}${random}`;
}
