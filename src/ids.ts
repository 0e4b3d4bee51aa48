import { randomBytes } from 'node:crypto';

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
