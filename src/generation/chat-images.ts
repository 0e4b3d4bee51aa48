import { withoutEnding } from '../characters.js';
import { fileTooLarge, invalid } from '../errors.js';
import type { FileService, InputFetcher } from '../files/files.types.js';
import { percentDecoded } from '../files/index.js';

/** How bare base64 begins, by the magic bytes of the formats that vision models take. */
const BASE64_IMAGES: readonly [string, string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif'],
];
const MAX_MB = 20;
const MAX_BYTES = MAX_MB * 1_048_576;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const DATA_IMAGE = /^data:image\/[a-z0-9.+-]+(;[^,]{0,100})?,/i;
const BASE64_HEAD = /;\s*base64$/i;

/** Turns a caller's picture into what an upstream takes: an http(s) URL of an allowed form, or a data: URL. */
export type ImageReader = (value: string, field: string) => string;

export interface ImageOptions {
  inputs: Pick<InputFetcher, 'checkForm'>;
  /** Reads this installation's own signed URLs, which an upstream could not. */
  files: Pick<FileService, 'resolveOwn' | 'read'>;
}

function typeOfBase64(text: string): string | undefined {
  return BASE64_IMAGES.find(([start]) => text.startsWith(start))?.[1];
}

/** @throws ApiError payload_too_large */
function checkSize(base64: string, field: string): void {
  // Nearly none is so long that what ends it, and line breaks, need be looked at.
  if ((base64.length * 3) / 4 <= MAX_BYTES) return;
  const digits = withoutEnding(base64.replace(/\s+/g, ''), '=').length;
  if (Math.floor((digits * 3) / 4) > MAX_BYTES) throw fileTooLarge(field, MAX_MB);
}

/** Judged by content, not by the declared type: an SVG, a program in XML, goes to no upstream. What is percent-encoded goes there as base64. */
function dataImage(value: string, field: string): string {
  if (!DATA_IMAGE.test(value)) throw invalid('Invalid URL', field);
  const comma = value.indexOf(',');
  const isBase64 = BASE64_HEAD.test(value.slice(0, comma));
  const payload = value.slice(comma + 1);
  const base64 = isBase64 ? payload : (percentDecoded(payload)?.toString('base64') ?? '');
  const type = typeOfBase64(base64);
  if (type === undefined) throw invalid(`${field} must be a JPEG, PNG, WebP or GIF image`, field);
  checkSize(base64, field);
  return isBase64 ? value : `data:${type};base64,${base64}`;
}

type OwnImages = ReadonlyMap<string, string | null>;

/** The picture URLs of a request that was not checked yet. */
function urlsIn(messages: unknown): string[] {
  if (!Array.isArray(messages)) return [];
  const found: unknown[] = [];
  for (const message of messages as ({ images?: unknown; content?: unknown } | null)[]) {
    if (Array.isArray(message?.images)) found.push(...(message.images as unknown[]));
    if (!Array.isArray(message?.content)) continue;
    for (const part of message.content as ({ image_url?: { url?: unknown } | string } | null)[]) {
      found.push(typeof part?.image_url === 'string' ? part.image_url : part?.image_url?.url);
    }
  }
  return found.filter((url): url is string => typeof url === 'string' && /^https?:/i.test(url));
}

/** The request's pictures that are files of this installation, read from storage (decisions 9); null for one that is too large. */
async function ownImages(
  orgId: string,
  urls: readonly string[],
  files: ImageOptions['files'],
): Promise<OwnImages> {
  const own = new Map<string, string | null>();
  for (const url of urls.slice(0, 64)) {
    const file = own.has(url) ? null : await files.resolveOwn(orgId, url);
    if (!file) continue;
    const bytes = file.sizeBytes > MAX_BYTES ? null : await files.read(orgId, file.id);
    own.set(url, bytes && `data:${file.contentType};base64,${bytes.toString('base64')}`);
  }
  return own;
}

const NO_OWN: OwnImages = new Map();

/** A reader for the pictures of one request; at once where there are none to be fetched. */
export function createImageReader(
  orgId: string,
  messages: unknown,
  { inputs, files }: ImageOptions,
): ImageReader | Promise<ImageReader> {
  const urls = urlsIn(messages);
  if (urls.length === 0) return readerOf(NO_OWN, inputs);
  return ownImages(orgId, urls, files).then((own) => readerOf(own, inputs));
}

function readerOf(own: OwnImages, inputs: ImageOptions['inputs']): ImageReader {
  return (value, field) => {
    const data = own.get(value);
    if (data === null) throw fileTooLarge(field, MAX_MB);
    if (data !== undefined) return data;
    if (SCHEME.test(value)) {
      if (/^data:/i.test(value)) return dataImage(value, field);
      inputs.checkForm(value, field);
      return value;
    }
    const type = typeOfBase64(value);
    const compact = value.trimEnd().replace(/[\r\n]+/g, '');
    if (type === undefined || !/^[A-Za-z0-9+/]+$/.test(withoutEnding(compact, '=')))
      throw invalid('Invalid URL', field);
    checkSize(compact, field);
    return `data:${type};base64,${compact}`;
  };
}
