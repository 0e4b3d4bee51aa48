import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { encode, encodingFor } from './encoding.js';
import type { Encoding } from './encoding.js';

/** A text that stays as it is while the process runs: a description of the API. */
export type DocumentSender = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Sends a text with its `ETag`, packed once for each encoding; 304 to who has it. `headers` have lower-case names. */
export function createDocument(body: Buffer, headers: Record<string, string>): DocumentSender {
  const etag = etagOf(body);
  const packed = new Map<Encoding, Promise<Buffer | null>>();
  const packedBy = (encoding: Encoding): Promise<Buffer | null> => {
    const known = packed.get(encoding) ?? encode(body, encoding, true);
    packed.set(encoding, known);
    return known;
  };
  const type = headers['content-type'];
  return async (request, response) => {
    response.setHeader('ETag', etag);
    response.setHeader('Cache-Control', 'no-cache');
    const encoding = encodingFor(response, { type, bytes: body.length });
    if (isKnown(request, etag)) return void response.writeHead(304).end();
    const text = encoding === null ? null : await packedBy(encoding);
    if (response.destroyed || response.headersSent) return;
    const sent = text ?? body;
    response.writeHead(200, {
      ...headers,
      ...(text === null ? {} : { 'content-encoding': encoding ?? '' }),
      'content-length': sent.length,
    });
    response.end(sent);
  };
}

/** A weak tag: all encodings of a text have the same. */
export const etagOf = (body: Buffer | string): string =>
  `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;

/** Whether the client says that it has the text with this tag. */
export function isKnown({ headers }: Pick<IncomingMessage, 'headers'>, etag: string): boolean {
  const given = headers['if-none-match'];
  if (given === undefined) return false;
  const bare = (tag: string) => tag.trim().replace(/^W\//, '');
  return given.split(',').some((tag) => tag.trim() === '*' || bare(tag) === bare(etag));
}
