import type { Sharp } from 'sharp';

/** Larger pictures are encoded without optimised codes, which need a copy of the picture (six bytes for each pixel). */
const PLAIN_CODES_PIXELS = 17_000_000;

/** Encodes as JPEG with the quality of edits, on a white background. */
export function asJpeg(pipeline: Sharp, { width, height }: { width: number; height: number }): Sharp {
  return pipeline.flatten({ background: '#fff' }).jpeg({
    quality: 92,
    chromaSubsampling: '4:4:4',
    optimiseCoding: width * height <= PLAIN_CODES_PIXELS,
  });
}
