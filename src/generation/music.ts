import type { Audio } from '../audio/index.js';
import { UnreadableAudioError } from '../audio/index.js';
import type { Logger } from 'pino';
import { fileReference } from '../files/index.js';
import type { FileService, InputFetcher } from '../files/files.types.js';
import type { JobContext, JobOutcome } from '../jobs/jobs.types.js';
import type { CallContext } from '../metering/call-context.js';
import type { Model, ModelCatalogue } from '../models/models.types.js';
import { UpstreamError } from '../providers/index.js';
import type { MusicCapabilities, MusicMade, ProviderRegistry } from '../providers/index.js';
import type { GenerationKind } from './generation.types.js';
import { easeProgress } from './image-progress.js';
import { readInputAudio, SOUND_FORMATS, storeInputAudio } from './input-audio.js';
import { parseMusicInput } from './music-input.js';
import type { MusicInput } from './music-input.js';
import { createRouter } from './routing.js';
import type { Routed, Router } from './routing.js';
import { priceOfUnits } from './unit-price.js';
import { callUpstream } from './upstream-call.js';

export interface MusicKindOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  files: FileService;
  inputs: InputFetcher;
  audio: Audio;
  logger: Logger;
}

const CONTENT_TYPES = { mp3: 'audio/mpeg', wav: 'audio/wav' } as const;
const MAX_SOURCE_SECONDS = 3600;
/** Playing counts as this much of a job's progress. */
const PLAYING_SHARE = 92;

/** POST /music/generations (contract 4.5). */
export function createMusicKind(given: MusicKindOptions): GenerationKind<MusicInput> {
  const options = { ...given, router: createRouter(given) };
  return {
    tool: 'music',
    endpoint: 'music',
    scope: 'music',
    modelType: 'music',
    timeLimitMs: 600_000,
    concurrency: 1,
    exhaustedMessage: 'Music track limit exceeded',
    failureMessage: 'Generation failed',
    parse: (body, model) => parseMusicInput(body, model, capabilitiesOf(given.providers, model)),
    prepare: async (call, input, { jobId }) => await prepare(options, call, { input, jobId }),
    price: (_, model) => priceOfUnits(1, model),
    inputParams: (input, model) => ({ model: model.id, ...input }),
    run: async (context, params, model) =>
      await run(options, context, { input: params as unknown as MusicInput, model }),
    usage: (charged, remaining, job) => ({
      tracks_used: (charged.music_tracks ?? 0) / 100,
      quota_multiplier: job.multiplier / 100,
      tracks_remaining: remaining('music_tracks'),
    }),
  };
}

function capabilitiesOf(providers: ProviderRegistry, model: Model): MusicCapabilities | undefined {
  const provider = providers.find(model.upstream?.providerId ?? '');
  return provider?.music?.(model.upstream?.modelId ?? model.name)?.capabilities;
}

async function prepare(
  options: MusicKindOptions,
  call: CallContext,
  { input, jobId }: { input: MusicInput; jobId: string },
): Promise<{ input: MusicInput; fileIds: string[] }> {
  if (typeof input.source_audio !== 'string') return { input, fileIds: [] };
  const { reference, fileId } = await storeInputAudio(options, call, {
    value: input.source_audio,
    field: 'source_audio',
    jobId,
    contentTypes: SOUND_FORMATS,
    maxSeconds: MAX_SOURCE_SECONDS,
  });
  return { input: { ...input, source_audio: reference }, fileIds: [fileId] };
}

interface Work {
  input: MusicInput;
  model: Model;
}

async function run(
  options: MusicKindOptions & { router: Router },
  context: JobContext,
  work: Work,
): Promise<JobOutcome> {
  const { job, signal, progress } = context;
  const { input, model } = work;
  const easing = easeProgress((percent) => progress((percent * PLAYING_SHARE) / 100));
  try {
    const played = await play(options, context, { ...work, report: easing.report });
    const made = await inFormat(options.audio, played.value, { format: input.output_format, signal });
    progress(PLAYING_SHARE + 4);
    signal.throwIfAborted();
    const seconds = Math.round(made.durationSeconds * 1000) / 1000;
    const file = await options.files.save({
      orgId: job.orgId,
      bytes: made.bytes,
      contentType: CONTENT_TYPES[input.output_format],
      durationSeconds: seconds,
      jobId: job.id,
    });
    const url = fileReference(file);
    return {
      outputData: { audio: { url, duration_seconds: seconds } },
      result: { data: { audio_url: url, duration_seconds: seconds }, model: played.model.id },
      amounts: priceOfUnits(1, model),
      outputFileId: file.id,
      fileIds: [file.id],
    };
  } finally {
    easing.stop();
  }
}

async function play(
  options: MusicKindOptions & { router: Router },
  { job, signal }: JobContext,
  { input, model, report }: Work & { report(percent: number): void },
): Promise<Routed<MusicMade>> {
  const given = input.source_audio;
  const bytes = typeof given === 'object' ? await readInputAudio(options.files, job.orgId, given) : null;
  const source =
    bytes === null ? null : { bytes, mediaType: (await options.audio.probe(bytes, { signal })).contentType };
  return await callUpstream(options.router, model, {
    signal,
    attempt: async (provider, target) => {
      const music = provider.music?.(target.upstream?.modelId ?? target.name);
      if (music === undefined)
        throw new UpstreamError('The provider makes no music', { status: null, retryable: false });
      return await music.generate({
        prompt: input.prompt,
        negativePrompt: input.negative_prompt ?? null,
        durationSeconds: input.duration_seconds,
        format: input.output_format,
        source,
        modelInputs: input.model_inputs ?? {},
        signal,
        onProgress: report,
      });
    },
  });
}

/** An upstream's music is looked at before it is believed; what came in another format is brought to the one that was asked for. */
async function inFormat(
  audio: Audio,
  { bytes, durationSeconds }: MusicMade,
  { format, signal }: { format: 'mp3' | 'wav'; signal: AbortSignal },
): Promise<{ bytes: Uint8Array; durationSeconds: number }> {
  try {
    const facts = await audio.probe(bytes, { signal });
    if (facts.contentType === CONTENT_TYPES[format])
      return { bytes, durationSeconds: durationSeconds ?? facts.durationSeconds };
    return await audio.convert(bytes, format, { signal });
  } catch (error) {
    if (!(error instanceof UnreadableAudioError)) throw error;
    throw new UpstreamError('Upstream made no readable audio', {
      status: null,
      retryable: false,
      cause: error,
    });
  }
}
