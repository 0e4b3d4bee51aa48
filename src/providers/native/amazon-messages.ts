import { brokenAnswer } from '../openai-compatible/upstream-errors.js';

/** Of a message of `application/vnd.amazon.eventstream`: its length, that of its headers and a check sum before them, one more at its end. */
export const PRELUDE_BYTES = 12;
export const SUM_BYTES = 4;
const MAX_MESSAGE = 16 * 1024 * 1024;

/** A message's length; null: not all of it has come yet. */
function messageLength(bytes: Buffer): number | null {
  if (bytes.length < PRELUDE_BYTES) return null;
  const length = bytes.readUInt32BE(0);
  if (length > MAX_MESSAGE || length < PRELUDE_BYTES + SUM_BYTES)
    throw brokenAnswer('a message of a broken length');
  return length <= bytes.length ? length : null;
}

/** The messages that have come whole, and what has come of the next one. @throws UpstreamError */
export function wholeMessages(bytes: Buffer): { messages: Buffer[]; rest: Buffer } {
  const messages: Buffer[] = [];
  let rest = bytes;
  for (let length = messageLength(rest); length !== null; length = messageLength(rest)) {
    messages.push(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
  return { messages, rest };
}
