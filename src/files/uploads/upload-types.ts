import { detectContentType } from '../content-types.js';

/** Formats that share a container: their first bytes do not tell them apart. */
const MP4 = 'video/mp4';
const WEBM = 'video/webm';

const MAX_CHARACTERS = 200;

interface UploadType {
  extension: string;
  /** What {@link detectContentType} makes of such a file; null: nothing. */
  detected: readonly (string | null)[];
}

const one = (extension: string, ...detected: readonly (string | null)[]): UploadType => ({
  extension,
  detected,
});

/** What can be uploaded: the types that any field for files takes. */
const TYPES: ReadonlyMap<string, UploadType> = new Map([
  ['image/png', one('png', 'image/png')],
  ['image/jpeg', one('jpg', 'image/jpeg')],
  ['image/webp', one('webp', 'image/webp')],
  ['image/gif', one('gif', 'image/gif')],
  // Some begin with other bytes than a frame.
  ['audio/mpeg', one('mp3', 'audio/mpeg', null)],
  ['audio/wav', one('wav', 'audio/wav')],
  ['audio/ogg', one('ogg', 'audio/ogg')],
  ['audio/aac', one('aac', 'audio/aac')],
  ['audio/flac', one('flac', 'audio/flac')],
  ['audio/mp4', one('m4a', 'audio/mp4', MP4)],
  ['audio/webm', one('webm', WEBM)],
  [MP4, one('mp4', MP4, 'audio/mp4')],
  ['video/quicktime', one('mov', MP4, null)],
  [WEBM, one('webm', WEBM)],
  ['video/x-matroska', one('mkv', WEBM)],
  ['application/pdf', one('pdf', 'application/pdf')],
  ['text/plain', one('txt', null)],
  ['text/markdown', one('md', null)],
  ['text/csv', one('csv', null)],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', one('docx', null)],
]);

/** Other names that browsers and systems have for them. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['audio/mp3', 'audio/mpeg'],
  ['audio/x-wav', 'audio/wav'],
  ['audio/wave', 'audio/wav'],
  ['audio/vnd.wave', 'audio/wav'],
  ['audio/opus', 'audio/ogg'],
  ['audio/x-aac', 'audio/aac'],
  ['audio/x-flac', 'audio/flac'],
  ['audio/m4a', 'audio/mp4'],
  ['audio/x-m4a', 'audio/mp4'],
  ['video/x-m4v', MP4],
  ['video/matroska', 'video/x-matroska'],
  ['text/x-markdown', 'text/markdown'],
]);

/** The type without its parameters, in the spelling of ours; null where nothing takes such a file. */
export function uploadType(contentType: string): { contentType: string; extension: string } | null {
  if (contentType.length > MAX_CHARACTERS) return null;
  const plain = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const name = ALIASES.get(plain) ?? plain;
  const found = TYPES.get(name);
  return found === undefined ? null : { contentType: name, extension: found.extension };
}

/** Whether a file begins as one of its declared type does. What takes the file reads it whole. */
export function isOfType(contentType: string, head: Uint8Array): boolean {
  return TYPES.get(contentType)?.detected.includes(detectContentType(head)) === true;
}
