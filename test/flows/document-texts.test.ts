import PDFDocument from 'pdfkit';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { extractText } from '../../src/agents/knowledge/extract.js';
import { kindOf } from '../../src/agents/knowledge/file-kind.js';
import type { FileKind } from '../../src/agents/knowledge/file-kind.js';
import { encoded } from '../support/encoded-text.js';
import { zipOf } from '../support/zip.js';

const textOf = async (bytes: Buffer, kind: FileKind): Promise<string> => {
  expect(await kindOf([bytes], 'a')).toBe(kind);
  return (await extractText({ bytes, kind, signal: AbortSignal.timeout(60_000) }, 100_000)).text;
};

/** A PDF with one line in a font that is not in it: the string's bytes are numbers in one of the tables that readers know. */
function pdfIn(table: string, collection: string, bytes: Buffer): Buffer {
  const content = `BT /F1 12 Tf 20 50 Td <${bytes.toString('hex')}> Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 100] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    `<< /Type /Font /Subtype /Type0 /BaseFont /Some-Font /Encoding /${table} /DescendantFonts [6 0 R] >>`,
    `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Some-Font /CIDSystemInfo << /Registry (Adobe) /Ordering (${collection}) /Supplement 2 >> /DW 1000 >>`,
  ].map((body, index) => `${index + 1} 0 obj\n${body}\nendobj\n`);
  return Buffer.from(`%PDF-1.4\n${objects.join('')}trailer\n<< /Root 1 0 R /Size 7 >>\n%%EOF\n`, 'latin1');
}

const twoBytes = (text: string) => Buffer.from(text, 'utf16le').swap16();

async function pdfWith(options: PDFKit.PDFDocumentOptions): Promise<Buffer> {
  const document = new PDFDocument(options);
  document.text('The gate opens at nine.');
  document.end();
  return await buffer(document);
}

describe('the text of a PDF', () => {
  it.each<[string, string, string, Buffer]>([
    ['UniGB-UCS2-H', 'GB1', '天气预报说明天有雨', twoBytes('天气预报说明天有雨')],
    ['UniGB-UTF16-H', 'GB1', '会议改在下午', twoBytes('会议改在下午')],
    ['GBK-EUC-H', 'GB1', '天气预报', encoded('天气预报', 'gbk')],
    ['UniCNS-UCS2-H', 'CNS1', '天氣預報', twoBytes('天氣預報')],
    ['ETen-B5-H', 'CNS1', '天氣預報', encoded('天氣預報', 'big5')],
    ['UniJIS-UCS2-H', 'Japan1', '明日は雨', twoBytes('明日は雨')],
    ['90ms-RKSJ-H', 'Japan1', '明日は雨', encoded('明日は雨', 'shift_jis')],
    ['UniKS-UCS2-H', 'Korea1', '내일은 비가', twoBytes('내일은 비가')],
    ['KSCms-UHC-H', 'Korea1', '내일은 비가', encoded('내일은 비가', 'euc-kr')],
  ])('is read in %s without its font', async (table, collection, text, bytes) => {
    expect(await textOf(pdfIn(table, collection, bytes), 'pdf')).toContain(text);
  });

  it('with a password cannot be read, and says why', async () => {
    for (const pdfVersion of ['1.4', '1.7', '1.7ext3'] as const)
      await expect(textOf(await pdfWith({ userPassword: 'secret', pdfVersion }), 'pdf')).rejects.toThrow(
        'The file is protected by a password',
      );
    expect(await textOf(await pdfWith({ ownerPassword: 'secret' }), 'pdf')).toContain(
      'The gate opens at nine.',
    );
  });
});

const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const xml = (text: string) => Buffer.from(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>${text}`);
const line = (text: string) => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

