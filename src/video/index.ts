export { createVideo } from './video.js';
export { UnreadableVideoError } from './video.types.js';
export type { Video, VideoFacts, VideoOptions } from './video.types.js';
