import sharp from 'sharp';
import { createNumbers, createOrbit, placeOf } from './motion.js';
import { planesFromRgb } from '../../video/child-index.js';
import type { Planes, Size } from '../../video/child-index.js';
import { copyWindow } from './paint.js';

/** The size of the still as a multiple of the camera's view. */
const FIELD = 1.2;
const MAX_INPUT_PIXELS = 64_000_000;

const even = (value: number) => Math.round(value / 2) * 2;

/** Draws the background under lights and caption, frame by frame, into reused memory. */
export type Backdrop = (to: Planes, frame: number) => void | Promise<void>;

/** A picture as planes of exactly this size, covering it. */
export async function decodePicture(bytes: Uint8Array, size: Size): Promise<Planes> {
  const { data } = await sharp(bytes, { limitInputPixels: MAX_INPUT_PIXELS })
    .resize(size.width, size.height, { fit: 'cover' })
    .removeAlpha()
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  return planesFromRgb(data, size, 3);
}

/** A camera that wanders over a still. */
export async function createCamera(
  still: Uint8Array,
  {
    width,
    height,
    frames,
    fps,
    seed,
    loop,
  }: Size & { frames: number; fps: number; seed: string; loop: boolean },
): Promise<Backdrop> {
  const field = await decodePicture(still, { width: even(width * FIELD), height: even(height * FIELD) });
  const orbit = createOrbit({ next: createNumbers(`camera ${seed}`), loop, seconds: frames / fps });
  const room = { x: field.width - width, y: field.height - height };
  const place = (share: number, whole: number) => Math.min(whole, Math.max(0, even(share * whole)));
  // The whole field is used, whatever part of the unit square the orbit has.
  const wide = { ...orbit, x: 0.5, y: 0.5, width: 0.5, height: 0.5 };
  return (to, frame) => {
    const { x, y } = placeOf(wide, frame / frames);
    copyWindow(field, to, { left: place(x, room.x), top: place(y, room.y) });
  };
}
