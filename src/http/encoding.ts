import type { ServerResponse } from 'node:http';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Smaller texts gain nothing: they fit into one packet. */
const MIN_BYTES = 1024;
/** From this size on the fastest levels are taken: such texts are mostly media in base64. */
const LARGE_BYTES = 256 * 1024;
const TEXT = /^(?:text\/(?!event-stream)|application\/(?:[\w.+-]*\+)?(?:json|graphql|javascript|xml|yaml)\b)/;

export type Encoding = 'br' | 'gzip';

/**
 * The encoding in which a text is sent to a client: `br` before `gzip`, null where it accepts neither or gains nothing. Event streams are never
 * encoded, because their events would wait in a buffer.
 */
export function encodingFor(
  response: ServerResponse,
  { type, bytes }: { type: string | undefined; bytes: number },
): Encoding | null {
  if (bytes <= MIN_BYTES || type === undefined || !TEXT.test(type)) return null;
  response.appendHeader('Vary', 'Accept-Encoding');
  return acceptedEncoding(response.req.headers['accept-encoding']);
}

function acceptedEncoding(header: string | string[] | undefined): Encoding | null {
  if (header === undefined) return null;
  const refused = new Set<string>();
  const named = new Set<string>();
  for (const part of String(header).toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const isRefused = parameters.some((text) => /^q=0(?:\.0*)?$/.test(text));
    (isRefused ? refused : named).add(name);
  }
  const accepts = (name: Encoding) => named.has(name) || (named.has('*') && !refused.has(name));
  return accepts('br') ? 'br' : accepts('gzip') ? 'gzip' : null;
}

/** Packs in a thread of Node's pool. `isLasting`: the result is kept and sent often, and may cost more. Null: it could not be packed. */
export function encode(body: Buffer | string, encoding: Encoding, isLasting = false): Promise<Buffer | null> {
  const quick = body.length >= LARGE_BYTES;
  const quality = isLasting ? 9 : quick ? 1 : 4;
  return new Promise((resolve) => {
    const done = (error: Error | null, packed: Buffer): void => resolve(error === null ? packed : null);
    if (encoding === 'gzip') gzip(body, { level: isLasting ? 9 : quick ? 1 : 6 }, done);
    else brotliCompress(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }, done);
  });
}
