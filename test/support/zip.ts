import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  bytes: Buffer;
  /** The length that the archive claims; default: the real length. */
  claimedSize?: number;
}

function head(entry: ZipEntry, packed: Buffer): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(8, 4);
  fields.writeUInt32LE(crc32(entry.bytes), 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(entry.claimedSize ?? entry.bytes.length, 18);
  fields.writeUInt16LE(Buffer.byteLength(entry.name), 22);
  return fields;
}

/** A zip archive, which may claim false sizes. */
export function zipOf(entries: ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const packed = deflateRawSync(entry.bytes);
    const fields = head(entry, packed);
    const name = Buffer.from(entry.name);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, name, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, tail, name);
    locals.push(local);
    offset += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, listed, end]);
}

const TYPES = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`;
const RELATIONS = `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`;

/** The markup of Word for a text. */
export const wordXml = (text: string, prologue = ''): string =>
  `<?xml version="1.0"?>${prologue}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:body></w:document>`;

/** A Word document with the given main part, called `main`, and further entries. */
export function docxOf(
  document: Buffer | string,
  more: ZipEntry[] = [],
  { main = 'document.xml', claimedSize }: { main?: string; claimedSize?: number } = {},
): Buffer {
  const entry = (name: string, text: Buffer | string): ZipEntry => ({ name, bytes: Buffer.from(text) });
  return zipOf([
    entry('[Content_Types].xml', TYPES.replace('document.xml', main)),
    entry('_rels/.rels', RELATIONS.replace('document.xml', main)),
    { ...entry(`word/${main}`, document), ...(claimedSize === undefined ? {} : { claimedSize }) },
    ...more,
  ]);
}
