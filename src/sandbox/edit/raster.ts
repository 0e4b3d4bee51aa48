import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { MAX_PICTURE_PIXELS } from '../../imaging/index.js';

/** Decoded pixels, four bytes each: red, green, blue, alpha. */
export interface Raster {
  data: Buffer;
  width: number;
  height: number;
}

export function open({ data, width, height }: Raster): Sharp {
  return sharp(data, { raw: { width, height, channels: 4 } });
}

export async function decode(bytes: Uint8Array): Promise<Raster> {
  const { data, info } = await sharp(bytes, { limitInputPixels: MAX_PICTURE_PIXELS, failOn: 'error' })
    .autoOrient()
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

export async function collect(pipeline: Sharp): Promise<Raster> {
  const { data, info } = await pipeline.ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

/** Filters with a window refuse a picture that is smaller than it. */
const WINDOW = 16;

/** Applies a filter to a picture of any size: a tiny one is padded with its repeated edge, which is cut off afterwards. */
export async function filtered(image: Raster, filter: (pipeline: Sharp) => Sharp): Promise<Raster> {
  const { width, height } = image;
  if (Math.min(width, height) > WINDOW) return await collect(filter(open(image)));
  const edges = { top: WINDOW, bottom: WINDOW, left: WINDOW, right: WINDOW };
  const roomy = await collect(open(image).extend({ ...edges, extendWith: 'copy' }));
  const made = await collect(filter(open(roomy)));
  return await collect(open(made).extract({ left: WINDOW, top: WINDOW, width, height }));
}

/** How white each pixel of a mask is, 0 to 255 (white is to be edited). */
export async function decodeMask(bytes: Uint8Array): Promise<Buffer> {
  return await sharp(bytes, { limitInputPixels: MAX_PICTURE_PIXELS, failOn: 'error' })
    .autoOrient()
    .flatten({ background: '#000' })
    .toColourspace('b-w')
    .extractChannel(0)
    .raw()
    .toBuffer();
}

/** Edges of a mask made soft, so that what is put in has no seam. */
export async function feather(mask: Buffer, { width, height }: Raster, sigma: number): Promise<Buffer> {
  return await sharp(mask, { raw: { width, height, channels: 1 } })
    .blur(Math.max(0.5, sigma))
    .toColourspace('b-w')
    .raw()
    .toBuffer();
}

/**
 * `over` where the weight is 255, `under` where it is 0, times `strength`; alpha of `under` stays. Made in the place of `over`, as another
 * raster of a large picture would not fit beside it.
 */
export function blend(
  under: Raster,
  over: Raster,
  { weight = null, strength = 1 }: { weight?: Buffer | null; strength?: number } = {},
): Raster {
  const { data } = over;
  for (let pixel = 0, at = 0; at < data.length; pixel++, at += 4) {
    const share = (weight === null ? 1 : (weight[pixel] as number) / 255) * strength;
    for (let channel = 0; channel < 3; channel++) {
      const base = under.data[at + channel] as number;
      data[at + channel] = Math.round(base + ((data[at + channel] as number) - base) * share);
    }
    data[at + 3] = under.data[at + 3] as number;
  }
  return over;
}

export function luminance(data: Buffer, at: number): number {
  return 0.299 * (data[at] as number) + 0.587 * (data[at + 1] as number) + 0.114 * (data[at + 2] as number);
}
