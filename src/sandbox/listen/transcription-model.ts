import { wordsOf } from '../../contract/live.js';
import { UnreadableAudioError } from '../../audio/index.js';
import { UpstreamError } from '../../providers/providers.types.js';
import type { SttModel, Transcription, TranscriptionCall } from '../../providers/stt.types.js';
import { abortedError } from '../../providers/index.js';
import type { Sound } from '../sound/sound.types.js';
import { pause } from '../directive/pause.js';
import { followDirective } from '../directive/follow-directive.js';

/** Longer than the caller's audio can be. */
const MAX_SECONDS = 24 * 3600;

interface TranscriptStreamOptions extends Pick<TranscriptionCall, 'diarization' | 'signal'> {
  onTranscriptPart: NonNullable<TranscriptionCall['onTranscriptPart']>;
  chunkMs: number;
}

/** Shows what was heard at the pace of the directive: turns of speakers, and each word. */
async function streamTranscript(
  { text, segments }: Transcription,
  { onTranscriptPart, diarization, chunkMs, signal }: TranscriptStreamOptions,
): Promise<void> {
  if (diarization)
    for (const { start, end, text: said, speaker } of segments)
      onTranscriptPart({ segment: { start, end, text: said, speaker } });
  for (const [index, delta] of wordsOf(text).entries()) {
    if (index > 0) await pause(chunkMs, signal);
    onTranscriptPart({ delta });
  }
}

/** The sandbox's transcription: it detects segments and speakers, but knows the words of the sandbox voice only. */
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
      const { report, chunkMs } = await followDirective(String(modelInputs['directive'] ?? ''), {
        signal,
        onProgress: call.onProgress,
      });
      const task = { bytes, language, diarization, translation, known, maxSeconds: MAX_SECONDS };
      try {
        const heard = await sound.transcribe(task, { signal, onProgress: report });
        if (call.onTranscriptPart)
          await streamTranscript(heard, {
            onTranscriptPart: call.onTranscriptPart,
            diarization,
            chunkMs,
            signal,
          });
        return heard;
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
