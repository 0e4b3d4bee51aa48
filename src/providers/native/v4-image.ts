import type { ImageModelV4CallOptions, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { ImageModel } from '../image.types.js';
import { inputOf } from '../predictions/model-fields.js';
import type { KnownFields, ModelFields } from '../predictions/model-fields.js';
import { REPLICATE_FIELDS } from '../predictions/replicate-models.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { refuseDropped } from './dropped.js';
import type { NativeKind } from './kinds.js';
import type { Guarded } from './guarded.types.js';
import type { V4MediaOptions } from './v4.types.js';

/** Under which name a package looks for its options. */
export const optionsName = (kind: NativeKind): string => (kind === 'amazon-bedrock' ? 'bedrock' : kind);

type V4ImageOptions = Pick<V4MediaOptions, 'id' | 'kind' | 'fields' | 'timeouts' | 'held' | 'load'> & {
  guarded: Guarded;
};

/** One package's model of pictures. */
export function createV4Image(modelId: string, options: V4ImageOptions): ImageModel {
  const { id, kind, fields, timeouts, held, load, guarded } = options;
  return {
    specificationVersion: 'v4',
    provider: id,
    modelId,
    // One a call is what every one of them can do; the caller asks again for more.
    maxImagesPerCall: 1,
    capabilities: {
      style: false,
      negativePrompt: unwantedField(kind, modelId, fields) !== undefined,
      seed: SEEDED.has(kind) && !SEEDLESS.has(modelId),
    },
    withdraw: held.withdraw,
    doGenerate: ({ orders, onProgress: _, ...call }) =>
      guarded({ signal: call.abortSignal, orders }, async () => {
        const model = await load((provider) => provider.imageModel?.(modelId));
        const unwanted = imageOptions(call, unwantedField(kind, modelId, fields), kind);
        const providerOptions = { ...unwanted, ...patience(kind, { timeouts, given: unwanted }) };
        const shape = shapeOf({ kind, modelId }, call.size);
        const made = await model.doGenerate({
          ...call,
          ...shape,
          seed: sentSeed(kind, call.seed),
          providerOptions,
        });
        refuseDropped(made.warnings, { modelId });
        return made;
      }),
  };
}

/** Pictures take seconds where other work takes minutes. */
const PICTURE_POLL_MS = 500;

/** How long, and how often, packages ask about what they ordered: as everything that is ordered (their own limits are one to two minutes). */
function patience(
  kind: NativeKind,
  { timeouts, given }: { timeouts: UpstreamSettings['timeouts']; given: SharedV4ProviderOptions },
): SharedV4ProviderOptions {
  if (kind !== 'replicate' && kind !== 'luma') return {};
  const pollIntervalMillis = Math.min(timeouts.pollMs, PICTURE_POLL_MS);
  const maxPollAttempts = Math.max(1, Math.ceil(timeouts.generationMs / pollIntervalMillis));
  return { [kind]: { ...given[kind], pollIntervalMillis, maxPollAttempts } };
}

/** Kinds whose packages send a seed. */
const SEEDED: ReadonlySet<NativeKind> = new Set([
  'replicate',
  'fal',
  'togetherai',
  'fireworks',
  'amazon-bedrock',
]);

/** Their models that take none all the same. */
const SEEDLESS: ReadonlySet<string> = new Set(['google/gemini-3-pro-image']);

/** Bedrock's package leaves out a seed that is falsy: zero goes as an object, which JSON writes as the number that it holds. */
const sentSeed = (kind: NativeKind, seed: number | undefined): number | undefined =>
  kind === 'amazon-bedrock' && seed === 0 ? (Object(0) as number) : seed;

/** The field that says what is unwanted; undefined: the model cannot be told. */
function unwantedField(kind: NativeKind, modelId: string, fields: KnownFields): ModelFields | undefined {
  if (kind === 'amazon-bedrock') return { inputs: { negative_prompt: 'negativeText' } };
  const found = fields[modelId] ?? (kind === 'replicate' ? REPLICATE_FIELDS[modelId] : undefined);
  return found?.inputs['negative_prompt'] === undefined ? undefined : found;
}

/** Of our own words those for which the model has a field. */
function imageOptions(
  { providerOptions }: ImageModelV4CallOptions,
  fields: ModelFields | undefined,
  kind: NativeKind,
): SharedV4ProviderOptions {
  const unwanted = providerOptions['penstock']?.['negative_prompt'];
  if (fields === undefined || typeof unwanted !== 'string') return {};
  return { [optionsName(kind)]: inputOf(fields, { negative_prompt: unwanted }) };
}

/** These take a shape instead of a size. */
const SHAPED: ReadonlySet<NativeKind> = new Set(['google', 'luma', 'xai', 'replicate', 'fireworks']);
/** Of Fireworks' models those that take a size. */
const SIZED = /stable-diffusion-xl|playground|SSD-1B/;
type Shape = readonly [across: number, down: number];
const SQUARE: Shape = [1, 1];
const SHAPES: readonly Shape[] = [SQUARE, [4, 3], [3, 4], [16, 9], [9, 16]];
const MORE_SHAPES: readonly Shape[] = [...SHAPES, [3, 2], [2, 3]];

/** The shape nearest to the size, for models that take no size; the picture is brought to that afterwards. */
function shapeOf(
  { kind, modelId }: { kind: NativeKind; modelId: string },
  size: `${number}x${number}` | undefined,
): { size?: undefined; aspectRatio?: `${number}:${number}` } {
  if (!SHAPED.has(kind) || (kind === 'fireworks' && SIZED.test(modelId)) || size === undefined) return {};
  const [width = 1, height = 1] = size.split('x').map(Number);
  const distance = ([across, down]: Shape): number => Math.abs(Math.log(width / height / (across / down)));
  const shapes = kind === 'luma' ? SHAPES : MORE_SHAPES;
  const [nearest = SQUARE] = shapes.toSorted((a, b) => distance(a) - distance(b));
  return { size: undefined, aspectRatio: `${nearest[0]}:${nearest[1]}` };
}
