import mammoth from 'mammoth';
import yauzl from 'yauzl';
import { isCompound } from './file-kind.js';

/** The maximum of unpacked bytes and of parts of a DOCX. */
const MAX_UNPACKED = 60 * 1024 * 1024;
const MAX_PARTS = 5000;
const HEAD = 4096;
/** Parts that Word repeats on each page, which mammoth does not read. */
const PAGE_PARTS = /(?:^|\/)(header|footer)[^/]{0,64}\.xml$/i;

/** Headers and footers, each as its text. */
interface PageParts {
  header: Set<string>;
  footer: Set<string>;
}

const unopened = (): Error => new Error('The document cannot be opened');

/** Adds up the sizes that the archive declares before anything is unpacked; yauzl refuses an entry that exceeds its declared size. */
function checkArchive(bytes: Buffer): Promise<PageParts> {
  return new Promise((resolve, reject) => {
    yauzl.fromBuffer(bytes, { lazyEntries: true, validateEntrySizes: true }, (error, archive) => {
      if (error !== null || archive === undefined) return reject(unopened());
      const found: PageParts = { header: new Set(), footer: new Set() };
      let unpacked = 0;
      let parts = 0;
      archive.on('entry', (entry: yauzl.Entry) => {
        unpacked += entry.uncompressedSize;
        parts += 1;
        if (unpacked > MAX_UNPACKED || parts > MAX_PARTS)
          return reject(new Error('The document is too large unpacked'));
        if (!/\.(xml|rels)$/i.test(entry.fileName)) return archive.readEntry();
        archive.openReadStream(entry, (failed, stream) => {
          if (failed !== null || stream === undefined) return reject(unopened());
          const place = PAGE_PARTS.exec(entry.fileName)?.[1]?.toLowerCase() as keyof PageParts | undefined;
          const chunks: Buffer[] = [];
          let length = 0;
          stream.on('data', (chunk: Buffer) => {
            if (place !== undefined || length < HEAD) chunks.push(chunk);
            length += chunk.length;
          });
          stream.on('error', () => reject(unopened()));
          stream.on('end', () => {
            const part = Buffer.concat(chunks);
            // In two-byte encodings every other byte is a NUL.
            if (/<!(DOCTYPE|ENTITY)/i.test(part.toString('latin1', 0, HEAD).replaceAll('\0', '')))
              return reject(new Error('The document declares entities'));
            if (place !== undefined) found[place].add(markupText(part.toString('utf8')).trim());
            archive.readEntry();
          });
        });
      });
      archive.on('error', () => reject(unopened()));
      archive.on('end', () => resolve(found));
      archive.readEntry();
    });
  });
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replace(/&(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,4});/gi, (all, name: string) => {
    if (!name.startsWith('#')) return ENTITIES[name] ?? all;
    const code = Number(name[1]?.toLowerCase() === 'x' ? `0${name.slice(1)}` : name.slice(1));
    return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : all;
  });
}

/** The text of a part of WordprocessingML: the contents of `w:t`, with the ends of paragraphs. */
function markupText(xml: string): string {
  let text = '';
  let isText = false;
  for (let at = 0; at < xml.length;) {
    const open = xml.indexOf('<', at);
    const end = open < 0 ? -1 : xml.indexOf('>', open);
    if (isText) text += unescaped(xml.slice(at, open < 0 ? xml.length : open));
    if (end < 0) break;
    const name = /^\/?[\w:.-]{0,60}/.exec(xml.slice(open + 1, open + 64))?.[0] ?? '';
    isText = name === 'w:t' && xml[end - 1] !== '/';
    if (name === 'w:tab') text += '\t';
    else if (name === 'w:br' || name === '/w:p') text += '\n';
    at = end + 1;
  }
  return text;
}

/** What mammoth makes of a part of a document. */
interface DocxPart {
  type: string;
  value?: string;
  children?: DocxPart[];
  noteType?: string;
  noteId?: string;
  commentId?: string;
}

interface DocxDocument extends DocxPart {
  notes?: { resolve(reference: DocxPart): { body: DocxPart[] } | undefined };
  comments?: { commentId: string; body: DocxPart[] }[];
}

/** Collects a document's text. Footnotes, endnotes and comments stand behind the paragraph that refers to them. */
class DocxText {
  private readonly comments: Map<string, DocxPart[]>;
  private waiting: DocxPart[][] = [];

  constructor(private readonly document: DocxDocument) {
    this.comments = new Map((document.comments ?? []).map(({ commentId, body }) => [commentId, body]));
  }

  whole(): string {
    return this.partText(this.document) + this.notesText();
  }

  private partText(part: DocxPart): string {
    const { type, value, children = [] } = part;
    if (type === 'text') return value ?? '';
    if (type === 'tab') return '\t';
    if (type === 'break') return '\n';
    if (type === 'noteReference') this.wait(this.document.notes?.resolve(part)?.body);
    if (type === 'commentReference') this.wait(this.comments.get(part.commentId ?? ''));
    const text = children.map((child) => this.partText(child)).join('');
    return type === 'paragraph' ? `${text}\n\n${this.notesText()}` : text;
  }

  private wait(body: DocxPart[] | undefined): void {
    if (body !== undefined) this.waiting.push(body);
  }

  /** A note may not refer to notes: it is written without them. */
  private notesText(): string {
    const bodies = this.waiting;
    this.waiting = [];
    const plain = ({ type, value, children = [] }: DocxPart): string =>
      type === 'text' ? (value ?? '') : children.map(plain).join('') + (type === 'paragraph' ? '\n' : '');
    return bodies.map((body) => `${body.map(plain).join('').trim()}\n\n`).join('');
  }
}

/**
 * The text is taken from the document on its way to HTML: mammoth's own raw text leaves line breaks out, and joins the words beside them.
 * Headers and footers stand once, before and behind the rest.
 * @throws Error in words for the file's owner
 */
export async function docxText(bytes: Buffer): Promise<string[]> {
  if (isCompound(bytes)) throw new Error('The document is protected by a password');
  const { header, footer } = await checkArchive(bytes);
  let text = '';
  const transformDocument = (document: DocxDocument): DocxPart => {
    text = new DocxText(document).whole();
    return { ...document, children: [] };
  };
  const plain = { includeDefaultStyleMap: false, includeEmbeddedStyleMap: false };
  await mammoth.convertToHtml({ buffer: bytes }, { ...plain, transformDocument });
  const pageText = (texts: Set<string>) =>
    [...texts].filter((part) => part !== '').map((part) => `${part}\n\n`);
  return [...pageText(header), text, ...pageText(footer)];
}
