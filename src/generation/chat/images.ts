import { fileTooLarge, invalid } from '../../contract/errors.js';
import type { ApiError } from '../../contract/errors.js';
import type { FileService, InputFetcher } from '../../files/files.types.js';
import { dataUrlBytes, decodedBase64, detectContentType, isDataUrl } from '../../files/index.js';

/** Formats that vision models take. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
const MAX_MB = 20;
const MAX_BYTES = MAX_MB * 1_048_576;
/** The maximum of a request's URLs that are files of this installation. */
const MAX_ADDRESSES = 64;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** The maximum length of an image's base64, with line breaks and the data URL's prefix. A longer text is not decoded. */
const MAX_CHARACTERS = MAX_BYTES * 3 + 1000;

/** Converts a caller's image to the form for upstreams: an http(s) URL of an allowed form, or a data: URL. */
export type ImageReader = (value: string, place: Place) => string;

/** The place of an image: the field for `param`, and the path for the message. */
export interface Place {
  param: string;
  where: string;
}

export interface ImageOptions {
  inputs: Pick<InputFetcher, 'checkForm'>;
  /** Reads this installation's own signed URLs, which an upstream could not. */
  files: Pick<FileService, 'resolveOwn' | 'read'>;
}

/** The result for an image: its data: URL, or an error for its place. */
type Prepared = string | ((place: Place) => ApiError);

const noUrl: Prepared = ({ param }) => invalid('Invalid URL', param);
const tooLarge: Prepared = ({ param }) => fileTooLarge(param, MAX_MB);
const noImage: Prepared = ({ param, where }) =>
  invalid(`${where} must be a JPEG, PNG, WebP or GIF image`, param);

/** Normalised base64 with the detected type, whatever was declared. So an SVG image, which can contain scripts, is never sent upstream. */
function asDataUrl(bytes: Buffer): Prepared {
  const type = detectContentType(bytes);
  if (type === null || !PICTURES.has(type)) return noImage;
  return bytes.length > MAX_BYTES ? tooLarge : `data:${type};base64,${bytes.toString('base64')}`;
}

/** The base64 of a `data:` URL, or the text itself. */
async function dataImage(value: string): Promise<Prepared> {
  if (value.length > MAX_CHARACTERS) return tooLarge;
  const isUrl = isDataUrl(value);
  const bytes = await (isUrl ? dataUrlBytes(value) : decodedBase64(value));
  if (bytes === null || (!isUrl && detectContentType(bytes) === null)) return noUrl;
  return asDataUrl(bytes);
}

/** All values in the places of images, of a request that was not checked yet. */
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

/** The request's images by the values that were given for them. Files of this installation are read from storage (decisions 9). */
async function prepare(
  orgId: string,
  images: readonly string[],
  files: ImageOptions['files'],
): Promise<ReadonlyMap<string, Prepared>> {
  const prepared = new Map<string, Prepared>();
  let addresses = 0;
  for (const image of images) {
    if (prepared.has(image)) continue;
    if (isDataUrl(image) || !SCHEME.test(image)) prepared.set(image, await dataImage(image));
    else if (/^(?:https?|file):/i.test(image) && addresses++ < MAX_ADDRESSES) {
      const file = await files.resolveOwn(orgId, image);
      if (file) prepared.set(image, await ownImage(orgId, file, files));
    }
  }
  return prepared;
}

type OwnFile = NonNullable<Awaited<ReturnType<FileService['resolveOwn']>>>;

async function ownImage(orgId: string, file: OwnFile, files: ImageOptions['files']): Promise<Prepared> {
  return file.sizeBytes > MAX_BYTES ? tooLarge : asDataUrl(await files.read(orgId, file.id));
}

/** Makes a reader for the images of one request; synchronous if there are none. */
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
  return (value, place) => {
    const image = prepared.get(value);
    if (typeof image === 'function') throw image(place);
    if (image !== undefined) return image;
    inputs.checkForm(value, place.param);
    return value;
  };
}
