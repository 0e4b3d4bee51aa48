import { characterCount } from '../characters.js';
import type { Audio, AudioFormat } from '../audio/index.js';
import { UnreadableAudioError } from '../audio/index.js';
import { ApiError, invalid } from '../errors.js';
import type { Logger } from 'pino';
import { fileReference } from '../files/index.js';
import type { FileService, InputFetcher } from '../files/files.types.js';
import type { JobContext, JobOutcome } from '../jobs/jobs.types.js';
import type { CallContext } from '../metering/call-context.js';
import type { Model, ModelCatalogue } from '../models/models.types.js';
import { UpstreamError } from '../providers/index.js';
import type { ProviderRegistry, SpeechCapabilities } from '../providers/index.js';
import type { GenerationKind } from './generation.types.js';
import { easeProgress } from './image-progress.js';
import { readInputAudio, SOUND_FORMATS, storeInputAudio } from './input-audio.js';
import { createRouter } from './routing.js';
import type { Routed, Router } from './routing.js';
import { parseSpeechInput } from './speech-input.js';
import type { SpeechInput } from './speech-input.js';
import { priceOfUnits } from './unit-price.js';
import { callUpstream } from './upstream-call.js';

export interface SpeechKindOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  files: FileService;
  inputs: InputFetcher;
  audio: Audio;
  logger: Logger;
}

const CONTENT_TYPES: Record<AudioFormat, string> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  aac: 'audio/aac',
};
const MAX_SAMPLE_SECONDS = 600;
/** Speaking counts as this much of a job's progress. */
const SPEAKING_SHARE = 90;

/** POST /audio/speech (contract 4.6). */
export function createSpeechKind(given: SpeechKindOptions): GenerationKind<SpeechInput> {
  const options = { ...given, router: createRouter(given) };
  return {
    tool: 'tts',
    endpoint: 'tts',
    scope: 'tts',
    modelType: 'tts',
    timeLimitMs: 600_000,
    concurrency: 2,
    exhaustedMessage: 'TTS character limit exceeded',
    failureMessage: 'Generation failed',
    parse: (body, model) => parseSpeechInput(body, model, capabilitiesOf(given.providers, model)),
    prepare: async (call, input, { jobId }) => await prepare(options, call, { input, jobId }),
    price: (input, model) => priceOfUnits(characterCount(input.input), model),
    inputParams: (input, model) => ({ model: model.id, ...input }),
    run: async (context, params, model) =>
      await run(options, context, { input: params as unknown as SpeechInput, model }),
    usage: (charged, remaining, job) => ({
      chars_used: (charged.tts_chars ?? 0) / 100,
      quota_multiplier: job.multiplier / 100,
      chars_remaining: remaining('tts_chars'),
    }),
  };
}

function capabilitiesOf(providers: ProviderRegistry, model: Model): SpeechCapabilities | undefined {
  const provider = providers.find(model.upstream?.providerId ?? '');
  return provider?.speech?.(model.upstream?.modelId ?? model.name)?.capabilities;
}

async function prepare(
  options: SpeechKindOptions,
  call: CallContext,
  { input, jobId }: { input: SpeechInput; jobId: string },
): Promise<{ input: SpeechInput; fileIds: string[] }> {
  if (typeof input.reference_audio !== 'string') return { input, fileIds: [] };
  const stored = await storeInputAudio(options, call, {
    value: input.reference_audio,
    field: 'reference_audio',
    jobId,
    contentTypes: SOUND_FORMATS,
    maxSeconds: MAX_SAMPLE_SECONDS,
  });
  return { input: { ...input, reference_audio: stored.reference }, fileIds: [stored.fileId] };
}

interface Work {
  input: SpeechInput;
  model: Model;
}

async function run(
  options: SpeechKindOptions & { router: Router },
  context: JobContext,
  work: Work,
): Promise<JobOutcome> {
  const { job, signal, progress } = context;
  const { input, model } = work;
  const easing = easeProgress((percent) => progress((percent * SPEAKING_SHARE) / 100));
  try {
    const said = await speak(options, context, { ...work, report: easing.report });
    const made = await inFormat(options.audio, said.value, { format: input.response_format, signal });
    progress(SPEAKING_SHARE + 5);
    const seconds = Math.round(made.durationSeconds * 1000) / 1000;
    signal.throwIfAborted();
    const file = await options.files.save({
      orgId: job.orgId,
      bytes: made.bytes,
      contentType: CONTENT_TYPES[input.response_format],
      ...(input.response_format === 'opus' ? { extension: 'opus' } : {}),
      durationSeconds: seconds,
      jobId: job.id,
    });
    const shown = { audio_url: fileReference(file), duration_seconds: seconds };
    const count = characterCount(input.input);
    return {
      outputData: shown,
      result: { data: { ...shown, character_count: count }, model: said.model.id },
      amounts: priceOfUnits(count, model),
      outputFileId: file.id,
      fileIds: [file.id],
    };
  } finally {
    easing.stop();
  }
}

interface Said {
  bytes: Uint8Array;
  /** Told by the engine, which knows it without what encoders add. */
  seconds: number | null;
}

async function speak(
  options: SpeechKindOptions & { router: Router },
  { job, signal }: JobContext,
  { input, model, report }: Work & { report(percent: number): void },
): Promise<Routed<Said>> {
  const sample = input.reference_audio;
  const reference =
    typeof sample === 'object'
      ? { bytes: await readInputAudio(options.files, job.orgId, sample), text: input.reference_text ?? null }
      : undefined;
  try {
    return await callUpstream(options.router, model, {
      signal,
      attempt: async (provider, target) => {
        const speech = provider.speech?.(target.upstream?.modelId ?? target.name);
        if (speech === undefined)
          throw new UpstreamError('The provider does not speak', { status: null, retryable: false });
        const { audio, providerMetadata } = await speech.doGenerate({
          text: input.input,
          voice: input.voice,
          outputFormat: input.response_format,
          speed: input.speed,
          ...(reference === undefined ? {} : { reference }),
          ...(input.model_inputs === undefined ? {} : { providerOptions: { penstock: input.model_inputs } }),
          abortSignal: signal,
          onProgress: report,
        });
        const seconds = providerMetadata?.['penstock']?.['durationSeconds'];
        return {
          bytes: typeof audio === 'string' ? Buffer.from(audio, 'base64') : audio,
          seconds: typeof seconds === 'number' ? seconds : null,
        };
      },
    });
  } catch (error) {
    if (error instanceof UnreadableAudioError)
      throw invalid('reference_audio cannot be read', 'reference_audio');
    throw error;
  }
}

/** An upstream's speech is looked at before it is believed; what came in another format is brought to the one that was asked for. */
async function inFormat(
  audio: Audio,
  { bytes, seconds }: Said,
  { format, signal }: { format: AudioFormat; signal: AbortSignal },
): Promise<{ bytes: Uint8Array; durationSeconds: number }> {
  try {
    const facts = await audio.probe(bytes, { signal });
    if (facts.contentType === CONTENT_TYPES[format])
      return { bytes, durationSeconds: seconds ?? facts.durationSeconds };
    return await audio.convert(bytes, format, { signal });
  } catch (error) {
    if (!(error instanceof UnreadableAudioError)) throw error;
    throw new ApiError('server_error', 'Generation failed', { cause: error });
  }
}
