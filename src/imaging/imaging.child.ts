/**
 * The imaging process (see imaging.ts). Started with `art` it draws our own SVG; started with `photos` it reads others' files and has
 * every loader but JPEG, PNG and WebP blocked. Ends with its parent.
 */
import sharp from 'sharp';
import type { ImagingReply, ImagingRequest } from './imaging.types.js';

/** More than the largest result (1792 × 1024, four times as long on each side). */
const MAX_PIXELS = 40_000_000;
const PNG = { compressionLevel: 6, adaptiveFiltering: false } as const;

const mode = process.argv[2];
sharp.cache(false);
sharp.concurrency(1);
if (mode === 'photos') {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp'] });
}

async function run(request: ImagingRequest): Promise<ImagingReply> {
  const { id, width, height } = request;
  if (request.kind === 'render') {
    const { data, info } = await sharp(Buffer.from(request.svg), { limitInputPixels: MAX_PIXELS })
      .resize(width, height, { fit: 'fill' })
      .removeAlpha()
      .png(PNG)
      .toBuffer({ resolveWithObject: true });
    return { id, image: { bytes: data, width: info.width, height: info.height } };
  }
  try {
    const { data, info } = await sharp(request.bytes, { limitInputPixels: MAX_PIXELS, failOn: 'error' })
      .autoOrient()
      .resize(width, height, { fit: 'cover', kernel: 'lanczos3' })
      .png(PNG)
      .toBuffer({ resolveWithObject: true });
    return { id, image: { bytes: data, width: info.width, height: info.height } };
  } catch (error) {
    return { id, unreadable: error instanceof Error ? error.message : 'unreadable' };
  }
}

process.on('message', (request: ImagingRequest) => {
  run(request)
    .catch((error: unknown): ImagingReply => ({ id: request.id, failed: String(error) }))
    .then((reply) => process.send?.(reply))
    .catch(() => process.exit(1));
});
process.on('disconnect', () => process.exit(0));
