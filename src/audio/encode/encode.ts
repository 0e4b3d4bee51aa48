import { writeMark } from '../mark.js';
import type { SpeechMark } from '../mark.js';
import type { AudioFormat } from '../audio.types.js';
import type { Samples } from '../voice/flite.js';
import { resampleTo } from '../dsp/stretch.js';
import { DATA_ELEMENT_BYTES, encodeAac } from './aac.js';
import { encodeMp3 } from './mp3.js';
import { encodeOggOpus, OPUS_RATES } from './ogg-opus.js';
import { encodeWav } from './wav.js';

/** Mono samples in a speech format (contract 4.6), with the mark of the sandbox voice where there is one. */
export async function encodeSpeech(
  samples: Samples,
  format: AudioFormat,
  mark: SpeechMark | null,
): Promise<Buffer> {
  const { pcm, sampleRate } = samples;
  const comment = mark === null ? null : writeMark(mark).join('');
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
      return await encodeAac(pcm, sampleRate, mark === null ? [] : writeMark(mark, DATA_ELEMENT_BYTES - 40));
  }
}
