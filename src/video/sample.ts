import type { VideoSample } from 'mediabunny';
import { planesFromRgb, planesOf } from './planes.js';
import type { Planes, Size } from './planes.js';
import { UnreadableVideoError } from './video.types.js';

/** The limit for decoded frames. A container's own sizes are not trusted. */
const MAX_PIXELS = 4096 * 2304;

/** A decoded frame as planes. @throws UnreadableVideoError for pixel formats that are not supported (ten bits for each colour, RGB planes) */
export async function planesOfSample(sample: VideoSample): Promise<Planes> {
  try {
    return await taken(sample);
  } catch (error) {
    if (error instanceof UnreadableVideoError) throw error;
    throw new UnreadableVideoError(error instanceof Error ? error.message : 'unreadable');
  }
}

async function taken(sample: VideoSample): Promise<Planes> {
  const { width, height } = sample.visibleRect;
  if (width * height > MAX_PIXELS) throw new UnreadableVideoError('its frames are too large');
  const size = { width: width & ~1, height: height & ~1 };
  if (sample.format === 'I420' && size.width === width && size.height === height) {
    const planes = planesOf(size);
    await sample.copyTo(planes.bytes);
    return planes;
  }
  const pixels = Buffer.alloc(width * height * 4);
  const frame = sample.toVideoFrame();
  try {
    await frame.copyTo(pixels, { format: 'RGBA' } as Parameters<typeof frame.copyTo>[1]);
  } finally {
    frame.close();
  }
  return planesFromRgb(cropped(pixels, width, size), size, 4);
}

/** Without an odd last column. */
function cropped(pixels: Buffer, width: number, size: Size): Buffer {
  if (size.width === width) return pixels;
  const rows = Array.from({ length: size.height }, (_, row) =>
    pixels.subarray(row * width * 4, (row * width + size.width) * 4),
  );
  return Buffer.concat(rows);
}
