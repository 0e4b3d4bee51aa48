import { invalid } from '../../contract/errors.js';
import { fileReference } from '../../files/index.js';
import type { FileService } from '../../files/files.types.js';
import { UnreadableImageError } from '../../imaging/index.js';
import type { JobContext, JobOutcome } from '../../jobs/jobs.types.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { VideoCallOptions } from '../../providers/index.js';
import { UnreadableVideoError } from '../../video/index.js';
import type { Video, VideoFacts } from '../../video/index.js';
import { callEngine, engineOf } from '../pipeline/engine.js';
import type { Engine } from '../pipeline/engine.js';
import type { GenerationKind, JobKindOptions } from '../generation.types.js';
import { smoothProgress } from '../pipeline/progress.js';
import { createWithdrawal } from '../pipeline/orders.js';
import type { Answered } from '../pipeline/upstreams.js';
import { checkVideoInput, parseVideoInput, priceOfVideo, videoDimensions } from './input.js';
import type { VideoInput } from './input.js';
import { VIDEO } from './kind.js';
import { storeSourceImage, storeSourceVideo } from './source.js';

export type VideoKindOptions = Pick<
  JobKindOptions,
  'providers' | 'files' | 'inputs' | 'imaging' | 'video' | 'logger' | 'upstreams'
>;

/** The upstream's work counts as this much of a job's progress. */
const FILMING_SHARE = 95;

/** POST /videos/generations (contract 4.4). */
export function createVideoKind(options: VideoKindOptions): GenerationKind<VideoInput> {
  return {
    ...VIDEO,
    parse: (body, model) =>
      parseVideoInput(body, model, engineOf(options.providers, 'video', model)?.capabilities),
    prepare: async (call, input, { jobId }) => await prepare(options, call, { input, jobId }),
    price: priceOfVideo,
    units: ({ duration_seconds: second }) => ({ second }),
    inputParams: (input, model) => ({ model: model.id, ...input }),
    run: async (context, params, model) =>
      await run(options, context, { input: params as unknown as VideoInput, model }),
    withdraw: createWithdrawal(options.providers, 'video'),
    usage: (charged, remaining) => ({
      credits_used: (charged.credits ?? 0) / 100,
      seconds_used: (charged.video_seconds ?? 0) / 100,
      seconds_remaining: remaining('video_seconds'),
    }),
  };
}

async function prepare(
  options: VideoKindOptions,
  call: CallContext,
  { input, jobId }: { input: VideoInput; jobId: string },
): Promise<{ input: VideoInput; fileIds: string[] }> {
  const { source_image: image, source_video: video } = input;
  if (typeof image === 'string') {
    const { reference, fileId } = await storeSourceImage(options, call, { value: image, jobId });
    return { input: { ...input, source_image: reference }, fileIds: [fileId] };
  }
  if (typeof video === 'string') {
    const { reader, ...kept } = input;
    const { reference, fileId } = await storeSourceVideo(options, call, { value: video, jobId, reader });
    return { input: { ...kept, source_video: reference }, fileIds: [fileId] };
  }
  return { input, fileIds: [] };
}

interface Work {
  input: VideoInput;
  model: Model;
}

async function run(options: VideoKindOptions, context: JobContext, work: Work): Promise<JobOutcome> {
  const { job, signal, progress } = context;
  const easing = smoothProgress((percent) => progress((percent * FILMING_SHARE) / 100));
  try {
    const { value: made, model } = await make(options, context, { ...work, report: easing.report });
    const { bytes, width, height, durationSeconds } = made;
    const seconds = Math.round(durationSeconds * 1000) / 1000;
    signal.throwIfAborted();
    const file = await options.files.save({
      orgId: job.orgId,
      bytes,
      contentType: 'video/mp4',
      width,
      height,
      durationSeconds: seconds,
      jobId: job.id,
    });
    const url = fileReference(file);
    return {
      outputData: { video: { url, duration: seconds } },
      result: { data: { url, duration_seconds: seconds, width, height }, model: model.id },
      amounts: priceOfVideo(work.input, work.model),
      outputFileId: file.id,
      fileIds: [file.id],
    };
  } finally {
    easing.stop();
  }
}

