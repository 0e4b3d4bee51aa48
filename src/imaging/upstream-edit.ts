import sharp from 'sharp';
import type { CutOut, EditedImage, FinishEdit } from './imaging.types.js';
import { asJpeg } from './jpeg.js';

const MAX_PIXELS = 67_200_000;
const READ = { limitInputPixels: MAX_PIXELS, failOn: 'error' } as const;
const NOTHING = { r: 0, g: 0, b: 0, alpha: 0 };

/** The picture in upright orientation, transparent where the mask is white and in the added borders. */
export async function cutOut({ image, mask, borders }: CutOut): Promise<EditedImage> {
  const upright = sharp(image, READ).autoOrient().toColourspace('srgb').ensureAlpha();
  const { data, info } = await upright.raw().toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  if (mask !== undefined) {
    const holes = sharp(mask, READ).flatten({ background: '#000' }).greyscale().toColourspace('b-w');
    const grey = await holes.resize(width, height, { fit: 'fill' }).raw().toBuffer();
    for (let at = 0; at < grey.length; at++)
      data[at * 4 + 3] = Math.min(data[at * 4 + 3] ?? 0, 255 - (grey[at] ?? 0));
  }
  const made = await sharp(data, { raw: { width, height, channels: 4 } })
    .extend({ ...borders, background: NOTHING })
    .png({ compressionLevel: 6, adaptiveFiltering: false })
    .toBuffer({ resolveWithObject: true });
  return { bytes: made.data, width: made.info.width, height: made.info.height };
}

/** A mask that is white where the picture is transparent, and black elsewhere. */
export async function maskOf(holed: Uint8Array): Promise<EditedImage> {
  const { data, info } = await sharp(holed, READ)
    .ensureAlpha()
    .extractChannel('alpha')
    .negate()
    .png({ compressionLevel: 6, adaptiveFiltering: false })
    .toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height };
}

/** An upstream's picture in the promised size, with the unchanged part of the original put over it. */
export async function finishEdit(task: FinishEdit): Promise<EditedImage> {
  const { bytes, width, height, transparent, kept } = task;
  const fitted = sharp(bytes, READ).autoOrient().resize(width, height, { fit: 'cover', kernel: 'lanczos3' });
  const composed = kept === undefined ? fitted : fitted.composite([{ input: Buffer.from(kept) }]);
  const encoded = transparent
    ? composed.ensureAlpha().png({ compressionLevel: 6, adaptiveFiltering: false })
    : asJpeg(composed, { width, height });
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height };
}
