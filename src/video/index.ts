export { createVideo } from './video.js';
export { UnreadableVideoError } from './video.types.js';
export type { FilmTask, Video, VideoFacts, VideoOptions } from './video.types.js';
