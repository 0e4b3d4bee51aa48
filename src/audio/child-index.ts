/** Decoders and encoders for child processes of other modules. The server process must not load them. */
export { decodeAudio, decodeMono, mixed } from './decode/decode.js';
export { probe } from './decode/probe.js';
export type { Probed } from './decode/probe.js';
export { encodeMp3 } from './encode/mp3.js';
export { encodeSpeech } from './encode/encode.js';
export { encodeWav } from './encode/wav.js';
export { resampleTo } from './encode/resample.js';
