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

/** What a file is by its content; the name only tells kinds of text apart. Null: none of the formats. */
export function kindOf(bytes: Buffer, filename: string): FileKind | null {
  if (bytes.length === 0) return null;
  if (bytes.subarray(0, 1024).includes('%PDF-')) return 'pdf';
  if (bytes.subarray(0, 4).equals(Buffer.from('PK\x03\x04', 'latin1'))) {
    // Names stand uncompressed in the archive's directory, at its end.
    return bytes.includes('word/document.xml') && bytes.includes('[Content_Types].xml') ? 'docx' : null;
  }
  if (!isText(bytes)) return null;
  const extension = /\.([a-z0-9]{1,10})$/i.exec(filename)?.[1]?.toLowerCase();
  if (extension === 'csv') return 'csv';
  return extension === 'md' || extension === 'markdown' ? 'md' : 'txt';
}

function isText(bytes: Buffer): boolean {
  const text = decodeText(bytes);
  if (text === null) return false;
  return !hasUnprintable(text);
}

/** A NUL or another control character that no text editor writes (tab to carriage return and escape are). */
function hasUnprintable(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7f || (code < 0x20 && (code < 0x09 || code > 0x0d) && code !== 0x1b)) return true;
  }
  return false;
}

/** UTF-8, or UTF-16 with its mark; null where the bytes are neither. */
export function decodeText(bytes: Buffer): string | null {
  const mark = bytes.subarray(0, 2).toString('latin1');
  const encoding = mark === '\xff\xfe' ? 'utf-16le' : mark === '\xfe\xff' ? 'utf-16be' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The name's last part without anything that could lead elsewhere. */
export function baseName(filename: string): string {
  const last = filename.replaceAll('\\', '/').split('/').at(-1) ?? '';
  const name = last.replace(CONTROL, '').trim().toWellFormed().slice(-255);
  return name === '' || name === '.' || name === '..' ? 'file' : name;
}
