import { ApiError, invalid } from '../../contract/errors.js';
import { storageLimitOf } from '../../access/index.js';
import { fileReference, inputDeadline } from '../../files/index.js';
import type { FileService, StoredFile } from '../../files/files.types.js';
import { MAX_PICTURE_PIXELS, UnreadableImageError } from '../../imaging/index.js';
import type { EditedImage } from '../../imaging/index.js';
import type { JobContext, JobOutcome } from '../../jobs/jobs.types.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import type { ImageEditCapabilities, PixelEditor, ProviderRegistry } from '../../providers/index.js';
import type { TokenClasses } from '../../pricing/pricing.types.js';
import { requireSupported, engineAt, engineOf } from '../pipeline/engine.js';
import type { GenerationKind, JobKindOptions } from '../generation.types.js';
import { checkImageEditInput, parseImageEditInput } from './input.js';
import type { ImageEditInput } from './input.js';
import { IMAGE_EDIT } from './kind.js';
import { editUpstream } from './upstream.js';
import type { PartialEdits } from './upstream.js';
import { partialPictures } from '../pipeline/partial-pictures.js';
import { createWithdrawal, engineName, orderLogOf } from '../pipeline/orders.js';
import { NO_TOKENS, priceOfUnits } from '../pipeline/unit-price.js';
import type { Answered } from '../pipeline/upstreams.js';
import { callUpstream } from '../pipeline/upstreams.js';
import type { OutputFormat } from '../pipeline/picture-answer.js';
import { formatOf, withBytes } from '../pipeline/picture-answer.js';

export type ImageEditKindOptions = Pick<
  JobKindOptions,
  'providers' | 'files' | 'inputs' | 'imaging' | 'logger' | 'upstreams'
>;

/** Images and masks that callers give (decisions 6, "Generations"). */
const MAX_IMAGE_MB = 20;
/** The maximum of pixels of a result; the limits of its sides follow. */
const MAX_RESULT_PIXELS = 67_200_000;
/** The maximum side of a JPEG, the format of all results except those with transparency. */
const MAX_JPEG_SIDE = 65_535;
const MAX_WEBP_SIDE = 16_383;
/** The parameters that make a result larger than its image. */
const ENLARGERS: Partial<Record<string, string>> = { outpainting: 'expand_pixels', superResolution: 'scale' };
const FORMATS = ['image/jpeg', 'image/png', 'image/webp'];

/** POST /images/edits (contract 4.3). */
export function createImageEditKind(options: ImageEditKindOptions): GenerationKind<ImageEditInput> {
  return {
    ...IMAGE_EDIT,
    parse: (body, model, dialect) =>
      parseImageEditInput(body, model, capabilitiesOf(options.providers, model), dialect),
    prepare: async (call, input, { jobId }) => await prepare(options, call, { input, jobId }),
    price: (_, model) => priceOfUnits(1, model),
    units: () => ({ edit: 1, image: 1 }),
    inputParams: ({ holed: _, ...input }, model) => ({ model: model.id, ...input }),
    present: async (job, data) => await withBytes(options.files, job, data),
    run: async (context, params, model) =>
      await run(options, context, { input: params as unknown as ImageEditInput, model }),
    withdraw: createWithdrawal(options.providers, 'image_edit'),
    usage: (charged, remaining, job) => ({
      edits_used: (charged.image_edits ?? 0) / 100,
      quota_multiplier: job.multiplier / 100,
      edits_remaining: remaining('image_edits'),
      ...NO_TOKENS,
    }),
  };
}

/** For a provider without edits: throws when it is called. */
const NOTHING: ImageEditCapabilities = { operations: null, strength: false, modelInputs: [], mask: 'hole' };

function capabilitiesOf(providers: ProviderRegistry, model: Model): ImageEditCapabilities {
  return engineOf(providers, 'image_edit', model)?.capabilities ?? NOTHING;
}

interface Given {
  bytes: Buffer;
  contentType: string;
  width: number;
  height: number;
}

