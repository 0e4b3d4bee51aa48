/** The possible beginning of an answer: blanks, and a byte order mark, which may arrive in parts. */
const BEFORE_ANSWER = new Set([...Buffer.from('\ufeff\t\n\r ')]);

/** An answer's first bytes, once there are some. */
export function fromItsBeginning(bytes: Buffer): Buffer {
  const at = bytes.findIndex((byte) => !BEFORE_ANSWER.has(byte));
  return bytes.subarray(at === -1 ? bytes.length : at);
}
