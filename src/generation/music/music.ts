import type { JobContext, JobOutcome } from '../../jobs/jobs.types.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { callEngine, engineOf } from '../pipeline/engine.js';
import type { GenerationKind, JobKindOptions } from '../generation.types.js';
import { smoothProgress } from '../pipeline/progress.js';
import { readInputAudio, SOUND_FORMATS, storeInputAudio } from '../pipeline/input-audio.js';
import { checkMusicInput, parseMusicInput } from './input.js';
import type { MusicInput } from './input.js';
import { MUSIC } from './kind.js';
import { createWithdrawal } from '../pipeline/orders.js';
import type { Answered } from '../pipeline/upstreams.js';
import { inFormat, storeSound } from '../pipeline/sound-output.js';
import type { SoundInFormat } from '../pipeline/sound-output.js';
import { priceOfUnits } from '../pipeline/unit-price.js';

export type MusicKindOptions = Pick<
  JobKindOptions,
  'providers' | 'files' | 'inputs' | 'audio' | 'logger' | 'upstreams'
>;

const MAX_SOURCE_SECONDS = 3600;
/** The upstream's work counts as this much of a job's progress. */
const PLAYING_SHARE = 92;

/** POST /music/generations (contract 4.5). */
export function createMusicKind(options: MusicKindOptions): GenerationKind<MusicInput> {
  return {
    ...MUSIC,
    parse: (body, model) =>
      parseMusicInput(body, model, engineOf(options.providers, 'music', model)?.capabilities),
    prepare: async (call, input, { jobId }) => await prepare(options, call, { input, jobId }),
    price: (_, model) => priceOfUnits(1, model),
    units: ({ duration_seconds: second }) => ({ track: 1, second }),
    inputParams: ({ reader: _, ...input }, model) => ({ model: model.id, ...input }),
    run: async (context, params, model) =>
      await run(options, context, { input: params as unknown as MusicInput, model }),
    withdraw: createWithdrawal(options.providers, 'music'),
    usage: (charged, remaining, job) => ({
      tracks_used: (charged.music_tracks ?? 0) / 100,
      quota_multiplier: job.multiplier / 100,
      tracks_remaining: remaining('music_tracks'),
    }),
  };
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
    reader: input.reader,
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

async function run(options: MusicKindOptions, context: JobContext, work: Work): Promise<JobOutcome> {
  const { progress } = context;
  const { input, model } = work;
  const easing = smoothProgress((percent) => progress((percent * PLAYING_SHARE) / 100));
  try {
    const { value: made, model: player } = await play(options, context, { ...work, report: easing.report });
    const stored = { made, format: input.output_format, share: PLAYING_SHARE + 4 };
    const { reference: url, seconds, fileId } = await storeSound(options.files, context, stored);
    return {
      outputData: { audio: { url, duration_seconds: seconds } },
      result: { data: { audio_url: url, duration_seconds: seconds }, model: player.id },
      amounts: priceOfUnits(1, model),
      outputFileId: fileId,
      fileIds: [fileId],
    };
  } finally {
    easing.stop();
  }
}

async function play(
  options: MusicKindOptions,
  context: JobContext,
  { input, model, report }: Work & { report(percent: number): void },
): Promise<Answered<SoundInFormat>> {
  const { job, signal } = context;
  const given = input.source_audio;
  const sound = typeof given === 'object' ? await readInputAudio(options.files, job.orgId, given) : null;
  const source = sound && { bytes: sound.bytes, mediaType: sound.contentType };
  return await callEngine(options.upstreams, model, {
    kind: 'music',
    job: context,
    check: (target, { capabilities: can }) => checkMusicInput(input, { model: target, can }),
    ask: async (music, orders) => {
      const format = input.output_format;
      const made = await music.generate({
        prompt: input.prompt,
        negativePrompt: input.negative_prompt ?? null,
        durationSeconds: input.duration_seconds,
        format,
        source,
        modelInputs: input.model_inputs ?? {},
        signal,
        onProgress: report,
        orders,
      });
      return await inFormat(options.audio, made, { format, signal });
    },
    used: ({ durationSeconds }) => ({ units: { track: 1, second: durationSeconds } }),
  });
}
