import type {
  EmbeddingModelV4,
  EmbeddingModelV4Result,
  ImageModelV4CallOptions,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { ImageModel } from '../image.types.js';
import { inputOf } from '../predictions/model-fields.js';
import type { KnownFields, ModelFields } from '../predictions/model-fields.js';
import { REPLICATE_FIELDS } from '../predictions/replicate-models.js';
import type { OrderLog } from '../order.types.js';
import type { SpeechModel } from '../speech.types.js';
import type { TranscriptionModel } from '../transcription.types.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { refuseDropped } from './dropped.js';
import type { HeldOrders } from './held-orders.js';
import type { NativeKind } from './kinds.js';
import type { OutboundFetch } from './outbound-fetch.js';
import { upstreamErrorOf } from './sdk-errors.js';
import type { SdkProvider } from './sdk-packages.js';
import { speechCallOf, speedOf } from './v4-speech.js';
import { createV4Transcription } from './v4-transcription.js';

export interface V4MediaOptions {
  /** The configured provider's id. */
  id: string;
  kind: NativeKind;
  secrets: readonly string[];
  /** Some packages ask more than once for one answer. */
  during: OutboundFetch['during'];
  /** Remembers what was ordered. */
  held: HeldOrders;
  timeouts: UpstreamSettings['timeouts'];
  /** How its models take our parameters, where an entry says it. */
  fields: KnownFields;
  /** Loads the package, then makes a model. */
  load<T>(make: (provider: SdkProvider) => T | undefined): Promise<T>;
}

export interface V4Media {
  embedding(modelId: string): EmbeddingModelV4;
  image(modelId: string): ImageModel;
  speech(modelId: string): SpeechModel;
  transcription(modelId: string): TranscriptionModel;
}

/** Under which name a package looks for its options. */
const OPTIONS_NAME: Partial<Record<NativeKind, string>> = { 'amazon-bedrock': 'bedrock' };

/** Embeddings: `dimensions` has a name of its own at each provider. */
function embeddingOptions(
  kind: NativeKind,
  options: SharedV4ProviderOptions | undefined,
): SharedV4ProviderOptions {
  const dimensions = options?.['penstock']?.['dimensions'];
  if (dimensions === undefined) return {};
  const name =
    kind === 'cohere' ? 'outputDimension' : kind === 'google' ? 'outputDimensionality' : 'dimensions';
  return { [OPTIONS_NAME[kind] ?? kind]: { [name]: dimensions } };
}

/** Models of a package behind our interfaces: loaded at the first call, with our errors. */
export function createV4Media(options: V4MediaOptions): V4Media {
  const { id, kind, secrets, during, held, fields, timeouts, load } = options;
  const guarded = async <T>(
    { signal, orders }: { signal: AbortSignal | undefined; orders?: OrderLog | undefined },
    work: () => PromiseLike<T>,
  ): Promise<T> =>
    await during(() =>
      held.during(orders, async () => {
        try {
          return await work();
        } catch (error) {
          throw upstreamErrorOf(error, { secrets, signal });
        }
      }),
    );
  const base = (modelId: string) => ({ specificationVersion: 'v4', provider: id, modelId }) as const;
  return {
    embedding: (modelId) => ({
      ...base(modelId),
      maxEmbeddingsPerCall: 2048,
      supportsParallelCalls: true,
      doEmbed: ({ providerOptions, ...options }) =>
        guarded({ signal: options.abortSignal }, async () => {
          const model = await load((provider) => provider.embeddingModel?.(modelId));
          return await embedAll(model, {
            ...options,
            providerOptions: embeddingOptions(kind, providerOptions),
          });
        }),
    }),
    image: (modelId) => ({
      ...base(modelId),
      // One a call is what every one of them can do; the caller asks again for more.
      maxImagesPerCall: 1,
      capabilities: {
        style: false,
        negativePrompt: unwantedField(kind, modelId, fields) !== undefined,
        seed: SEEDED.has(kind),
      },
      withdraw: held.withdraw,
      doGenerate: ({ orders, onProgress: _, ...options }) =>
        guarded({ signal: options.abortSignal, orders }, async () => {
          const model = await load((provider) => provider.imageModel?.(modelId));
          const unwanted = imageOptions(options, unwantedField(kind, modelId, fields), kind);
          const providerOptions = { ...unwanted, ...patience(kind, { timeouts, given: unwanted }) };
          const shape = shapeOf({ kind, modelId }, options.size);
          const made = await model.doGenerate({ ...options, ...shape, providerOptions });
          refuseDropped(made.warnings, { modelId });
          return made;
        }),
    }),
    speech: (modelId) => ({
      ...base(modelId),
      capabilities: { voices: null, referenceAudio: false, modelInputs: [], ...speedOf(kind) },
      doGenerate: (options) =>
        guarded({ signal: options.abortSignal }, async () => {
          const model = await load((provider) => provider.speechModel?.(modelId));
          const made = await model.doGenerate(speechCallOf(kind, options));
          refuseDropped(made.warnings, { modelId });
          return made;
        }),
    }),
    transcription: (modelId) =>
      createV4Transcription({
        kind,
        guarded,
        withdraw: held.withdraw,
        model: () => load((provider) => provider.transcriptionModel?.(modelId)),
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
  return { [OPTIONS_NAME[kind] ?? kind]: inputOf(fields, { negative_prompt: unwanted }) };
}

type EmbedOptions = Parameters<EmbeddingModelV4['doEmbed']>[0];

/** In as many calls as the model needs. */
async function embedAll(model: EmbeddingModelV4, options: EmbedOptions): Promise<EmbeddingModelV4Result> {
  const limit = (await model.maxEmbeddingsPerCall) ?? options.values.length;
  const embeddings: number[][] = [];
  let tokens: number | undefined = 0;
  for (let from = 0; from < options.values.length; from += limit) {
    const made = await model.doEmbed({ ...options, values: options.values.slice(from, from + limit) });
    refuseDropped(made.warnings, { modelId: model.modelId });
    embeddings.push(...made.embeddings);
    tokens = made.usage === undefined || tokens === undefined ? undefined : tokens + made.usage.tokens;
  }
  return { embeddings, warnings: [], ...(tokens === undefined ? {} : { usage: { tokens } }) };
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
