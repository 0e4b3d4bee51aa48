import { nextSlice } from '../../collections/time-slicer.js';
import { TextDecoder } from 'node:util';
import { knownEncoding } from './encoding-marks.js';

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
/** Bytes that are examined in one slice: a millisecond or two. */
const PIECE_BYTES = 262_144;
const ARCHIVE = Buffer.from('PK\x03\x04', 'latin1');
/** What a DOCX's directory names, whatever its main part is called (`word/document2.xml`); names stand in it uncompressed. */
const DOCX_PARTS = ['word/', '[Content_Types].xml'].map((part) => Buffer.from(part));
/** What a DOCX with a password is packed into, and how its content is named in there. */
const COMPOUND = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const ENCRYPTED_PARTS = [Buffer.from('EncryptedPackage', 'utf16le')];
const PDF_MARK = '%PDF-';

/** Detects a file's format from its content, which is read once; the name only distinguishes formats of text. Null if it has none of the formats. */
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
      const parts = packedParts(chunk);
      // Some programs put something before the mark; but what is text altogether is one that tells of PDFs.
      if (parts === null && head.includes(PDF_MARK)) otherwise = 'pdf';
      seen = parts === null ? new TextSeen(chunk) : new PartsSeen(parts);
    }
    if (!seen.take(chunk)) return otherwise;
  }
  if (seen === null || !seen.end()) return otherwise;
  return seen instanceof PartsSeen ? 'docx' : textKind(filename);
}

/** What must stand in a file that begins so, where it is to be a document; null: it is none that is packed. */
function packedParts(head: Buffer): readonly Buffer[] | null {
  if (head.subarray(0, ARCHIVE.length).equals(ARCHIVE)) return DOCX_PARTS;
  return isCompound(head) ? ENCRYPTED_PARTS : null;
}

/** Whether a file is a compound file (OLE), the container of documents with a password. */
export const isCompound = (bytes: Buffer): boolean => bytes.subarray(0, COMPOUND.length).equals(COMPOUND);

/** Splits long chunks, and lets the event loop run in between. */
async function* piecesOf(
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      if (at > 0) await nextSlice();
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

/** Whether a stream contains all of the given texts, also across the borders of chunks. */
class PartsSeen {
  private readonly missing: Set<Buffer>;
  private rest = Buffer.alloc(0);

  constructor(private readonly parts: readonly Buffer[]) {
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

/** Whether the whole content is text, in any encoding. */
class TextSeen {
  private readonly encoding: string;
  private decoder: TextDecoder | null;

  constructor(head: Buffer) {
    this.encoding = knownEncoding(head) ?? 'utf-8';
    this.decoder = new TextDecoder(this.encoding, { fatal: true });
  }

  take(chunk: Buffer): boolean {
    return this.fits(chunk, true);
  }

  end(): boolean {
    return this.fits(Buffer.alloc(0), false);
  }

  private fits(chunk: Buffer, stream: boolean): boolean {
    if (this.decoder === null) return !hasControl(chunk);
    try {
      return !hasUnprintable(this.decoder.decode(chunk, { stream }));
    } catch {
      // Of an older encoding, then, none of which has control characters as a part of others.
      this.decoder = null;
      return this.encoding === 'utf-8' && !hasControl(chunk);
    }
  }
}

/** What no text editor writes: NUL and other control characters (tab to carriage return and escape are). */
const isControl = (code: number): boolean =>
  code === 0x7f || (code < 0x20 && (code < 0x09 || code > 0x0d) && code !== 0x1b);

const hasControl = (bytes: Buffer): boolean => bytes.some(isControl);

function hasUnprintable(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isControl(text.charCodeAt(at))) return true;
  return false;
}

/** The last part of the name, without path characters. */
export function baseName(filename: string): string {
  const last = filename.replaceAll('\\', '/').split('/').at(-1) ?? '';
  const name = [...last.replace(CONTROL, '').trim().toWellFormed()].slice(-MAX_NAME).join('');
  return name === '' || name === '.' || name === '..' ? 'file' : name;
}
