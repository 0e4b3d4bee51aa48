import { UnreadableAudioError } from '../../audio/index.js';
import { UpstreamError } from '../../providers/providers.types.js';
import type { SttModel } from '../../providers/stt.types.js';
import { abortedError } from '../../providers/index.js';
import type { Sound } from '../sound/sound.types.js';
import { followDirective } from '../directive/follow-directive.js';

/** Longer than the caller's audio can be. */
const MAX_SECONDS = 24 * 3600;

/** Transcription made here: segments and speakers are heard; words are known for the sandbox voice's own sound only. */
export function createSandboxTranscription(sound: Sound): () => SttModel {
  return () => ({
    capabilities: {
      words: true,
      diarization: true,
      translation: true,
      decodesHere: true,
      recognizes: true,
      modelInputs: ['directive'],
    },
    async transcribe(call) {
      const { audio: bytes, language, diarization, translation, known = [], modelInputs, signal } = call;
      const { report } = await followDirective(String(modelInputs['directive'] ?? ''), {
        signal,
        onProgress: call.onProgress,
      });
      const task = { bytes, language, diarization, translation, known, maxSeconds: MAX_SECONDS };
      try {
        return await sound.transcribe(task, { signal, onProgress: report });
      } catch (error) {
        if (signal.aborted) throw abortedError();
        if (!(error instanceof UnreadableAudioError)) throw error;
        throw new UpstreamError('file cannot be read', {
          status: null,
          retryable: false,
          fault: 'rejected',
          cause: error,
        });
      }
    },
  });
}
