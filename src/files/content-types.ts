/** Content types by the extensions that stored files have. */
const TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  ogg: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  pcm: 'audio/pcm',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
  md: 'text/markdown; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
};

export function contentTypeOf(extension: string): string {
  return Object.hasOwn(TYPES, extension) ? (TYPES[extension] ?? '') : 'application/octet-stream';
}

const EXTENSIONS: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/pcm': 'pcm',
  'audio/mp4': 'm4a',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'application/pdf': 'pdf',
};

/** The extension to store a file of this type under; `bin` where unknown. */
export function extensionOf(contentType: string | null): string {
  return contentType !== null && Object.hasOwn(EXTENSIONS, contentType)
    ? (EXTENSIONS[contentType] ?? 'bin')
    : 'bin';
}

const ascii = (bytes: Uint8Array, start: number, length: number) =>
  Buffer.from(bytes.subarray(start, start + length)).toString('latin1');

/** Detects a file's type by its first bytes, never by a name or a header. Null if unknown. */
export function detectContentType(bytes: Uint8Array): string | null {
  if (ascii(bytes, 0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png';
  if (ascii(bytes, 0, 3) === '\xff\xd8\xff') return 'image/jpeg';
  if (/^GIF8[79]a/.test(ascii(bytes, 0, 6))) return 'image/gif';
  if (ascii(bytes, 0, 4) === 'RIFF') return riffType(ascii(bytes, 8, 4));
  if (ascii(bytes, 4, 4) === 'ftyp') return /^(M4A|M4B)/.test(ascii(bytes, 8, 4)) ? 'audio/mp4' : 'video/mp4';
  if (ascii(bytes, 0, 4) === '\x1a\x45\xdf\xa3') return 'video/webm';
  if (ascii(bytes, 0, 4) === 'OggS') return 'audio/ogg';
  if (ascii(bytes, 0, 4) === 'fLaC') return 'audio/flac';
  if (ascii(bytes, 0, 5) === '%PDF-') return 'application/pdf';
  return mpegType(bytes);
}

function riffType(form: string): string | null {
  if (form === 'WEBP') return 'image/webp';
  return form === 'WAVE' ? 'audio/wav' : null;
}

/** MPEG audio has no signature but an ID3 tag or the sync bits of its first frame. */
function mpegType(bytes: Uint8Array): string | null {
  if (ascii(bytes, 0, 3) === 'ID3') return 'audio/mpeg';
  const [first = 0, second = 0] = bytes;
  if (first !== 0xff) return null;
  if ((second & 0xf6) === 0xf0) return 'audio/aac';
  return (second & 0xe0) === 0xe0 && (second & 0x06) !== 0 ? 'audio/mpeg' : null;
}
