import sharp from 'sharp';
import { createAcceleratedEncoder } from './accelerated.js';
import type { EncoderOptions, FrameEncoder } from './encoder.types.js';
import { createPortableEncoder } from './portable.js';
import { loadCodecs, planesOf } from '../../video/child-index.js';
import { createReplay } from './replay.js';
import type { FilmTask } from './film.types.js';
import { createCamera, decodePicture } from './camera.js';
import type { Backdrop } from './camera.js';
import { createLights, drawLight } from './lights.js';
import { createNumbers } from './motion.js';
import { coverBottom } from './paint.js';
import type { Planes } from '../../video/child-index.js';

async function openEncoder(options: EncoderOptions, portable: boolean): Promise<FrameEncoder> {
  const codecs = portable ? null : await loadCodecs();
  return codecs === null
    ? await createPortableEncoder(options)
    : await createAcceleratedEncoder(codecs, options);
}

async function openCaption(task: FilmTask): Promise<Planes> {
  const { width: given = 1, height = 1 } = await sharp(task.caption).metadata();
  const rows = Math.max(2, Math.round((height * task.width) / given / 2) * 2);
  return await decodePicture(task.caption, { width: task.width, height: rows });
}

async function openBackdrop(task: FilmTask): Promise<Backdrop> {
  if (task.source !== null) return await createReplay(task.source, task);
  if (task.still === null) throw new Error('nothing to film');
  return await createCamera(task.still, task);
}

/**
 * Films frame by frame; no more than a few frames are in memory at any time.
 * @param portable without the optional codec package
 */
export async function film(
  task: FilmTask,
  portable: boolean,
  onProgress: (percent: number) => void,
): Promise<Uint8Array> {
  sharp.cache(false);
  sharp.concurrency(1);
  const { width, height, fps, frames, loop } = task;
  const backdrop = await openBackdrop(task);
  const caption = await openCaption(task);
  const lights = createLights({
    count: task.lights,
    hue: task.hue,
    shortSide: Math.min(width, height),
    next: createNumbers(`lights ${task.seed}`),
    loop,
    seconds: frames / fps,
  });
  const encoder = await openEncoder({ width, height, fps }, portable);
  const picture = planesOf({ width, height });
  for (let frame = 0; frame < frames; frame++) {
    await backdrop(picture, frame);
    for (const light of lights) drawLight(light, picture, frame / frames);
    coverBottom(caption, picture);
    await encoder.add(picture.bytes);
    onProgress((100 * (frame + 1)) / (frames + 1));
  }
  return await encoder.finish();
}
