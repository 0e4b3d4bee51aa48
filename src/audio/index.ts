export { createAudio } from './audio.js';
export { UnreadableAudioError } from './audio.types.js';
export type * from './audio.types.js';
export { withTrueSizes } from './decode/true-wave.js';
export { unspeakable } from './voice/speakable.js';
export { PRESET_VOICES } from './voice/voices.js';
export type { PresetVoice, VoiceEngine } from './voice/voices.js';