function docxOf(body: string, parts: Record<string, string> = {}): Buffer {
  const names = Object.keys(parts);
  const links = names.map(
    (name, at) =>
      `<Relationship Id="r${at}" Type="${OFFICE}/${name.replace(/\d*\.xml$/, '')}" Target="${name}"/>`,
  );
  const relations = (inner: string) =>
    xml(
      `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${inner}</Relationships>`,
    );
  return zipOf([
    {
      name: '[Content_Types].xml',
      bytes: xml(
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
      ),
    },
    {
      name: '_rels/.rels',
      bytes: relations(`<Relationship Id="d" Type="${OFFICE}/officeDocument" Target="word/document.xml"/>`),
    },
    { name: 'word/document.xml', bytes: xml(`<w:document ${W}><w:body>${body}</w:body></w:document>`) },
    { name: 'word/_rels/document.xml.rels', bytes: relations(links.join('')) },
    ...names.map((name) => ({ name: `word/${name}`, bytes: xml(parts[name] ?? '') })),
  ]);
}

describe('the text of a DOCX', () => {
  it('has its footnotes, endnotes, comments, headers, footers and text boxes, each where it belongs', async () => {
    const refer = (kind: string, id: number) => `<w:r><w:${kind} w:id="${id}"/></w:r>`;
    const body = [
      `<w:p><w:r><w:t>The gate opens at nine.</w:t></w:r>${refer('footnoteReference', 2)}${refer('commentReference', 7)}</w:p>`,
      `<w:p><w:r><w:t>Lunch is at noon.</w:t></w:r>${refer('endnoteReference', 3)}</w:p>`,
      `<w:p><w:r><w:pict xmlns:v="urn:schemas-microsoft-com:vml"><v:shape><v:textbox><w:txbxContent>${line('In a box')}</w:txbxContent></v:textbox></v:shape></w:pict></w:r></w:p>`,
    ].join('');
    const text = await textOf(
      docxOf(body, {
        'footnotes.xml': `<w:footnotes ${W}><w:footnote w:id="2">${line('Except on holidays.')}</w:footnote></w:footnotes>`,
        'endnotes.xml': `<w:endnotes ${W}><w:endnote w:id="3">${line('Soup on Mondays.')}</w:endnote></w:endnotes>`,
        'comments.xml': `<w:comments ${W}><w:comment w:id="7">${line('Is that so?')}</w:comment></w:comments>`,
        'header1.xml': `<w:hdr ${W}><w:p><w:r><w:t>Weir &amp; Sons</w:t><w:tab/><w:t>Rules &#x41;</w:t></w:r></w:p></w:hdr>`,
        'header2.xml': `<w:hdr ${W}><w:p><w:r><w:t>Weir &amp; Sons</w:t><w:tab/><w:t>Rules &#x41;</w:t></w:r></w:p></w:hdr>`,
        'footer1.xml': `<w:ftr ${W}>${line('Confidential')}</w:ftr>`,
      }),
      'docx',
    );
    expect(text.split(/\n+/).filter((part) => part !== '')).toEqual([
      'Weir & Sons\tRules A',
      'The gate opens at nine.',
      'Except on holidays.',
      'Is that so?',
      'Lunch is at noon.',
      'Soup on Mondays.',
      'In a box',
      'Confidential',
    ]);
  });

  it('with notes that refer to themselves ends', async () => {
    const body = `<w:p><w:r><w:t>One</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>`;
    const note = `<w:footnotes ${W}><w:footnote w:id="2"><w:p><w:r><w:t>Two</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p></w:footnote></w:footnotes>`;
    expect((await textOf(docxOf(body, { 'footnotes.xml': note }), 'docx')).trim()).toBe('One\n\nTwo');
  });

  it.each(['<w:t', '<w:t>', '<', '&', '&#', '<w:t/>', '<w:p></w:p>'])(
    'is read in time where its header is a megabyte of %s',
    async (piece) => {
      const header = piece.repeat(1_000_000 / piece.length);
      expect(await textOf(docxOf(line('One'), { 'header1.xml': header }), 'docx')).toContain('One');
    },
  );

  it('with a password cannot be read, and says why', async () => {
    const locked = Buffer.concat([
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      Buffer.alloc(1016),
      Buffer.from('EncryptionInfo', 'utf16le'),
      Buffer.alloc(100),
      Buffer.from('EncryptedPackage', 'utf16le'),
      Buffer.alloc(3000, 7),
    ]);
    await expect(textOf(locked, 'docx')).rejects.toThrow('The document is protected by a password');
    const old = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(3000)]);
    expect(await kindOf([old], 'a.docx')).toBeNull();
  });
});
