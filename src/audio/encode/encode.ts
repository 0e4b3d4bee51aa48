import type { AudioFormat, Samples } from '../audio.types.js';
import { DATA_ELEMENT_BYTES, encodeAac } from './aac.js';
import { encodeMp3 } from './mp3.js';
import { encodeOggOpus, OPUS_RATES } from './ogg-opus.js';
import { resampleTo } from './resample.js';
import { encodeWav } from './wav.js';

/** A comment as text in one or more parts, each with at most so many characters of payload where a number is given. */
export type CommentParts = (partLength?: number) => string[];

/** What a part may have besides its payload. */
const PART_HEAD = 40;

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
    case 'aac':
      return await encodeAac(pcm, sampleRate, comments?.(DATA_ELEMENT_BYTES - PART_HEAD) ?? []);
  }
}
