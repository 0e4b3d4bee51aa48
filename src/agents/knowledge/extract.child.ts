/**
 * The process that reads strangers' documents: one file on standard input, what was asked for on standard output, then it ends. Its parent
 * bounds its time and memory (extract.ts), so a hostile file costs this process only: all that takes longer with a longer text is done here.
 *
 * `extract.child.js <kind> passages <most>`: lines, each a JSON array of `[text, vector in base64]` with about `most` characters.
 * `extract.child.js <kind> text <most>`: the text's first characters as `{"text", "cut"}`. Where it ends with another code than 0 it wrote why,
 * in words for the file's owner.
 */
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { chunksOf } from './chunks.js';
import { docxText } from './docx-text.js';
import type { FileKind } from './file-kind.js';
import { tableText } from './table-text.js';
import { decodeText } from './text-encoding.js';
import { vectorOf } from './vectors.js';

/** More characters than a file of plain text may have. */
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

/** A folder of the package, as it takes them: with a separator at its end. */
function pdfFolder(name: string): string {
  const { resolve } = createRequire(import.meta.url);
  return join(dirname(resolve('pdfjs-dist/package.json')), name) + sep;
}

async function pdfText(bytes: Buffer): Promise<string[]> {
  const { getDocument, VerbosityLevel, PasswordException } = await import('pdfjs-dist/legacy/build/pdf.mjs');
  const task = getDocument({
    data: new Uint8Array(bytes),
    verbosity: VerbosityLevel.ERRORS,
    disableFontFace: true,
    useSystemFonts: false,
    stopAtErrors: false,
    // A text whose fonts are not embedded refers to a standard character map, which must be loaded.
    cMapUrl: pdfFolder('cmaps'),
    cMapPacked: true,
    standardFontDataUrl: pdfFolder('standard_fonts'),
  });
  const document = await task.promise.catch((error: unknown) => {
    if (error instanceof PasswordException) throw new Error('The file is protected by a password');
    throw error;
  });
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

/** Each returns the text in pieces, because a long text takes more memory as one string. */
const READERS: Record<FileKind, (bytes: Buffer) => Promise<string[]> | string[]> = {
  pdf: pdfText,
  docx: docxText,
  csv: tableText,
  md: (bytes) => [decodeText(bytes)],
  txt: (bytes) => [decodeText(bytes)],
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

function* upTo(pieces: readonly string[], most: number): Generator<string> {
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
  const parts = wanted === 'passages' ? passagesOf(pieces, Number(most)) : upTo(pieces, Number(most));
  for (const part of parts) await write(part);
  process.exit(0);
} catch (error) {
  const known =
    error instanceof Error && error.message.startsWith('The ') ? error.message : 'The file cannot be read';
  await write(known);
  process.exit(1);
}
