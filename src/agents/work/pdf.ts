import PDFDocument from 'pdfkit';
import { BOLD, unsupportedCharacters, MONO, refuseUnsupportedCharacters, REGULAR } from './glyphs.js';

const HEADING_SIZES = [20, 16, 13, 12, 11, 11];
const TEXT_SIZE = 10.5;

/** Markdown's marks within a line, taken off. */
function plain(text: string): string {
  return (
    text
      .replace(/!\[([^[\]]*)\]\(([^()[\]\s]+)\)/g, '$1 ($2)')
      .replace(/\[([^[\]]+)\]\(([^()[\]\s]+)\)/g, '$1 ($2)')
      // bounded: of each of the three marks only the last in a line has no other behind it.
      .replace(/(\*\*|__|`)(.+?)\1/g, '$2')
      .replace(/(^|\s)[*_](\S.{0,500}?\S|\S)[*_](?=\s|[.,;:!?)]|$)/g, '$1$2')
  );
}

/** Without these a text says something else; without a picture (emoji, or the frame around one) it says the same. */
const WRITTEN = /[\p{L}\p{Mn}\p{Mc}\p{N}]/u;
const BLANK = /\p{Zs}/u;

/** A document, and the letters that none of its fonts has. */
interface Page {
  document: PDFKit.PDFDocument;
  lacked: Set<string>;
}

/**
 * Sets a text of headings, paragraphs, lists and code as a document of A4 pages.
 * @throws WorkRefusal where the fonts lack some of its characters
 */
export async function renderPdf(title: string, markdown: string): Promise<Uint8Array> {
  const document = new PDFDocument({
    size: 'A4',
    margin: 56,
    info: { Title: title, Producer: 'Penstock' },
    font: REGULAR,
  });
  const parts: Buffer[] = [];
  document.on('data', (part: Buffer) => parts.push(part));
  const ended = new Promise<void>((resolve) => document.on('end', () => resolve()));
  const page = { document, lacked: new Set<string>() };
  let code = false;
  for (const line of linesOf(markdown)) {
    if (/^\s*```/.test(line)) code = !code;
    else if (code) setText(page, line === '' ? ' ' : line, { font: MONO, size: 9 });
    else setLine(page, line);
  }
  document.end();
  await ended;
  refuseUnsupportedCharacters(page.lacked);
  return Buffer.concat(parts);
}

/** No font has a glyph for a tab. */
function linesOf(markdown: string): string[] {
  return markdown.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n');
}

/** Sets a text in its font, or in the regular one, which has the most glyphs. */
function setText(
  { document, lacked }: Page,
  text: string,
  { font, size, indent = 0 }: { font: string; size: number; indent?: number },
): void {
  const fitting = unsupportedCharacters([font], text).length === 0 ? font : REGULAR;
  let shown = text;
  for (const character of unsupportedCharacters([fitting], text)) {
    if (WRITTEN.test(character)) lacked.add(character);
    else shown = shown.replaceAll(character, BLANK.test(character) ? ' ' : '');
  }
  document.font(fitting).fontSize(size).text(shown, { indent });
}

function setLine(page: Page, line: string): void {
  const { document } = page;
  const heading = /^(#{1,6})\s+(\S.*)?$/.exec(line);
  if (heading) {
    const size = HEADING_SIZES[(heading[1] ?? '#').length - 1] ?? TEXT_SIZE;
    document.moveDown(0.5);
    setText(page, plain(heading[2] ?? ''), { font: BOLD, size });
    document.moveDown(0.3);
    return;
  }
  const font = { font: REGULAR, size: TEXT_SIZE };
  if (line.trim() === '') return void document.font(REGULAR).fontSize(TEXT_SIZE).moveDown(0.5);
  const item = /^(\s*)(?:[-*+]|(\d+[.)]))\s+(\S.*)?$/.exec(line);
  if (item === null) return setText(page, plain(line), font);
  const indent = 14 + Math.min(4, Math.floor((item[1] ?? '').length / 2)) * 14;
  setText(page, `${item[2] ?? '•'} ${plain(item[3] ?? '')}`, { ...font, indent });
}
