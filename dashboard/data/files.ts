/** How a file can be shown. */
export type MediaKind = 'image' | 'video' | 'audio' | 'other';

/** A file of the installation. */
export interface MediaFile {
  /** Relative to the page. */
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
 * A signed URL of this installation as a file beside this page; null for whatever else. The page may load from where it came from only, by
 * whichever name, and signed URLs carry the installation's public one.
 */
export function fileOf(url: string): MediaFile | null {
  const [, href, extension] = FILE.exec(url) ?? [];
  return href === undefined ? null : { href, kind: KINDS[extension?.toLowerCase() ?? ''] ?? 'other' };
}

/** All files that an answer names, wherever they stand in it. */
export function filesIn(value: unknown): MediaFile[] {
  if (typeof value === 'string') {
    const file = fileOf(value);
    return file === null ? [] : [file];
  }
  if (typeof value !== 'object' || value === null) return [];
  const files = Object.values(value).flatMap(filesIn);
  return files.filter(({ href }, at) => files.findIndex((other) => other.href === href) === at);
}
