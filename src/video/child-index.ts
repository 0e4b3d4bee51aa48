/** What other modules' child processes take of this one: decoding, which the server process must not load. */
export { loadCodecs } from './codecs.js';
export { planesFromRgb, planesOf } from './planes.js';
export type { Planes, Size } from './planes.js';
export { openSource } from './probe.js';
export { planesOfSample } from './sample.js';
