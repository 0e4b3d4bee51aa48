import { randomFillSync } from 'node:crypto';

/** One call of the generator serves 256 ids: a call for each id costs more than the id. */
const pool = Buffer.alloc(4096);
let used = pool.length;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const RANDOM = 16;

/** The ids of one millisecond begin alike. */
let lastTime = -1;
let lastText = '';

function timeOf(now: number): string {
  if (now === lastTime) return lastText;
  let time = '';
  for (let rest = now, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32] + time;
  lastTime = now;
  lastText = time;
  return time;
}

/**
 * A new id: `<prefix>_` and a lower-case ULID (10 characters of time in ms, 16 of randomness), so that ids sort by creation.
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
