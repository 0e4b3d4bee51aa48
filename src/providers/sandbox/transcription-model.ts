import { UnreadableAudioError } from '../../audio/index.js';
import type { Audio } from '../../audio/index.js';
import { UpstreamError } from '../providers.types.js';
import type { SttModel } from '../stt.types.js';
import { abortedError } from '../openai-compatible/upstream-errors.js';
import { followDirective } from './directed.js';

/** Longer than the caller's audio can be. */
const MAX_SECONDS = 24 * 3600;

/** Transcription made here: segments and speakers are heard; words are known for the sandbox voice's own sound only. */
export function createSandboxTranscription(audio: Audio): () => SttModel {
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
        return await audio.transcribe(task, { signal, onProgress: report });
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
