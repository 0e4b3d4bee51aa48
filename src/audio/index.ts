export { createAudio } from './audio.js';
export { UnreadableAudioError } from './audio.types.js';
export type * from './audio.types.js';
