import type { AudioFormat, Samples } from '../audio.types.js';
import { DATA_ELEMENT_BYTES, encodeAac } from './aac.js';
import { encodeFlac } from './flac.js';
import { encodeMp3 } from './mp3.js';
import { encodeOggOpus, OPUS_RATES } from './ogg-opus.js';
import { resampleTo } from './resample.js';
import { encodeWav, toInt16 } from './wav.js';

/** A comment as text in one or more parts, each with at most so many characters of payload where a number is given. */
export type CommentParts = (partLength?: number) => string[];

/** What a part may have besides its payload. */
const PART_HEAD = 40;

/** What players of bare samples expect (beyond 11.11). */
const PCM_RATE = 24_000;

/** Little-endian 16 bit samples at 24 kHz. */
function encodePcm(pcm: Float32Array, sampleRate: number): Buffer {
  const fitting =
    sampleRate === PCM_RATE ? pcm : resampleTo(pcm, Math.round((pcm.length * PCM_RATE) / sampleRate));
  const bytes = Buffer.allocUnsafe(fitting.length * 2);
  fitting.forEach((sample, index) => bytes.writeInt16LE(toInt16(sample), index * 2));
  return bytes;
}

/** Mono samples in a speech format (contract 4.6), with a comment in the file where there is one. */
export async function encodeSpeech(
  { pcm, sampleRate }: Samples,
  format: AudioFormat,
  comments: CommentParts | null,
): Promise<Buffer> {
  const comment = comments === null ? null : comments().join('');
  switch (format) {
    case 'wav':
      return encodeWav([pcm], sampleRate, comment);
    case 'mp3':
      return await encodeMp3([pcm], sampleRate, { bitrate: 64, comment });
    case 'opus': {
      const rate = OPUS_RATES.find((candidate) => candidate >= sampleRate) ?? 48_000;
      const fitting =
        rate === sampleRate ? pcm : resampleTo(pcm, Math.round((pcm.length * rate) / sampleRate));
      return encodeOggOpus(fitting, rate, comment);
    }
    case 'flac':
      return await encodeFlac(pcm, sampleRate);
    case 'pcm':
      return encodePcm(pcm, sampleRate);
    case 'aac':
      return await encodeAac(pcm, sampleRate, comments?.(DATA_ELEMENT_BYTES - PART_HEAD) ?? []);
  }
}
