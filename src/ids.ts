import { randomFillSync } from 'node:crypto';

/** One call of the generator serves 256 ids: a call for each id costs more than the id. */
const pool = Buffer.alloc(4096);
let used = pool.length;

function randomBytes(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return pool.subarray(used - count, used);
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * A new id: `<prefix>_` and a lower-case ULID (10 characters of time in ms, 16 of randomness), so that ids sort by creation.
 */
export function newId(prefix: string, now: number = Date.now()): string {
  let time = '';
  for (let rest = now, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32] + time;
  let random = '';
  for (const byte of randomBytes(16)) random += ALPHABET[byte & 31];
  return `${prefix}_${time}${random}`;
}