/** Downloads an image and reads its header, without decoding it. @throws ApiError invalid_request */
async function fetchImage(
  { inputs, imaging }: ImageEditKindOptions,
  call: CallContext,
  { value, field, deadline }: { value: string; field: string; deadline: number },
): Promise<Given> {
  const { orgId } = call.principal;
  const { bytes, contentType } = await inputs.fetch({
    orgId,
    value,
    field,
    maxMb: MAX_IMAGE_MB,
    signal: call.signal,
    deadline,
  });
  if (contentType === null || !FORMATS.includes(contentType))
    throw invalid(`${field} must be a JPEG, PNG or WebP image`, field);
  let size: { width: number; height: number };
  try {
    size = await imaging.inspect(bytes, { maxPixels: MAX_PICTURE_PIXELS, signal: call.signal });
  } catch (error) {
    if (error instanceof UnreadableImageError) throw invalid(`${field} cannot be read`, field);
    throw error;
  }
  if (size.width * size.height > MAX_PICTURE_PIXELS)
    throw invalid(`${field} must have at most ${MAX_PICTURE_PIXELS} pixels`, field);
  return { bytes, contentType, ...size };
}

/** The size of the result. @throws ApiError if it is over the limit */
function checkResult(
  { operation, direction, expand_pixels: expand = 0, scale = 1, output_format: format }: ImageEditInput,
  image: Given,
): void {
  const both = direction === 'all' ? 2 : 1;
  const across = direction === 'left' || direction === 'right' || direction === 'all' ? expand * both : 0;
  const down = direction === 'top' || direction === 'bottom' || direction === 'all' ? expand * both : 0;
  const [width, height] = [image.width * scale + across, image.height * scale + down];
  if (format === 'webp' && Math.max(width, height) > MAX_WEBP_SIDE)
    throw invalid(`output_format webp has at most ${MAX_WEBP_SIDE} pixels a side`, 'output_format');
  const tooLong = operation !== 'backgroundRemoval' && Math.max(width, height) > MAX_JPEG_SIDE;
  if (tooLong || width * height > MAX_RESULT_PIXELS)
    throw invalid(`The result would be too large`, ENLARGERS[operation] ?? 'image');
}

async function prepare(
  options: ImageEditKindOptions,
  call: CallContext,
  { input, jobId }: { input: ImageEditInput; jobId: string },
): Promise<{ input: ImageEditInput; fileIds: string[] }> {
  if (typeof input.image !== 'string') return { input, fileIds: [] };
  const deadline = inputDeadline();
  const image = await fetchImage(options, call, { value: input.image, field: 'image', deadline });
  checkResult(input, image);
  const mask =
    typeof input.mask === 'string'
      ? await fetchImage(options, call, { value: input.mask, field: 'mask', deadline })
      : null;
  if (mask !== null && (mask.width !== image.width || mask.height !== image.height))
    throw invalid('mask must have the same dimensions as the image', 'mask');
  const area = mask !== null && input.holed ? await areaOf(options, call, mask) : mask;
  const { orgId, plan } = call.principal;
  const limitBytes = storageLimitOf(plan);
  const store = async ({ bytes, contentType, width, height }: Given): Promise<StoredFile> =>
    await options.files.save({ orgId, bytes, contentType, width, height, jobId, limitBytes });
  const storedImage = await store(image);
  const storedMask = area === null ? null : await store(area);
  return {
    input: {
      ...input,
      image: fileReference(storedImage),
      ...(storedMask === null ? {} : { mask: fileReference(storedMask) }),
    },
    fileIds: [storedImage.id, ...(storedMask === null ? [] : [storedMask.id])],
  };
}

/** Converts a mask of the convention (transparent in the area to edit) to the contract's form (white in the area to edit). */
async function areaOf(
  { imaging }: ImageEditKindOptions,
  { signal }: CallContext,
  { bytes }: Given,
): Promise<Given> {
  try {
    return { ...(await imaging.maskOf(bytes, signal)), contentType: 'image/png' };
  } catch (error) {
    if (error instanceof UnreadableImageError) throw invalid('mask cannot be read', 'mask');
    throw error;
  }
}

interface Work {
  input: ImageEditInput;
  model: Model;
}

async function run(options: ImageEditKindOptions, context: JobContext, work: Work): Promise<JobOutcome> {
  const { job, signal, progress } = context;
  const shown = partialPictures(context);
  const partials: PartialEdits | null = shown && {
    count: shown.count,
    show: (make) => shown.show(async () => (await inForm(options, await make(), work.input, signal)).bytes),
  };
  const { value: made, model } = await editImage(options, context, { ...work, partials });
  await shown?.settled();
  progress(90);
  signal.throwIfAborted();
  const { bytes, width, height, format } = await inForm(options, made, work.input, signal);
  const contentType = `image/${format}`;
  const file = await options.files.save({
    orgId: job.orgId,
    bytes,
    contentType,
    width,
    height,
    jobId: job.id,
  });
  const data = [{ url: fileReference(file), width, height }];
  return {
    outputData: { images: data },
    result: { data, model: model.id },
    amounts: priceOfUnits(1, work.model),
    outputFileId: file.id,
    fileIds: [file.id],
  };
}

