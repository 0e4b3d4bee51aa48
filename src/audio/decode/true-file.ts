import { withFramesOnly } from './adts-frames.js';
import { withAllTimes } from './sample-times.js';
import { fromItsStart } from './sound-start.js';
import { withTrueWave } from './wave-sizes.js';

/** The same file where its headers and tables fit what lies in it; else a file that all readers hear the same sound in. */
export function withTrueSizes(bytes: Uint8Array): Uint8Array {
  return withAllTimes(withFramesOnly(withTrueWave(fromItsStart(bytes))));
}
