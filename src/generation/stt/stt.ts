import { encodeTranscriptPart } from '../../contract/live.js';
import type { JobContext, JobOutcome } from '../../jobs/jobs.types.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import type { Transcription, SttModel } from '../../providers/index.js';
import { callEngine, engineOf } from '../pipeline/engine.js';
import type { GenerationKind, JobKindOptions } from '../generation.types.js';
import { clampTimes } from './clamp-times.js';
import { smoothProgress } from '../pipeline/progress.js';
import {
  measureInputAudio,
  readInputAudio,
  SOUND_FORMATS,
  storeInputAudio,
} from '../pipeline/input-audio.js';
import type { InputAudio } from '../pipeline/input-audio.js';
import { createWithdrawal } from '../pipeline/orders.js';
import type { Answered } from '../pipeline/upstreams.js';
import { toSrt, toText, toVtt } from './subtitles.js';
import { checkSttInput, parseSttInput } from './input.js';
import type { SttInput } from './input.js';
import { STT } from './kind.js';
import { priceOfUnits } from '../pipeline/unit-price.js';

export type SttKindOptions = Pick<
  JobKindOptions,
  'providers' | 'files' | 'inputs' | 'audio' | 'spoken' | 'logger' | 'upstreams'
>;

/** Four hours: the length of 25 MB of speech, and what a job's time limit allows. */
const MAX_SECONDS = 14_400;
const LISTENING_SHARE = 95;

/** POST /audio/transcriptions (contract 4.7). */
export function createSttKind(options: SttKindOptions): GenerationKind<SttInput> {
  return {
    ...STT,
    parse: (body, model, dialect) =>
      parseSttInput(body, model, engineOf(options.providers, 'stt', model)?.capabilities, dialect),
    prepare: async (call, input, { jobId }) => await prepare(options, call, { input, jobId }),
    measure: async (call, input) => {
      const { durationSeconds } = await measureInputAudio(options, call, wanted(input));
      return { ...input, seconds: Math.ceil(durationSeconds) };
    },
    price: (input, model) => priceOfUnits(input.seconds ?? 1, model),
    units: ({ seconds }) => ({ second: seconds ?? 1 }),
    inputParams: ({ seconds: _, reader: __, ...input }, model) => ({ model: model.id, ...input }),
    withdraw: createWithdrawal(options.providers, 'stt'),
    run: async (context, params, model) =>
      await run(options, context, { input: params as unknown as SttInput, model }),
    usage: (charged, remaining, job) => ({
      seconds_used: (charged.stt_seconds ?? 0) / 100,
      quota_multiplier: job.multiplier / 100,
      seconds_remaining: remaining('stt_seconds'),
    }),
  };
}

function wanted(input: SttInput) {
  const value = input.file as string | Uint8Array;
  return {
    value,
    field: 'file',
    reader: input.reader,
    contentTypes: SOUND_FORMATS,
    maxSeconds: MAX_SECONDS,
  };
}

async function prepare(
  options: SttKindOptions,
  call: CallContext,
  { input, jobId }: { input: SttInput; jobId: string },
): Promise<{ input: SttInput; fileIds: string[] }> {
  const { reference, fileId, facts } = await storeInputAudio(options, call, { ...wanted(input), jobId });
  return {
    input: { ...input, file: reference, seconds: Math.ceil(facts.durationSeconds) },
    fileIds: [fileId],
  };
}

interface Work {
  input: SttInput;
  model: Model;
}

async function run(options: SttKindOptions, context: JobContext, work: Work): Promise<JobOutcome> {
  const { job, progress } = context;
  const { input, model } = work;
  const sound = await readInputAudio(options.files, job.orgId, input.file as { $file: string });
  const easing = smoothProgress((percent) => progress((percent * LISTENING_SHARE) / 100));
  try {
    const heard = await listen(options, context, { ...work, sound, report: easing.report });
    const { text, language } = heard.value;
    const duration = Math.round(sound.durationSeconds * 1000) / 1000;
    const segments = shownSegments(heard.value, input);
    const content = contentOf(heard.value, input);
    const formatted = content === null ? {} : { response_format: input.response_format, content };
    return {
      outputData: { text, segments, duration, ...formatted },
      result: { data: { text, segments, language, duration, ...formatted }, model: heard.model.id },
      amounts: priceOfUnits(Math.ceil(sound.durationSeconds), model),
      outputFileId: null,
      fileIds: [],
    };
  } finally {
    easing.stop();
  }
}

interface Listening extends Work {
  sound: InputAudio;
  report(percent: number): void;
}

async function listen(
  options: SttKindOptions,
  context: JobContext,
  { input, model, sound, report }: Listening,
): Promise<Answered<Transcription>> {
  const { job, signal, parts } = context;
  return await callEngine(options.upstreams, model, {
    kind: 'stt',
    job: context,
    check: (target, { capabilities: can }) => checkSttInput(input, { model: target, can }),
    ask: async (transcription, orders) => {
      const heard = await transcription.transcribe({
        orders,
        audio: sound.bytes,
        mediaType: sound.contentType,
        durationSeconds: sound.durationSeconds,
        language: input.language === 'auto' ? null : input.language,
        words: input.timestamp_granularities.includes('word') || cutsSubtitles(input, transcription),
        diarization: input.diarization,
        translation: input.translation,
        modelInputs: input.model_inputs ?? {},
        ...(transcription.capabilities.recognizes
          ? { known: await options.spoken.newest(job.orgId, sound.durationSeconds) }
          : {}),
        signal,
        onProgress: report,
        ...(parts === null
          ? {}
          : {
              onTranscriptPart: (part) => parts.give(encodeTranscriptPart(part)),
              logprobs: parts.liveOptions.logprobs === true,
            }),
      });
      return clampTimes(heard, sound.durationSeconds);
    },
    used: ({ tokens }) => ({ units: { second: sound.durationSeconds }, tokens: tokens ?? null }),
  });
}

/** For subtitles, long segments are cut between words; so word times are requested if the model supports them. */
function cutsSubtitles({ response_format: format }: SttInput, { capabilities }: SttModel): boolean {
  return capabilities.words && (format === 'srt' || format === 'vtt');
}

/** Contract 2.9: words only if they were requested. */
function shownSegments({ segments }: Transcription, { timestamp_granularities: requested }: SttInput) {
  return segments.map(({ start, end, text, speaker, words }) => ({
    start,
    end,
    text,
    speaker,
    ...(requested.includes('word') ? { words: words ?? [] } : {}),
  }));
}

/** The answer in a format of text; null for json. */
function contentOf({ text, segments }: Transcription, { response_format: format }: SttInput): string | null {
  switch (format) {
    case 'text':
      return toText(text);
    case 'srt':
      return toSrt(segments);
    case 'vtt':
      return toVtt(segments);
    case 'json':
      return null;
  }
}
