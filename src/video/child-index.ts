/** Decoding, for child processes of other modules. The server process must not load it. */
export { loadCodecs } from './codecs.js';
export { planesFromRgb, planesOf } from './planes.js';
export type { Planes, Size } from './planes.js';
export { openSource } from './probe.js';
export { planesOfSample } from './sample.js';
