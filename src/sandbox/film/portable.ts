import { setImmediate as breathe } from 'node:timers/promises';
import type { EncoderOptions, FrameEncoder } from './encoder.types.js';

/** Fastest of 0 to 10. */
const SPEED = 10;
const QUANTIZATION = 28;

/** Runs everywhere, in WebAssembly. The package installs handlers of the whole process: only for a process of its own. */
export async function createPortableEncoder({ width, height, fps }: EncoderOptions): Promise<FrameEncoder> {
  const { default: h264 } = await import('h264-mp4-encoder');
  const encoder = await h264.createH264MP4Encoder();
  Object.assign(encoder, {
    width,
    height,
    frameRate: fps,
    speed: SPEED,
    quantizationParameter: QUANTIZATION,
    groupOfPictures: fps * 2,
  });
  encoder.initialize();
  return {
    async add(frame) {
      encoder.addFrameYuv(frame);
      // Progress goes out, and the parent's end is noticed.
      await breathe();
    },
    finish() {
      encoder.finalize();
      const bytes = encoder.FS.readFile(encoder.outputFilename);
      encoder.FS.unlink(encoder.outputFilename);
      encoder.delete();
      return Promise.resolve(bytes);
    },
  };
}
