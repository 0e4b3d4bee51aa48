/** The way in which a file can be shown. */
export type MediaKind = 'image' | 'video' | 'audio' | 'other';

/** A file that this installation stores. */
export interface MediaFile {
  /** Its address, relative to the page. */
  href: string;
  kind: MediaKind;
}

const FILE = /^https?:\/\/[^?#]*\/(files\/[^/?#]+\/[^/?#]+\.(\w+)(?:\?[^#]*)?)$/;
const KINDS: Record<string, MediaKind> = {
  png: 'image',
  jpg: 'image',
  jpeg: 'image',
  webp: 'image',
  gif: 'image',
  mp4: 'video',
  webm: 'video',
  mov: 'video',
  mp3: 'audio',
  wav: 'audio',
  opus: 'audio',
  ogg: 'audio',
  aac: 'audio',
  m4a: 'audio',
  flac: 'audio',
};

/**
 * Converts a signed URL of this installation to an address relative to this page; null for any other URL. The page may load files only from its own
 * origin. Signed URLs have the public address, which may differ from the address of the page.
 */
export function fileOf(url: string): MediaFile | null {
  const [, href, extension] = FILE.exec(url) ?? [];
  return href === undefined ? null : { href, kind: KINDS[extension?.toLowerCase() ?? ''] ?? 'other' };
}

/** All files in an answer, at any depth. */
export function filesIn(value: unknown): MediaFile[] {
  if (typeof value === 'string') {
    const file = fileOf(value);
    return file === null ? [] : [file];
  }
  if (typeof value !== 'object' || value === null) return [];
  const files = Object.values(value).flatMap(filesIn);
  return files.filter(({ href }, at) => files.findIndex((other) => other.href === href) === at);
}
