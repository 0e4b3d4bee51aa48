import type { Imaging, RasterImage } from '../../imaging/index.js';
import { fileReference } from '../../files/index.js';
import type { StoredFile } from '../../files/index.js';
import type { JobContext, JobOutcome } from '../../jobs/jobs.types.js';
import type { Model } from '../../models/models.types.js';
import { engineOf } from '../pipeline/engine.js';
import type { GenerationKind, JobKindOptions } from '../generation.types.js';
import { baseCredits, checkImageInput, dimensionsOf, parseImageInput, priceOfImages } from './input.js';
import type { ImageInput } from './input.js';
import { IMAGE } from './kind.js';
import { decodeUpstreamMedia } from '../pipeline/upstreams.js';
import { makeImages } from './upstream.js';
import type { ImagesMade } from './upstream.js';
import { smoothProgress } from '../pipeline/progress.js';
import { partialPictures } from '../pipeline/partial-pictures.js';
import { createWithdrawal } from '../pipeline/orders.js';
import { NO_TOKENS } from '../pipeline/unit-price.js';
import { formatOf, withBytes } from '../pipeline/picture-answer.js';

export type ImageKindOptions = Pick<
  JobKindOptions,
  'providers' | 'files' | 'imaging' | 'logger' | 'upstreams'
>;

/** The upstream's work counts as this much of a job's progress; scaling and storing are the rest. */
const MAKING_SHARE = 90;

/** One item of `data`, the file still as a reference. */
interface ImageItem {
  url: { $file: string };
  revised_prompt: string;
  width: number;
  height: number;
}

/** POST /images/generations (contract 4.2). */
export function createImageKind(options: ImageKindOptions): GenerationKind<ImageInput> {
  return {
    ...IMAGE,
    parse: (body, model, dialect) => {
      const input = parseImageInput(body, dialect);
      checkImageInput(input, { model, can: engineOf(options.providers, 'image', model)?.capabilities });
      return input;
    },
    price: priceOfImages,
    units: ({ n }) => ({ image: n }),
    inputParams: (input, model) => ({ model: model.id, ...input }),
    withdraw: createWithdrawal(options.providers, 'image'),
    run: async (context, params, model) =>
      await run(options, context, { input: params as unknown as ImageInput, model }),
    present: async (job, data) => await withBytes(options.files, job, data),
    usage: (charged, remaining, job) => ({
      credits_used: (charged.credits ?? 0) / 100,
      credits_breakdown: { base: job.result?.['base_credits'] ?? 0 },
      generations_used: (charged.image_generations ?? 0) / 100,
      generations_remaining: remaining('image_generations'),
      ...NO_TOKENS,
    }),
  };
}

async function run(
  options: ImageKindOptions,
  context: JobContext,
  { input, model }: { input: ImageInput; model: Model },
): Promise<JobOutcome> {
  const progress = smoothProgress((percent) => context.progress((percent * MAKING_SHARE) / 100));
  const shown = partialPictures(context, input.n);
  const toForm = (bytes: Uint8Array, exactPng: boolean) =>
    inForm(options.imaging, { bytes, input, exactPng, signal: context.signal });
  const onPartial = (bytes: Uint8Array) => shown?.show(async () => (await toForm(bytes, false)).bytes);
  let made: ImagesMade;
  try {
    made = await makeImages(options.upstreams, model, {
      ...callOf(input),
      abortSignal: context.signal,
      jobOrders: context.orders,
      tally: context.tally,
      onProgress: progress.report,
      check: (target, can) => checkImageInput(input, { model: target, can }),
      finish: toForm,
      ...(shown === null ? {} : { partials: { count: shown.count, onPartial } }),
    });
    await shown?.settled();
  } finally {
    progress.stop();
  }
  const items = await storeAll(options, context, { input, made });
  const files = items.map((item) => item.file);
  const data = items.map((item) => item.shown);
  return {
    outputData: { images: data },
    result: { data, model: made.model.id, base_credits: baseCredits(input, model) },
    amounts: priceOfImages(input, model),
    outputFileId: files[0]?.id ?? null,
    fileIds: files.map((file) => file.id),
  };
}

function callOf(input: ImageInput) {
  return {
    prompt: input.prompt,
    n: input.n,
    size: input.size,
    aspectRatio: undefined,
    seed: input.seed,
    files: undefined,
    mask: undefined,
    providerOptions: {
      penstock: {
        // The convention's own default is not sent: some upstreams refuse the field.
        ...(input.style === 'vivid' ? {} : { style: input.style }),
        ...(input.negative_prompt === undefined ? {} : { negative_prompt: input.negative_prompt }),
        ...(input.quality === undefined ? {} : { quality: input.quality }),
        ...(input.background === undefined ? {} : { background: input.background, output_format: 'png' }),
      },
    },
  };
}

interface StoredItem {
  file: StoredFile;
  shown: ImageItem;
}

/** Stores the images. If the job fails, they are removed again. */
async function storeAll(
  options: ImageKindOptions,
  { job, signal, progress }: JobContext,
  { input, made }: { input: ImageInput; made: ImagesMade },
): Promise<StoredItem[]> {
  const stored: StoredItem[] = [];
  try {
    for (const { bytes, width, height, revisedPrompt } of made.images) {
      signal.throwIfAborted();
      const file = await options.files.save({
        orgId: job.orgId,
        bytes,
        contentType: `image/${input.output_format ?? 'png'}`,
        width,
        height,
        jobId: job.id,
      });
      const shown = {
        url: fileReference(file),
        revised_prompt: revisedPrompt ?? input.prompt,
        width,
        height,
      };
      stored.push({ file, shown });
      progress(MAKING_SHARE + ((99 - MAKING_SHARE) * stored.length) / made.images.length);
    }
    return stored;
  } catch (error) {
    const ids = stored.map(({ file }) => file.id);
    await options.files
      .remove(job.orgId, ids)
      .catch((cause: unknown) =>
        options.logger.warn({ err: cause, ids }, 'files of a failed job stay until it is forgotten'),
      );
    throw error;
  }
}

interface Sizing {
  bytes: Uint8Array;
  input: ImageInput;
  exactPng: boolean;
  signal: AbortSignal;
}

/** Converts an image to the requested size and format. */
async function inForm(imaging: Imaging, sizing: Sizing): Promise<RasterImage> {
  const sized = await toExactSize(imaging, sizing);
  const format = formatOf(sizing.input, 'png');
  return format === null ? sized : await imaging.encode(sized.bytes, format, sizing.signal);
}

/** An upstream's image is always decoded and encoded again: it may have another size, or be no image at all. */
async function toExactSize(
  imaging: Imaging,
  { bytes, input, exactPng, signal }: Sizing,
): Promise<RasterImage> {
  const { base, result } = dimensionsOf(input);
  if (exactPng && base.width === result.width)
    return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), ...base };
  return await decodeUpstreamMedia('image', () => imaging.fit(bytes, result, signal));
}
