import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import PDFDocument from 'pdfkit';

/** An embedded TrueType font: the standard ones know no Greek, Cyrillic or much else. */
const FONTS = join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf');
const REGULAR = join(FONTS, 'DejaVuSans.ttf');
const BOLD = join(FONTS, 'DejaVuSans-Bold.ttf');
const MONO = join(FONTS, 'DejaVuSansMono.ttf');

const HEADING_SIZES = [20, 16, 13, 12, 11, 11];
const TEXT_SIZE = 10.5;

/** Markdown's marks within a line, taken off. */
function plain(text: string): string {
  return text
    .replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, '$1 ($2)')
    .replace(/\[([^\]]+)\]\(([^)\s]+)\)/g, '$1 ($2)')
    .replace(/(\*\*|__|`)(.+?)\1/g, '$2')
    .replace(/(^|\s)[*_](\S.*?\S|\S)[*_](?=\s|[.,;:!?)]|$)/g, '$1$2');
}

/** Sets a text of headings, paragraphs, lists and code as a document of A4 pages. */
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
  let code = false;
  for (const line of markdown.replace(/\r\n?/g, '\n').split('\n')) {
    if (/^\s*```/.test(line)) code = !code;
    else if (code)
      document
        .font(MONO)
        .fontSize(9)
        .text(line === '' ? ' ' : line);
    else setLine(document, line);
  }
  document.end();
  await ended;
  return Buffer.concat(parts);
}

function setLine(document: PDFKit.PDFDocument, line: string): void {
  const heading = /^(#{1,6})\s+(.*)$/.exec(line);
  if (heading) {
    const size = HEADING_SIZES[(heading[1] ?? '#').length - 1] ?? TEXT_SIZE;
    document
      .moveDown(0.5)
      .font(BOLD)
      .fontSize(size)
      .text(plain(heading[2] ?? ''))
      .moveDown(0.3);
    return;
  }
  document.font(REGULAR).fontSize(TEXT_SIZE);
  if (line.trim() === '') return void document.moveDown(0.5);
  const item = /^(\s*)(?:[-*+]|(\d+[.)]))\s+(.*)$/.exec(line);
  if (item === null) return void document.text(plain(line));
  const indent = 14 + Math.min(4, Math.floor((item[1] ?? '').length / 2)) * 14;
  document.text(`${item[2] ?? '•'} ${plain(item[3] ?? '')}`, { indent });
}
