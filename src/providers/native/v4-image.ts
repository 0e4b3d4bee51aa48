import type { ImageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { ImageModel } from '../image.types.js';
import { inputOf } from '../predictions/model-fields.js';
import type { KnownFields, ModelFields } from '../predictions/model-fields.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { refuseDropped } from './dropped-settings.js';
import { IMAGE_WORDS, ordersWithout } from './omitted-fields.js';
import type { ImageWays, NativeProvider, Shape } from './native-provider.types.js';
import type { Guarded } from './guarded.types.js';
import type { V4MediaOptions } from './v4.types.js';

/** The key of a package's provider options. */
export const optionsName = ({ id, package: made }: NativeProvider): string => made?.optionsName ?? id;

type V4ImageOptions = Pick<
  V4MediaOptions,
  'id' | 'native' | 'fields' | 'timeouts' | 'held' | 'load' | 'refused'
> & {
  guarded: Guarded;
};

/** An image model of a package. */
export function createV4Image(modelId: string, options: V4ImageOptions): ImageModel {
  const { id, native, fields, timeouts, held, load, refused, guarded } = options;
  const { image: ways = {} } = native;
  const field = unwantedField(ways, modelId, fields);
  return {
    specificationVersion: 'v4',
    provider: id,
    modelId,
    // Every model supports one image a call; for more images the caller calls again.
    maxImagesPerCall: 1,
    capabilities: {
      style: false,
      negativePrompt: field !== undefined,
      seed: ways.takesSeed?.(modelId) === true,
    },
    withdraw: held.withdraw,
    doGenerate: ({ orders, onProgress: _, ...call }) =>
      refused.send({ path: 'image', modelId, optional: () => IMAGE_WORDS }, (without) =>
        guarded({ signal: call.abortSignal, orders: ordersWithout(orders, without) }, async () => {
          const model = await load((provider) => provider.imageModel?.(modelId));
          const unwanted = imageOptions(call, field, native);
          const providerOptions = { ...unwanted, ...patience(native, { timeouts, given: unwanted }) };
          const shape = without.has('size')
            ? { size: undefined, aspectRatio: undefined }
            : shapeOf(ways.shapes?.(modelId) ?? null, call.size);
          const made = await model.doGenerate({
            ...call,
            ...shape,
            seed: ways.seed === undefined ? call.seed : ways.seed(call.seed),
            providerOptions,
          });
          refuseDropped(made.warnings, { modelId });
          return made;
        }),
      ),
  };
}

/** Images take seconds, other work takes minutes. */
const PICTURE_POLL_MS = 500;

/** The time-out and interval of packages' polling: the same as for all orders (their own defaults are one to two minutes). */
function patience(
  { id, image }: NativeProvider,
  { timeouts, given }: { timeouts: UpstreamSettings['timeouts']; given: SharedV4ProviderOptions },
): SharedV4ProviderOptions {
  if (image?.polls !== true) return {};
  const pollIntervalMillis = Math.min(timeouts.pollMs, PICTURE_POLL_MS);
  const maxPollAttempts = Math.max(1, Math.ceil(timeouts.generationMs / pollIntervalMillis));
  return { [id]: { ...given[id], pollIntervalMillis, maxPollAttempts } };
}

/** The field for the negative prompt; undefined: the model has none. */
function unwantedField(
  { unwanted, known = {} }: ImageWays,
  modelId: string,
  fields: KnownFields,
): ModelFields | undefined {
  if (unwanted !== undefined) return unwanted;
  const found = fields[modelId] ?? known[modelId];
  return found?.inputs['negative_prompt'] === undefined ? undefined : found;
}

/** The options of our call for which the model has a field. */
function imageOptions(
  { providerOptions }: ImageModelV4CallOptions,
  fields: ModelFields | undefined,
  native: NativeProvider,
): SharedV4ProviderOptions {
  const unwanted = providerOptions['penstock']?.['negative_prompt'];
  if (fields === undefined || typeof unwanted !== 'string') return {};
  return { [optionsName(native)]: inputOf(fields, { negative_prompt: unwanted }) };
}

/** The aspect ratio nearest to the size, for models that take no size; the image is scaled afterwards. */
function shapeOf(
  shapes: readonly Shape[] | null,
  size: `${number}x${number}` | undefined,
): { size?: undefined; aspectRatio?: `${number}:${number}` } {
  if (shapes === null || size === undefined) return {};
  const [width = 1, height = 1] = size.split('x').map(Number);
  const distance = ([across, down]: Shape): number => Math.abs(Math.log(width / height / (across / down)));
  const [[across, down] = [1, 1]] = shapes.toSorted((a, b) => distance(a) - distance(b));
  return { size: undefined, aspectRatio: `${across}:${down}` };
}
