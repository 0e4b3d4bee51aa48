import { fileTooLarge, invalid } from '../errors.js';
import type { FileService, InputFetcher } from '../files/files.types.js';
import { dataUrlBytes, decodedBase64, detectContentType, isDataUrl } from '../files/index.js';

/** Formats that vision models take. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
const MAX_MB = 20;
const MAX_BYTES = MAX_MB * 1_048_576;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** Base64 of a picture that is not too large, line breaks and a head included; of a longer text nothing is decoded. */
const MAX_CHARACTERS = MAX_BYTES * 3 + 1000;

/** Turns a caller's picture into what an upstream takes: an http(s) URL of an allowed form, or a data: URL. */
export type ImageReader = (value: string, place: Place) => string;

/** Where a picture stands: the field that is named as `param`, and the place that a message names. */
export interface Place {
  param: string;
  where: string;
}

export interface ImageOptions {
  inputs: Pick<InputFetcher, 'checkForm'>;
  /** Reads this installation's own signed URLs, which an upstream could not. */
  files: Pick<FileService, 'resolveOwn' | 'read'>;
}

/** Judged by content, not by the declared type: an SVG, a program in XML, goes to no upstream. @throws ApiError */
function asDataUrl(bytes: Buffer, { param, where }: Place): string {
  const type = detectContentType(bytes);
  if (type === null || !PICTURES.has(type))
    throw invalid(`${where} must be a JPEG, PNG, WebP or GIF image`, param);
  if (bytes.length > MAX_BYTES) throw fileTooLarge(param, MAX_MB);
  return `data:${type};base64,${bytes.toString('base64')}`;
}

type OwnImages = ReadonlyMap<string, Buffer | null>;

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

/** The request's pictures that are files of this installation, read from storage (decisions.md 9); null for one that is too large. */
async function ownImages(
  orgId: string,
  urls: readonly string[],
  files: ImageOptions['files'],
): Promise<OwnImages> {
  const own = new Map<string, Buffer | null>();
  for (const url of urls.slice(0, 64)) {
    const file = own.has(url) ? null : await files.resolveOwn(orgId, url);
    if (!file) continue;
    const bytes = file.sizeBytes > MAX_BYTES ? null : await files.read(orgId, file.id);
    own.set(url, bytes);
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
  return (value, place) => {
    const data = own.get(value);
    if (data === null) throw fileTooLarge(place.param, MAX_MB);
    if (data !== undefined) return asDataUrl(data, place);
    const isData = isDataUrl(value);
    if (SCHEME.test(value) && !isData) {
      inputs.checkForm(value, place.param);
      return value;
    }
    if (value.length > MAX_CHARACTERS) throw fileTooLarge(place.param, MAX_MB);
    const bytes = isData ? dataUrlBytes(value) : decodedBase64(value);
    if (bytes === null || (!isData && detectContentType(bytes) === null))
      throw invalid('Invalid URL', place.param);
    return asDataUrl(bytes, place);
  };
}
