import { decodedBase64 } from './base64.js';
import { percentDecoded } from './percent.js';

const HEAD = /^data:[^,]{0,200}$/i;
const BASE64 = /;\s*base64\s*$/i;

export const isDataUrl = (value: string): boolean => /^data:/i.test(value);

/** The bytes of a `data:` URL; null if it is not a valid one. Its declared type is ignored: the type is detected from the content. */
export async function dataUrlBytes(value: string): Promise<Buffer | null> {
  const comma = value.indexOf(',');
  const head = value.slice(0, comma);
  if (comma < 0 || !HEAD.test(head)) return null;
  const payload = value.slice(comma + 1);
  if (!BASE64.test(head)) return await percentDecoded(payload);
  const text = payload.includes('%') ? (await percentDecoded(payload))?.toString('latin1') : payload;
  return text === undefined ? null : await decodedBase64(text, { blanks: true });
}