async function readSource(
  files: FileService,
  orgId: string,
  source: VideoInput['source_image'],
): Promise<VideoCallOptions['image']> {
  if (typeof source !== 'object') return undefined;
  const [id = ''] = source.$file.split('.');
  const { contentType: mediaType } = await files.get(orgId, id);
  return { type: 'file', mediaType, data: await files.read(orgId, id) };
}

function sourceUrlOf(files: FileService, orgId: string, source: VideoInput['source_image']): string {
  const [id = '', extension = ''] = typeof source === 'object' ? source.$file.split('.') : [];
  return files.url({ orgId, id, extension });
}

async function callOptions(files: FileService, orgId: string, input: VideoInput): Promise<VideoCallOptions> {
  const { width, height } = videoDimensions(input);
  const image = await readSource(files, orgId, input.source_image);
  const video = await readSource(files, orgId, input.source_video);
  return {
    prompt: input.prompt,
    n: 1,
    aspectRatio: input.aspect_ratio,
    resolution: `${width}x${height}`,
    duration: input.duration_seconds,
    fps: input.fps,
    seed: input.seed,
    image,
    ...(image === undefined ? {} : { sourceUrl: sourceUrlOf(files, orgId, input.source_image) }),
    frameImages: undefined,
    inputReferences: video === undefined ? undefined : [video],
    generateAudio: undefined,
    providerOptions: {
      penstock: {
        ...(input.negative_prompt === undefined ? {} : { negative_prompt: input.negative_prompt }),
        ...(input.loop ? { loop: true } : {}),
        ...(input.prompt_optimizer ? { prompt_optimizer: true } : {}),
      },
    },
  };
}

async function make(
  { files, video, upstreams }: VideoKindOptions,
  context: JobContext,
  { input, model, report }: Work & { report(percent: number): void },
): Promise<Answered<FilmMade>> {
  const { signal } = context;
  const options = await callOptions(files, context.job.orgId, input);
  try {
    return await callEngine(upstreams, model, {
      kind: 'video',
      job: context,
      check: (target, { capabilities: can }) => checkVideoInput(input, { model: target, can }),
      ask: async (engine, orders) => {
        const call = { ...options, abortSignal: signal, onProgress: report, orders };
        const { videos } = await engine.doGenerate(call);
        const bytes = bytesOf(videos[0]);
        return { bytes, ...(await factsOf(video, bytes, signal)) };
      },
      used: ({ durationSeconds }) => ({ units: { second: durationSeconds } }),
    });
  } catch (error) {
    if (error instanceof UnreadableImageError) throw invalid('source_image cannot be read', 'source_image');
    if (error instanceof UnreadableVideoError)
      throw invalid(`Model ${model.id} cannot read this video`, 'source_video');
    throw error;
  }
}

type FilmMade = VideoFacts & { bytes: Uint8Array };
type Made = Awaited<ReturnType<Engine<'video'>['doGenerate']>>['videos'][number];

function bytesOf(made: Made | undefined): Uint8Array {
  if (made?.type === 'binary') return made.data;
  if (made?.type === 'base64') return Buffer.from(made.data, 'base64');
  throw new UpstreamError('Upstream made no video', { status: null, retryable: false });
}

/** Checks an upstream's video; if it is not a video, the fallbacks are tried. */
async function factsOf(video: Video, bytes: Uint8Array, signal: AbortSignal): Promise<VideoFacts> {
  try {
    const facts = await video.probe(bytes, { signal });
    if (facts.contentType === 'video/mp4') return facts;
  } catch (error) {
    if (!(error instanceof UnreadableVideoError)) throw error;
  }
  throw new UpstreamError('Upstream made no readable MP4', { status: null, retryable: false });
}
