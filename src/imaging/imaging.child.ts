/**
 * The imaging process (see imaging.ts). Started with `art` it renders the product's own SVG; started with `photos` it reads untrusted files and can
 * load only JPEG, PNG and WebP. Ends with its parent.
 */
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { cutOut, finishEdit, maskOf } from './upstream-edit.js';
import { answerTasks } from '../processes/index.js';
import { UnreadableImageError } from './imaging.types.js';
import type { ImagingTask, PictureFormat } from './imaging.types.js';
import { MAX_PICTURE_PIXELS } from './operations.js';
import { readPhotosOnly } from './photos.js';
import { readMark, withMark } from './mark.js';

/** The limit of a caller's picture. The largest drawing (1792 × 1024, upscaled four times) has fewer pixels. */
const MAX_PIXELS = MAX_PICTURE_PIXELS;
const PNG = { compressionLevel: 6, adaptiveFiltering: false } as const;

sharp.cache(false);
sharp.concurrency(1);
if (process.argv[2] === 'photos') readPhotosOnly();

interface Output {
  bytes: Uint8Array;
  width: number;
  height: number;
}

async function perform(request: ImagingTask): Promise<Output> {
  switch (request.kind) {
    case 'render':
      return marked(
        request.madeFor ?? null,
        await raster(sharp(Buffer.from(request.svg), { limitInputPixels: MAX_PIXELS }), (image) =>
          image.resize(request.width, request.height, { fit: 'fill' }).removeAlpha(),
        ),
      );
    case 'fit':
      return marked(
        readMark(request.bytes),
        await raster(sharp(request.bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' }), (image) =>
          image.autoOrient().resize(request.width, request.height, { fit: 'cover', kernel: 'lanczos3' }),
        ),
      );
    case 'inspect':
      return await inspect(request);
    case 'encode':
      return await encode(request);
    case 'cutOut':
      return await cutOut(request);
    case 'maskOf':
      return await maskOf(request.bytes);
    case 'finishEdit':
      return await finishEdit(request);
  }
}

async function inspect({ bytes, maxPixels }: { bytes: Uint8Array; maxPixels: number }): Promise<Output> {
  const { width, height, autoOrient } = await sharp(bytes, { limitInputPixels: false }).metadata();
  if (width * height <= maxPixels)
    await sharp(bytes, { limitInputPixels: maxPixels, failOn: 'error' })
      .resize(8, 8, { fit: 'fill', fastShrinkOnLoad: false })
      .raw()
      .toBuffer();
  return { bytes: new Uint8Array(0), width: autoOrient.width, height: autoOrient.height };
}

interface Drawn extends Output {
  bytes: Buffer;
}

/** A picture of the sandbox keeps its mark in every size. */
const marked = (madeFor: string | null, drawn: Drawn): Drawn =>
  madeFor === null ? drawn : { ...drawn, bytes: withMark(drawn.bytes, madeFor) };

async function raster(image: Sharp, change: (image: Sharp) => Sharp): Promise<Drawn> {
  const { data, info } = await change(image).png(PNG).toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height };
}

async function encode({ bytes, format, quality }: PictureFormat & { bytes: Uint8Array }): Promise<Drawn> {
  const picture = sharp(bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' }).autoOrient();
  const written = {
    png: () => picture.png(PNG),
    jpeg: () => picture.flatten({ background: 'white' }).jpeg({ quality }),
    webp: () => picture.webp({ quality }),
  }[format]();
  const { data, info } = await written.toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height };
}

answerTasks<ImagingTask>(async (task) => {
  try {
    return await perform(task);
  } catch (error) {
    // The product's own SVG is always valid. Any other failure means that the file is not readable.
    if (task.kind === 'render') throw error;
    throw new UnreadableImageError(error instanceof Error ? error.message : 'unreadable');
  }
});
