import { randomBytes } from 'node:crypto';
import sharp from 'sharp';

/** A PNG of noise: about three bytes for each pixel. */
export async function createImage(side: number): Promise<Buffer> {
  const raw = { width: side, height: side, channels: 3 as const };
  return await sharp(randomBytes(side * side * 3), { raw })
    .png()
    .toBuffer();
}
