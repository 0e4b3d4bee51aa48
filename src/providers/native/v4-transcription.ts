import type { TranscriptionModelV4 } from '@ai-sdk/provider';
import type { Transcription, TranscriptionCall, SttModel } from '../stt.types.js';
import { refuseDropped } from './dropped-settings.js';
import type { RefusedFields } from '../openai-compatible/optional-fields.js';
import { reportedTokens } from '../convention/usage.js';
import { languageCode } from '../openai-compatible/language-codes.js';
import { optionalSettings, ordersWithout, settingsWithout } from './omitted-fields.js';
import type { NativeProvider } from './native-provider.types.js';
import { segmentsOfWords, wordsIn } from './spoken-words.js';
import type { SpokenWord } from './spoken-words.js';
import type { Guarded } from './guarded.types.js';

interface TranscriptionOptions {
  native: NativeProvider;
  modelId: string;
  /** The fields that the upstream's models refuse. */
  refused: RefusedFields;
  model(): Promise<TranscriptionModelV4>;
  guarded: Guarded;
  withdraw(reference: string, signal: AbortSignal): Promise<void>;
}

/** Transcription over a provider package. Words and speakers are read from the provider's raw answer, because the package does not return them. */
export function createV4Transcription({
  native: { id, stt: ways = {} },
  modelId,
  refused,
  model,
  guarded,
  withdraw,
}: TranscriptionOptions): SttModel {
  const worded = ways.words !== undefined;
  return {
    withdraw,
    capabilities: { words: worded, diarization: worded, translation: false, modelInputs: [] },
    transcribe: (call) =>
      refused.send(
        { path: 'transcription', modelId, optional: () => optionalSettings(ways, call) },
        (without) =>
          guarded({ signal: call.signal, orders: ordersWithout(call.orders, without) }, async () => {
            const ready = await model();
            const settings = ways.settings?.(call);
            const made = await ready.doGenerate({
              audio: call.audio,
              mediaType: call.mediaType,
              abortSignal: call.signal,
              ...(settings === undefined
                ? {}
                : { providerOptions: { [id]: settingsWithout(settings, without) } }),
            });
            refuseDropped(made.warnings, { modelId: ready.modelId });
            const { body } = made.response;
            ways.check?.(body);
            return { ...read(made, call, (ways.words ?? wordsIn)(body)), ...reportedTokens(body) };
          }),
      ),
  };
}

function read(
  made: Awaited<ReturnType<TranscriptionModelV4['doGenerate']>>,
  call: TranscriptionCall,
  words: readonly SpokenWord[],
): Transcription {
  const text = made.text.trim();
  const plain = made.segments.map(({ text: said, startSecond, endSecond }) => ({
    start: startSecond,
    end: endSecond,
    text: said.trim(),
    speaker: null,
    words: null,
  }));
  const whole = { start: 0, end: call.durationSeconds, text, speaker: null, words: null };
  const segments = words.length > 0 ? segmentsOfWords(words, call) : plain.length > 0 ? plain : [whole];
  return { text, segments: text === '' ? [] : segments, language: languageOf(made.language, call) };
}

function languageOf(said: string | undefined, call: TranscriptionCall): string {
  if (said === undefined || said === '') return call.language ?? 'und';
  return languageCode(said);
}
