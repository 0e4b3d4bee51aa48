import { setImmediate as turn } from 'node:timers/promises';
import { TextDecoder } from 'node:util';

/** Formats of knowledge files (contract 4.8). */
export type FileKind = 'pdf' | 'docx' | 'md' | 'csv' | 'txt';

export const CONTENT_TYPES: Record<FileKind, string> = {
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  md: 'text/markdown',
  csv: 'text/csv',
  txt: 'text/plain',
};

const CONTROL = /\p{Cc}/gu;

/** Characters of a name; of a longer one the end counts, where the extension stands. */
const MAX_NAME = 255;

const HEAD_BYTES = 1024;
/** Looked at in one go: a millisecond or two. */
const PIECE_BYTES = 262_144;
const ARCHIVE = Buffer.from('PK\x03\x04', 'latin1');
/** What a DOCX's directory names, whatever its main part is called (`word/document2.xml`); names stand in it uncompressed. */
const DOCX_PARTS = ['word/', '[Content_Types].xml'];
const PDF_MARK = '%PDF-';

/** What a file is by its content, read once; the name only tells kinds of text apart. Null: none of the formats. */
export async function kindOf(
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
  filename: string,
): Promise<FileKind | null> {
  let seen: PartsSeen | TextSeen | null = null;
  let otherwise: FileKind | null = null;
  for await (const chunk of withHead(piecesOf(content))) {
    if (seen === null) {
      const head = chunk.subarray(0, HEAD_BYTES).toString('latin1');
      if (head.trimStart().startsWith(PDF_MARK)) return 'pdf';
      const isArchive = chunk.subarray(0, 4).equals(ARCHIVE);
      // Some programs put something before the mark; but what is text altogether is one that tells of PDFs.
      if (!isArchive && head.includes(PDF_MARK)) otherwise = 'pdf';
      seen = isArchive ? new PartsSeen(DOCX_PARTS) : new TextSeen(chunk);
    }
    if (!seen.take(chunk)) return otherwise;
  }
  if (seen === null || !seen.end()) return otherwise;
  return seen instanceof PartsSeen ? 'docx' : textKind(filename);
}

/** Chunks that are not long; what was one long one leaves the event loop to others in between. */
async function* piecesOf(
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      if (at > 0) await turn();
      yield chunk.subarray(at, at + PIECE_BYTES);
    }
  }
}

/** The chunks, the first of them at least as long as what a kind is known by. */
async function* withHead(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of content) {
    if (head === null) yield chunk;
    else if ((head = Buffer.concat([head, chunk])).length >= HEAD_BYTES) {
      yield head;
      head = null;
    }
  }
  if (head !== null && head.length > 0) yield head;
}

function textKind(filename: string): FileKind {
  const extension = /\.([a-z0-9]{1,10})$/i.exec(filename)?.[1]?.toLowerCase();
  if (extension === 'csv') return 'csv';
  return extension === 'md' || extension === 'markdown' ? 'md' : 'txt';
}

/** Whether all of some texts come by, also across the borders of chunks. */
class PartsSeen {
  private readonly missing: Set<string>;
  private rest = Buffer.alloc(0);

  constructor(private readonly parts: readonly string[]) {
    this.missing = new Set(parts);
  }

  take(chunk: Buffer): boolean {
    const whole = Buffer.concat([this.rest, chunk]);
    for (const part of this.missing) if (whole.includes(part)) this.missing.delete(part);
    this.rest = whole.subarray(-Math.max(...this.parts.map(({ length }) => length)));
    return true;
  }

  end(): boolean {
    return this.missing.size === 0;
  }
}

/** Whether all of it is text that an editor could have written. */
class TextSeen {
  private readonly decoder: TextDecoder;

  constructor(head: Buffer) {
    this.decoder = decoderOf(head);
  }

  take(chunk: Buffer): boolean {
    return this.fits(() => this.decoder.decode(chunk, { stream: true }));
  }

  end(): boolean {
    return this.fits(() => this.decoder.decode());
  }

  private fits(decode: () => string): boolean {
    try {
      return !hasUnprintable(decode());
    } catch {
      return false;
    }
  }
}

/** A NUL or another control character that no text editor writes (tab to carriage return and escape are). */
function hasUnprintable(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7f || (code < 0x20 && (code < 0x09 || code > 0x0d) && code !== 0x1b)) return true;
  }
  return false;
}

function decoderOf(head: Buffer): TextDecoder {
  const mark = head.subarray(0, 2).toString('latin1');
  const encoding = mark === '\xff\xfe' ? 'utf-16le' : mark === '\xfe\xff' ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding, { fatal: true });
}

/** UTF-8, or UTF-16 with its mark; null where the bytes are neither. */
export function decodeText(bytes: Buffer): string | null {
  try {
    return decoderOf(bytes).decode(bytes);
  } catch {
    return null;
  }
}

/** A text's bytes in UTF-8: the very same where they are. */
export function inUtf8(bytes: Buffer): Buffer {
  return decoderOf(bytes).encoding === 'utf-8' ? bytes : Buffer.from(decodeText(bytes) ?? '');
}

/** The name's last part without anything that could lead elsewhere. */
export function baseName(filename: string): string {
  const last = filename.replaceAll('\\', '/').split('/').at(-1) ?? '';
  const name = [...last.replace(CONTROL, '').trim().toWellFormed()].slice(-MAX_NAME).join('');
  return name === '' || name === '.' || name === '..' ? 'file' : name;
}
