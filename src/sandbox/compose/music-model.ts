import { UnreadableAudioError } from '../../audio/index.js';
import type { MusicModel } from '../../providers/music.types.js';
import { UpstreamError } from '../../providers/providers.types.js';
import { abortedError } from '../../providers/index.js';
import type { Sound } from '../sound/sound.types.js';
import { followDirective } from '../directive/follow-directive.js';

/** Music played here: the same prompt, negative prompt, seed and source give the same sound. */
export function createSandboxMusic(sound: Sound): () => MusicModel {
  return () => ({
    capabilities: {
      textToMusic: true,
      audioToAudio: true,
      negativePrompt: true,
      durations: null,
      modelInputs: ['seed'],
      decodesHere: true,
    },
    async generate({
      prompt,
      negativePrompt,
      durationSeconds,
      format,
      source,
      modelInputs,
      signal,
      onProgress,
    }) {
      const { rest, report } = await followDirective(prompt, { signal, onProgress });
      const { seed } = modelInputs;
      const task = {
        prompt: rest,
        negativePrompt: negativePrompt ?? '',
        seed: typeof seed === 'number' ? seed : null,
        seconds: durationSeconds,
        format,
        source: source?.bytes ?? null,
      };
      try {
        return await sound.compose(task, { signal, onProgress: report });
      } catch (error) {
        if (signal.aborted) throw abortedError();
        if (!(error instanceof UnreadableAudioError)) throw error;
        throw new UpstreamError('source_audio cannot be read', {
          status: null,
          retryable: false,
          fault: 'rejected',
          cause: error,
        });
      }
    },
  });
}
