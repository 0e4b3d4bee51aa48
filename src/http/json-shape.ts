import { invalid } from '../contract/errors.js';

/** Far more than any schema needs. Deeper JSON would overflow the stack of a recursive reader such as JSON.stringify. */
export const MAX_DEPTH = 500;
/** Far more than any call needs, in all objects of a body together. */
export const MAX_MEMBERS = 200_000;
/** In one object. A larger object blocks the event loop: V8 collects and sorts all its names in one step. */
export const MAX_OBJECT_MEMBERS = 20_000;
/** Commas: of members, and of the items of all lists. */
export const MAX_COMMAS = 1_000_000;
/** Shorter texts are parsed as fast as they are looked through, whatever they hold. */
const SMALL_BYTES = 64 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in this bit only. */
const BRACE_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

export const tooDeep = () => invalid('JSON is nested too deeply');
export const tooMany = () => invalid('JSON has too many members');

/**
 * Refuses JSON whose parsing would block the process for seconds: objects with a million names, millions of lists, or millions of levels. One
 * pass over the bytes; it skips strings. It does not check that the text is valid JSON.
 * @throws ApiError invalid_request
 */
export function checkShape(bytes: Buffer): void {
  if (bytes.length <= SMALL_BYTES) return;
  let depth = 0;
  let members = 0;
  let commas = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      if (at < 0) return;
    } else if (byte === COLON) {
      if (++members > MAX_MEMBERS) throw tooMany();
    } else if (byte === COMMA) {
      if (++commas > MAX_COMMAS) throw tooMany();
    } else if ((byte | BRACE_BIT) === OPENING) {
      if (++depth > MAX_DEPTH) throw tooDeep();
    } else if ((byte | BRACE_BIT) === CLOSING) depth -= 1;
  }
}

/** Whether all objects of a JSON text together have more than so many members. */
export function hasMoreMembers(bytes: Buffer, most: number): boolean {
  let members = 0;
  // A member takes at least four bytes.
  if (bytes.length <= 4 * most) return false;
  for (let at = 0; at >= 0 && at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE) at = endOfString(bytes, at);
    else if (bytes[at] === COLON && ++members > most) return true;
    if (at < 0) return false;
  }
  return false;
}

/** Where the string that begins at `from` ends; -1 where it does not. */
function endOfString(bytes: Buffer, from: number): number {
  for (let quote = bytes.indexOf(QUOTE, from + 1); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let first = quote;
    while (bytes[first - 1] === BACKSLASH) first -= 1;
    if ((quote - first) % 2 === 0) return quote;
  }
  return -1;
}
