/**
 * The process that reads strangers' documents: one file on standard input, what was asked for on standard output, then it ends. Its parent
 * bounds its time and memory (extract.ts), so a hostile file costs this process only: all that takes longer with a longer text is done here.
 *
 * `extract.child.js <kind> passages <most>`: lines, each a JSON array of `[text, vector in base64]` with about `most` characters.
 * `extract.child.js <kind> text <most>`: the text's first characters as `{"text", "cut"}`. Where it ends with another code than 0 it wrote why,
 * in words for the file's owner.
 */
import mammoth from 'mammoth';
import yauzl from 'yauzl';
import { chunksOf } from './chunks.js';
import { decodeText } from './file-kind.js';
import type { FileKind } from './file-kind.js';
import { tableText } from './table-text.js';
import { vectorOf } from './vectors.js';

/** What a DOCX may hold unpacked, and in how many parts. */
const MAX_UNPACKED = 60 * 1024 * 1024;
const MAX_PARTS = 5000;
/** More than any file may have that is nothing but text. */
const MAX_TEXT = 60 * 1024 * 1024;

async function readInput(): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

interface TextPart {
  str?: string;
  hasEOL?: boolean;
}

async function pdfText(bytes: Buffer): Promise<string[]> {
  const { getDocument, VerbosityLevel } = await import('pdfjs-dist/legacy/build/pdf.mjs');
  const task = getDocument({
    data: new Uint8Array(bytes),
    verbosity: VerbosityLevel.ERRORS,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
  });
  const document = await task.promise;
  const pages: string[] = [];
  let length = 0;
  for (let number = 1; number <= document.numPages && length <= MAX_TEXT; number++) {
    const page = await document.getPage(number);
    const content = await page.getTextContent();
    const text = (content.items as TextPart[])
      .map(({ str = '', hasEOL }) => (hasEOL ? `${str}\n` : str))
      .join('');
    length += text.length;
    pages.push(pages.length === 0 ? text : `\n\n${text}`);
    page.cleanup();
  }
  return pages;
}

/** Adds up what the archive says it holds, and lets yauzl hold it to that, before anything unpacks it whole. */
function checkArchive(bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    yauzl.fromBuffer(bytes, { lazyEntries: true, validateEntrySizes: true }, (error, archive) => {
      if (error !== null || archive === undefined) return reject(new Error('The document cannot be opened'));
      let unpacked = 0;
      let parts = 0;
      archive.on('entry', (entry: yauzl.Entry) => {
        unpacked += entry.uncompressedSize;
        parts += 1;
        if (unpacked > MAX_UNPACKED || parts > MAX_PARTS)
          return reject(new Error('The document is too large unpacked'));
        if (!/\.(xml|rels)$/i.test(entry.fileName)) return archive.readEntry();
        archive.openReadStream(entry, (failed, stream) => {
          if (failed !== null || stream === undefined)
            return reject(new Error('The document cannot be opened'));
          let head = '';
          stream.on('data', (chunk: Buffer) => {
            if (head.length < 4096) head += chunk.toString('latin1');
          });
          stream.on('error', () => reject(new Error('The document cannot be opened')));
          stream.on('end', () => {
            // In two-byte encodings every other byte is a NUL.
            if (/<!(DOCTYPE|ENTITY)/i.test(head.replaceAll('\0', '')))
              return reject(new Error('The document declares entities'));
            archive.readEntry();
          });
        });
      });
      archive.on('error', () => reject(new Error('The document cannot be opened')));
      archive.on('end', () => resolve());
      archive.readEntry();
    });
  });
}

/** What mammoth makes of a part of a document. */
interface DocxPart {
  type: string;
  value?: string;
  children?: DocxPart[];
}

function docxPartText({ type, value, children = [] }: DocxPart): string {
  if (type === 'text') return value ?? '';
  if (type === 'tab') return '\t';
  if (type === 'break') return '\n';
  return children.map(docxPartText).join('') + (type === 'paragraph' ? '\n\n' : '');
}

/** The text is taken from the document on its way to HTML: mammoth's own raw text leaves line breaks out, and joins the words beside them. */
async function docxText(bytes: Buffer): Promise<string[]> {
  await checkArchive(bytes);
  let text = '';
  const transformDocument = (document: DocxPart): DocxPart => {
    text = docxPartText(document);
    return { ...document, children: [] };
  };
  const plain = { includeDefaultStyleMap: false, includeEmbeddedStyleMap: false };
  await mammoth.convertToHtml({ buffer: bytes }, { ...plain, transformDocument });
  return [text];
}

/** A text in pieces, for a long one takes more memory in one. */
const READERS: Record<FileKind, (bytes: Buffer) => Promise<string[]> | string[]> = {
  pdf: pdfText,
  docx: docxText,
  csv: tableText,
  md: (bytes) => [decodeText(bytes) ?? ''],
  txt: (bytes) => [decodeText(bytes) ?? ''],
};

/** @throws Error where there are too many, or none: before the first line */
function* passagesOf(pieces: readonly string[], most: number): Generator<string> {
  if (pieces.reduce((sum, { length }) => sum + length, 0) > MAX_TEXT)
    throw new Error('The file has too much text');
  let line = '';
  let none = true;
  for (const chunk of chunksOf(pieces)) {
    none = false;
    line += `${line === '' ? '[' : ','}${JSON.stringify([chunk, vectorOf(chunk).toString('base64')])}`;
    if (line.length < most) continue;
    yield `${line}]\n`;
    line = '';
  }
  if (none) throw new Error('The file has no text');
  if (line !== '') yield `${line}]\n`;
}

function* beginningOf(pieces: readonly string[], most: number): Generator<string> {
  const parts: string[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (length > most) break;
    parts.push(piece);
    length += piece.length;
  }
  yield JSON.stringify({ text: parts.join('').slice(0, most).toWellFormed(), cut: length > most });
}

function write(part: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(part, () => resolve()));
}

// A server of an older build, under which this file was replaced, says of nothing how much: it wants all of it, in one.
const [kind, wanted, most = Infinity] = process.argv.slice(2);
process.on('disconnect', () => process.exit(0));
try {
  const pieces = await READERS[kind as FileKind](await readInput());
  const parts = wanted === 'passages' ? passagesOf(pieces, Number(most)) : beginningOf(pieces, Number(most));
  for (const part of parts) await write(part);
  process.exit(0);
} catch (error) {
  const known =
    error instanceof Error && error.message.startsWith('The ') ? error.message : 'The file cannot be read';
  await write(known);
  process.exit(1);
}