/** Converts a result to the requested size and format, if any. */
// oxlint-disable-next-line max-params -- the result, and its source
async function inForm(
  { imaging }: ImageEditKindOptions,
  made: EditedImage,
  input: ImageEditInput,
  signal: AbortSignal,
): Promise<EditedImage & { format: OutputFormat }> {
  const usual = input.operation === 'backgroundRemoval' ? 'png' : 'jpeg';
  const [width, height] = input.size?.split('x').map(Number) ?? [];
  const isSized =
    width === undefined || height === undefined || (width === made.width && height === made.height);
  const sized = isSized ? made : await imaging.fit(made.bytes, { width, height }, signal);
  const written = formatOf({ output_format: usual, ...input }, isSized ? usual : 'png');
  const format = input.output_format ?? usual;
  return { ...(written === null ? sized : await imaging.encode(sized.bytes, written, signal)), format };
}

async function readReference(files: FileService, orgId: string, reference: unknown): Promise<Buffer> {
  const [id = ''] = (reference as { $file: string }).$file.split('.');
  return await files.read(orgId, id);
}

async function editImage(
  options: ImageEditKindOptions,
  { job, signal, progress, orders, tally }: JobContext,
  { input, model, partials }: Work & { partials: PartialEdits | null },
): Promise<Answered<EditedImage>> {
  const { files, imaging, upstreams } = options;
  const image = await readReference(files, job.orgId, input.image);
  const mask = input.mask === undefined ? undefined : await readReference(files, job.orgId, input.mask);
  let tokens: TokenClasses | null = null;
  let upstreamId: string | null = null;
  const onTokens = (reported: TokenClasses): void => void (tokens = reported);
  try {
    const answered = await callUpstream(upstreams, model, {
      signal,
      tally,
      attempt: async (provider, target) => {
        const can = capabilitiesOf(options.providers, target);
        if (target.id !== model.id)
          requireSupported(target, () => checkImageEditInput(input, { model: target, can }));
        const editor = engineAt(provider, 'image_edit', target);
        if (editor?.wholeOperation)
          return await editor.edit(pixelEditOf(input, { image, mask, signal, progress, partials }));
        progress(10);
        const log = orderLogOf(orders, engineName(provider, target));
        const work = { imaging, editor, image, mask, signal, orders: log, onTokens, partials };
        try {
          return await editUpstream(work, input);
        } catch (error) {
          // The usage that an upstream reported counts even if the edit fails.
          if (tokens !== null) tally.add({ model: target, tokens });
          tokens = null;
          throw error;
        } finally {
          upstreamId = log.earlier();
        }
      },
    });
    tally.answers({ model: answered.model, upstreamId, tokens, units: { edit: 1, image: 1 } });
    return answered;
  } catch (error) {
    if (error instanceof UnreadableImageError)
      throw new ApiError('invalid_request', 'image cannot be read', { param: 'image', cause: error });
    throw error;
  }
}

interface PixelEdit {
  image: Buffer;
  mask: Buffer | undefined;
  signal: AbortSignal;
  progress(percent: number): void;
  partials: PartialEdits | null;
}

function pixelEditOf(
  input: ImageEditInput,
  { image, mask, signal, progress, partials }: PixelEdit,
): Parameters<PixelEditor['edit']>[0] {
  return {
    operation: input.operation,
    image,
    ...(mask === undefined ? {} : { mask }),
    ...(input.prompt === undefined ? {} : { prompt: input.prompt }),
    ...(input.new_background === undefined ? {} : { newBackground: input.new_background }),
    direction: input.direction ?? 'all',
    expandPixels: input.expand_pixels ?? 0,
    scale: input.scale ?? 1,
    strength: input.strength,
    modelInputs: input.model_inputs ?? {},
    signal,
    onProgress: (percent) => progress(percent * 0.9),
    ...(partials === null
      ? {}
      : {
          partials: {
            count: partials.count,
            onPartial: (edited: EditedImage) => partials.show(() => Promise.resolve(edited)),
          },
        }),
  };
}
