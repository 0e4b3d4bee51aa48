import type { Sharp } from 'sharp';

/** Above it the encoder keeps no second copy of the picture to find better codes by: six bytes for each pixel. */
const PLAIN_CODES_PIXELS = 17_000_000;

/** As JPEG of the quality that edits have, on white. */
export function asJpeg(pipeline: Sharp, { width, height }: { width: number; height: number }): Sharp {
  return pipeline.flatten({ background: '#fff' }).jpeg({
    quality: 92,
    chromaSubsampling: '4:4:4',
    optimiseCoding: width * height <= PLAIN_CODES_PIXELS,
  });
}
