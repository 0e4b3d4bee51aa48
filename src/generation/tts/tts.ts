import { characterCount } from '../../text/characters.js';
import { UnreadableAudioError } from '../../audio/index.js';
import { invalid } from '../../contract/errors.js';
import type { JobContext, JobOutcome } from '../../jobs/jobs.types.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import type { KnownSpeech, TtsCapabilities } from '../../providers/index.js';
import { callEngine, engineOf } from '../pipeline/engine.js';
import type { Engine } from '../pipeline/engine.js';
import type { GenerationKind, JobKindOptions } from '../generation.types.js';
import { smoothProgress } from '../pipeline/progress.js';
import { readInputAudio, SOUND_FORMATS, storeInputAudio } from '../pipeline/input-audio.js';
import type { Answered } from '../pipeline/upstreams.js';
import { inFormat, storeSound } from '../pipeline/sound-output.js';
import type { SoundInFormat, SoundMade } from '../pipeline/sound-output.js';
import { liveSound } from './live-sound.js';
import { checkTtsInput, nearestVoice, parseTtsInput } from './input.js';
import type { TtsInput } from './input.js';
import { TTS } from './kind.js';
import { priceOfUnits } from '../pipeline/unit-price.js';

export type TtsKindOptions = Pick<
  JobKindOptions,
  'providers' | 'files' | 'inputs' | 'audio' | 'spoken' | 'logger' | 'upstreams'
>;

const MAX_SAMPLE_SECONDS = 600;
/** The slowest speech names digits and letters one by one. */
const CHARACTERS_PER_SECOND = 2;
/** The upstream's work counts as this much of a job's progress. */
const SPEAKING_SHARE = 90;

/** POST /audio/speech (contract 4.6). */
export function createTtsKind(options: TtsKindOptions): GenerationKind<TtsInput> {
  return {
    ...TTS,
    parse: (body, model, dialect) =>
      parseTtsInput(body, model, engineOf(options.providers, 'tts', model)?.capabilities, dialect),
    prepare: async (call, input, { jobId }) => await prepare(options, call, { input, jobId }),
    price: (input, model) => priceOfUnits(characterCount(input.input), model),
    units: ({ input, speed }) => ({ character: characterCount(input), second: longest(input, speed) }),
    inputParams: ({ reader: _, ...input }, model) => ({ model: model.id, ...input }),
    run: async (context, params, model) =>
      await run(options, context, { input: params as unknown as TtsInput, model }),
    usage: (charged, remaining, job) => ({
      chars_used: (charged.tts_chars ?? 0) / 100,
      quota_multiplier: job.multiplier / 100,
      chars_remaining: remaining('tts_chars'),
    }),
  };
}

/** The maximum duration of the speech in seconds, with a pause at its end. */
const longest = (input: string, speed: number): number =>
  Math.ceil(characterCount(input) / CHARACTERS_PER_SECOND / speed) + 1;

async function prepare(
  options: TtsKindOptions,
  call: CallContext,
  { input, jobId }: { input: TtsInput; jobId: string },
): Promise<{ input: TtsInput; fileIds: string[] }> {
  if (typeof input.reference_audio !== 'string') return { input, fileIds: [] };
  const stored = await storeInputAudio(options, call, {
    value: input.reference_audio,
    field: 'reference_audio',
    reader: input.reader,
    jobId,
    contentTypes: SOUND_FORMATS,
    maxSeconds: MAX_SAMPLE_SECONDS,
  });
  return { input: { ...input, reference_audio: stored.reference }, fileIds: [stored.fileId] };
}

interface Work {
  input: TtsInput;
  model: Model;
}

async function run(options: TtsKindOptions, context: JobContext, work: Work): Promise<JobOutcome> {
  const { progress } = context;
  const { input, model } = work;
  const easing = smoothProgress((percent) => progress((percent * SPEAKING_SHARE) / 100));
  try {
    const { value: made, model: speaker } = await speak(options, context, { ...work, report: easing.report });
    const format = input.response_format;
    const stored = await storeSound(options.files, context, { made, format, share: SPEAKING_SHARE + 5 });
    if (made.known !== null) await options.spoken.remember(context.job.orgId, context.job.id, made.known);
    const shown = { audio_url: stored.reference, duration_seconds: stored.seconds };
    const count = characterCount(input.input);
    return {
      outputData: shown,
      result: { data: { ...shown, character_count: count }, model: speaker.id },
      amounts: priceOfUnits(count, model),
      outputFileId: stored.fileId,
      fileIds: [stored.fileId],
    };
  } finally {
    easing.stop();
  }
}

/** Other formats are converted from one that every model supports. */
const askedFormat = (format: TtsInput['response_format']): string =>
  format === 'flac' || format === 'pcm' ? 'wav' : format;

async function speak(
  options: TtsKindOptions,
  context: JobContext,
  { input, model, report }: Work & { report(percent: number): void },
): Promise<Answered<SoundInFormat & SpeechKnown>> {
  const { job, signal, parts } = context;
  const sample = input.reference_audio;
  const reference =
    typeof sample === 'object'
      ? {
          bytes: (await readInputAudio(options.files, job.orgId, sample)).bytes,
          text: input.reference_text ?? null,
        }
      : undefined;
  // A fallback may not have the chosen voice.
  const voiceAt = (target: Model, can: TtsCapabilities | undefined): string =>
    target.id === model.id || can === undefined ? input.voice : nearestVoice(input.voice, can);
  try {
    return await callEngine(options.upstreams, model, {
      kind: 'tts',
      job: context,
      check: (target, { capabilities: can }) =>
        checkTtsInput({ ...input, voice: voiceAt(target, can) }, { model: target, can }),
      ask: async (speech, orders, target) => {
        const made = await speech.doGenerate({
          orders,
          text: input.input,
          voice: voiceAt(target, speech.capabilities),
          outputFormat: askedFormat(input.response_format),
          speed: input.speed,
          ...(reference === undefined ? {} : { reference }),
          ...(input.model_inputs === undefined ? {} : { providerOptions: { penstock: input.model_inputs } }),
          abortSignal: signal,
          onProgress: report,
          ...(parts === null
            ? {}
            : { onSound: liveSound(input.response_format, (bytes) => parts.give(bytes)) }),
        });
        const { known, ...sound } = soundOf(made);
        const format = input.response_format;
        return { known, ...(await inFormat(options.audio, sound, { format, signal })) };
      },
      used: ({ durationSeconds }) => ({
        units: { character: characterCount(input.input), second: durationSeconds },
      }),
    });
  } catch (error) {
    if (error instanceof UnreadableAudioError)
      throw invalid('reference_audio cannot be read', 'reference_audio');
    throw error;
  }
}

/** The fingerprint of a model's speech, by which a transcription recognises it (the sandbox only). */
interface SpeechKnown {
  known: KnownSpeech | null;
}

function soundOf({
  audio,
  providerMetadata,
}: Awaited<ReturnType<Engine<'tts'>['doGenerate']>>): SoundMade & SpeechKnown {
  const { durationSeconds, fingerprint, said } = providerMetadata?.['penstock'] ?? {};
  const seconds = typeof durationSeconds === 'number' ? durationSeconds : null;
  const isKnown = seconds !== null && typeof fingerprint === 'string' && typeof said === 'string';
  return {
    bytes: typeof audio === 'string' ? Buffer.from(audio, 'base64') : audio,
    durationSeconds: seconds,
    known: isKnown ? { text: said, seconds, fingerprint: Buffer.from(fingerprint, 'base64') } : null,
  };
}
