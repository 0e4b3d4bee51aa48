import type { SharedV4ProviderOptions, TranscriptionModelV4 } from '@ai-sdk/provider';
import type { Transcription, TranscriptionCall, TranscriptionModel } from '../transcription.types.js';
import { refuseDropped } from './dropped.js';
import { isFields } from '../predictions/api-client.js';
import { languageCode } from '../openai-compatible/language-codes.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import type { NativeKind } from './kinds.js';
import { segmentsOfWords, spokenWordsOf } from './spoken-words.js';
import type { Guarded } from './guarded.types.js';

interface TranscriptionOptions {
  kind: NativeKind;
  model(): Promise<TranscriptionModelV4>;
  guarded: Guarded;
  withdraw(reference: string, signal: AbortSignal): Promise<void>;
}

type Options = SharedV4ProviderOptions[string];

/** How each provider is told of the language and of speakers. */
const SETTINGS: Partial<Record<NativeKind, (call: TranscriptionCall) => Options>> = {
  deepgram: ({ language, diarization }) => ({
    ...(language === null ? { detectLanguage: true } : { language }),
    punctuate: true,
    ...(diarization ? { diarize: true } : {}),
  }),
  elevenlabs: ({ language, diarization }) => ({
    ...(language === null ? {} : { languageCode: language }),
    diarize: diarization,
    timestampsGranularity: 'word',
  }),
  fal: ({ language }) => ({ language, diarize: false, chunkLevel: 'segment' }),
  assemblyai: ({ language, diarization }) => ({
    ...(language === null ? { languageDetection: true } : { languageCode: language }),
    ...(diarization ? { speakerLabels: true } : {}),
  }),
};

/** Kinds whose answers carry words with times and speakers. */
const WORDED: ReadonlySet<NativeKind> = new Set(['deepgram', 'elevenlabs', 'assemblyai']);

/** Transcription over a provider package. Words and speakers are read from the provider's own answer, which the package leaves them in. */
export function createV4Transcription({
  kind,
  model,
  guarded,
  withdraw,
}: TranscriptionOptions): TranscriptionModel {
  const worded = WORDED.has(kind);
  return {
    withdraw,
    capabilities: { words: worded, diarization: worded, translation: false, modelInputs: [] },
    transcribe: (call) =>
      guarded(call, async () => {
        const ready = await model();
        const settings = SETTINGS[kind]?.(call);
        const made = await ready.doGenerate({
          audio: call.audio,
          mediaType: call.mediaType,
          abortSignal: call.signal,
          ...(settings === undefined ? {} : { providerOptions: { [kind]: settings } }),
        });
        refuseDropped(made.warnings, { modelId: ready.modelId });
        // Its package takes any object for silence.
        if (kind === 'deepgram' && !hasResults(made.response.body)) throw brokenAnswer('no transcript');
        return read(made, call);
      }),
  };
}

const hasResults = (body: unknown): boolean => isFields(body) && isFields(body['results']);

function read(
  made: Awaited<ReturnType<TranscriptionModelV4['doGenerate']>>,
  call: TranscriptionCall,
): Transcription {
  const text = made.text.trim();
  const words = spokenWordsOf(made.response.body);
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
