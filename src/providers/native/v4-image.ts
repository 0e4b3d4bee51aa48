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

/** Under which name a package looks for its options. */
export const optionsName = ({ id, package: made }: NativeProvider): string => made?.optionsName ?? id;

type V4ImageOptions = Pick<
  V4MediaOptions,
  'id' | 'native' | 'fields' | 'timeouts' | 'held' | 'load' | 'refused'
> & {
  guarded: Guarded;
};

/** One package's model of pictures. */
export function createV4Image(modelId: string, options: V4ImageOptions): ImageModel {
  const { id, native, fields, timeouts, held, load, refused, guarded } = options;
  const { image: ways = {} } = native;
  const field = unwantedField(ways, modelId, fields);
  return {
    specificationVersion: 'v4',
    provider: id,
    modelId,
    // One a call is what every one of them can do; the caller asks again for more.
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

/** Pictures take seconds where other work takes minutes. */
const PICTURE_POLL_MS = 500;

/** How long, and how often, packages ask about what they ordered: as everything that is ordered (their own limits are one to two minutes). */
function patience(
  { id, image }: NativeProvider,
  { timeouts, given }: { timeouts: UpstreamSettings['timeouts']; given: SharedV4ProviderOptions },
): SharedV4ProviderOptions {
  if (image?.polls !== true) return {};
  const pollIntervalMillis = Math.min(timeouts.pollMs, PICTURE_POLL_MS);
  const maxPollAttempts = Math.max(1, Math.ceil(timeouts.generationMs / pollIntervalMillis));
  return { [id]: { ...given[id], pollIntervalMillis, maxPollAttempts } };
}

/** The field that says what is unwanted; undefined: the model cannot be told. */
function unwantedField(
  { unwanted, known = {} }: ImageWays,
  modelId: string,
  fields: KnownFields,
): ModelFields | undefined {
  if (unwanted !== undefined) return unwanted;
  const found = fields[modelId] ?? known[modelId];
  return found?.inputs['negative_prompt'] === undefined ? undefined : found;
}

/** Of our own words those for which the model has a field. */
function imageOptions(
  { providerOptions }: ImageModelV4CallOptions,
  fields: ModelFields | undefined,
  native: NativeProvider,
): SharedV4ProviderOptions {
  const unwanted = providerOptions['penstock']?.['negative_prompt'];
  if (fields === undefined || typeof unwanted !== 'string') return {};
  return { [optionsName(native)]: inputOf(fields, { negative_prompt: unwanted }) };
}

/** The shape nearest to the size, for models that take no size; the picture is brought to that afterwards. */
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
