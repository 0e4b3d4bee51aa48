import { fileTooLarge, invalid } from '../errors.js';
import type { ApiError } from '../errors.js';
import type { FileService, InputFetcher } from '../files/files.types.js';
import { cleanBase64, percentDecoded } from '../files/index.js';

/** How bare base64 begins, by the magic bytes of the formats that vision models take. */
const BASE64_IMAGES: readonly [string, string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif'],
];
const MAX_MB = 20;
const MAX_BYTES = MAX_MB * 1_048_576;
/** Of a request's addresses so many may be files of this installation. */
const MAX_ADDRESSES = 64;
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

/** What became of a picture: its data: URL, or the fault of the field that it stands in. */
type Prepared = string | ((field: string) => ApiError);

const noUrl: Prepared = (field) => invalid('Invalid URL', field);
const tooLarge: Prepared = (field) => fileTooLarge(field, MAX_MB);
const noImage: Prepared = (field) => invalid(`${field} must be a JPEG, PNG, WebP or GIF image`, field);

/** Clean base64 under its detected type: what breaks the digits, and what was declared, goes to no upstream. */
function asDataUrl(base64: string, otherwise: Prepared): Prepared {
  const type = typeOfBase64(base64);
  if (type === undefined) return otherwise;
  if (Buffer.byteLength(base64, 'base64') > MAX_BYTES) return tooLarge;
  return `data:${type};base64,${base64}`;
}

/** Judged by content, not by the declared type: an SVG, a program in XML, goes to no upstream. What is percent-encoded goes there as base64. */
async function dataImage(value: string): Promise<Prepared> {
  if (!DATA_IMAGE.test(value)) return noUrl;
  const comma = value.indexOf(',');
  const payload = value.slice(comma + 1);
  const base64 = BASE64_HEAD.test(value.slice(0, comma))
    ? await cleanBase64(payload.trim())
    : ((await percentDecoded(payload))?.toString('base64') ?? '');
  return base64 === null ? noImage : asDataUrl(base64, noImage);
}

async function bareImage(value: string): Promise<Prepared> {
  const base64 = await cleanBase64(value.trim());
  return base64 === null ? noUrl : asDataUrl(base64, noUrl);
}

/** All that stands where pictures stand, in a request that was not checked yet. */
function imagesIn(messages: unknown): string[] {
  if (!Array.isArray(messages)) return [];
  const found: unknown[] = [];
  for (const message of messages as ({ images?: unknown; content?: unknown } | null)[]) {
    if (Array.isArray(message?.images)) for (const image of message.images as unknown[]) found.push(image);
    if (!Array.isArray(message?.content)) continue;
    for (const part of message.content as ({ image_url?: { url?: unknown } | string } | null)[])
      if (part?.image_url != null)
        found.push(typeof part.image_url === 'string' ? part.image_url : part.image_url.url);
  }
  return found.filter((image): image is string => typeof image === 'string');
}

/** The request's pictures by what was given for them: those that are files of this installation are read from storage (decisions.md 9). */
async function prepare(
  orgId: string,
  images: readonly string[],
  files: ImageOptions['files'],
): Promise<ReadonlyMap<string, Prepared>> {
  const prepared = new Map<string, Prepared>();
  let addresses = 0;
  for (const image of images) {
    if (prepared.has(image)) continue;
    if (!SCHEME.test(image)) prepared.set(image, await bareImage(image));
    else if (/^data:/i.test(image)) prepared.set(image, await dataImage(image));
    else if (/^https?:/i.test(image) && addresses++ < MAX_ADDRESSES) {
      const file = await files.resolveOwn(orgId, image);
      if (file) prepared.set(image, await ownImage(orgId, file, files));
    }
  }
  return prepared;
}

type OwnFile = NonNullable<Awaited<ReturnType<FileService['resolveOwn']>>>;

async function ownImage(orgId: string, file: OwnFile, files: ImageOptions['files']): Promise<Prepared> {
  if (file.sizeBytes > MAX_BYTES) return tooLarge;
  return `data:${file.contentType};base64,${(await files.read(orgId, file.id)).toString('base64')}`;
}

/** A reader for the pictures of one request; at once where it has none. */
export function createImageReader(
  orgId: string,
  messages: unknown,
  { inputs, files }: ImageOptions,
): ImageReader | Promise<ImageReader> {
  const images = imagesIn(messages);
  if (images.length === 0) return readerOf(new Map(), inputs);
  return prepare(orgId, images, files).then((prepared) => readerOf(prepared, inputs));
}

function readerOf(prepared: ReadonlyMap<string, Prepared>, inputs: ImageOptions['inputs']): ImageReader {
  return (value, field) => {
    const image = prepared.get(value);
    if (typeof image === 'function') throw image(field);
    if (image !== undefined) return image;
    inputs.checkForm(value, field);
    return value;
  };
}
