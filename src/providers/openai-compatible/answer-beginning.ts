/** What may stand before an answer: a byte order mark, which the network may cut, and blanks. */
const BEFORE_ANSWER = new Set([...Buffer.from('\ufeff\t\n\r ')]);

/** An answer's first bytes, once there are some. */
export function fromItsBeginning(bytes: Buffer): Buffer {
  const at = bytes.findIndex((byte) => !BEFORE_ANSWER.has(byte));
  return bytes.subarray(at === -1 ? bytes.length : at);
}
