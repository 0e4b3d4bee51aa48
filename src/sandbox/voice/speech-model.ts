import type { AudioFormat } from '../../audio/index.js';
import type { TtsModel } from '../../providers/tts.types.js';
import { abortedError } from '../../providers/index.js';
import { findDirective } from '../directive/directive.js';
import { pause } from '../directive/pause.js';
import { followDirective } from '../directive/follow-directive.js';
import type { Sound } from '../sound/sound.types.js';
import { unspeakable } from './speakable.js';
import { PRESET_VOICES } from './voices.js';
import type { VoiceEngine } from './voices.js';

/** Speech made here: the same text, voice, speed and seed give the same sound. */
export function createSandboxSpeech(sound: Sound): (modelId: string) => TtsModel {
  return (modelId) => ({
    specificationVersion: 'v4',
    provider: 'sandbox',
    modelId,
    capabilities: {
      voices: PRESET_VOICES,
      referenceAudio: true,
      modelInputs: ['seed'],
      decodesHere: true,
      refusal(text) {
        const { directive, rest } = findDirective(text);
        return directive !== null && rest === '' ? null : unspeakable(rest);
      },
    },
    async doGenerate({
      text,
      voice,
      outputFormat,
      speed,
      providerOptions,
      reference,
      abortSignal,
      onProgress,
      onSound,
    }) {
      const { rest, report, chunkMs } = await followDirective(text, { signal: abortSignal, onProgress });
      const seed = providerOptions?.['penstock']?.['seed'];
      const task = {
        text: rest,
        voice: PRESET_VOICES.find((preset) => preset === voice) ?? null,
        engine: engineOf(modelId),
        reference: reference ?? null,
        speed: speed ?? 1,
        seed: typeof seed === 'number' ? seed : null,
        format: (outputFormat ?? 'mp3') as AudioFormat,
      };
      try {
        const { bytes, durationSeconds, ...made } = await sound.speak(task, {
          signal: abortSignal,
          onProgress: report,
        });
        if (onSound) await streamSound(bytes, { onSound, chunkMs, signal: abortSignal ?? NEVER });
        const fingerprint = Buffer.from(made.fingerprint).toString('base64');
        const providerMetadata = { penstock: { durationSeconds, fingerprint, said: rest } };
        return { audio: bytes, warnings: [], providerMetadata, response: { timestamp: new Date(), modelId } };
      } catch (error) {
        throw abortSignal?.aborted === true ? abortedError() : error;
      }
    },
  });
}

const NEVER = new AbortController().signal;
/** Of a part of a sound that is shown before it is whole. */
const PART_BYTES = 16 * 1024;

/** Shows a sound in parts, at the pace of the directive. */
async function streamSound(
  bytes: Uint8Array,
  { onSound, chunkMs, signal }: { onSound(part: Uint8Array): void; chunkMs: number; signal: AbortSignal },
): Promise<void> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    if (at > 0) await pause(chunkMs, signal);
    onSound(bytes.subarray(at, at + PART_BYTES));
  }
}

/** The premium model takes ten times as long for a more natural voice. */
function engineOf(modelId: string): VoiceEngine {
  return modelId.endsWith('-premium') ? 'natural' : 'quick';
}
