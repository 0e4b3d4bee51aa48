import type {
  EmbeddingModelV4,
  EmbeddingModelV4Result,
  RerankingModelV4,
  RerankingModelV4Result,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { ImageModel } from '../image.types.js';
import type { TtsModel } from '../tts.types.js';
import type { SttModel } from '../stt.types.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import { isVector } from '../openai-compatible/vectors.js';
import { refuseDropped } from './dropped-settings.js';
import type { NativeProvider } from './native-provider.types.js';
import { SPEECH_WORDS } from './omitted-fields.js';
import { upstreamErrorOf } from './sdk-errors.js';
import { speechCallOf, speechCapabilities } from './v4-speech.js';
import { createV4Image, optionsName } from './v4-image.js';
import { createV4Transcription } from './v4-transcription.js';
import type { Guarded } from './guarded.types.js';
import type { V4MediaOptions } from './v4.types.js';

export interface V4Media {
  embedding(modelId: string): EmbeddingModelV4;
  rerank(modelId: string): RerankingModelV4;
  image(modelId: string): ImageModel;
  tts(modelId: string): TtsModel;
  stt(modelId: string): SttModel;
}

function embeddingOptions(
  native: NativeProvider,
  modelId: string,
  options: SharedV4ProviderOptions | undefined,
): SharedV4ProviderOptions {
  const dimensions = options?.['penstock']?.['dimensions'];
  if (dimensions === undefined) return {};
  return { [optionsName(native)]: { [native.dimensionsName?.(modelId) ?? 'dimensions']: dimensions } };
}

/** A package's models behind our interfaces: loaded at the first call, with converted errors. */
export function createV4Media(options: V4MediaOptions): V4Media {
  const { id, native, secrets, during, held, load, refused } = options;
  const guarded: Guarded = async (call, work) =>
    await during(() =>
      held.during(call, async () => {
        try {
          return await work();
        } catch (error) {
          throw upstreamErrorOf(error, { secrets, signal: call.signal });
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
            providerOptions: embeddingOptions(native, modelId, providerOptions),
          });
        }),
    }),
    rerank: (modelId) => ({
      ...base(modelId),
      doRerank: (options) =>
        guarded({ signal: options.abortSignal }, async () =>
          rankedBy(await load((provider) => provider.rerankingModel?.(modelId)), options),
        ),
    }),
    image: (modelId) => createV4Image(modelId, { ...options, guarded }),
    tts: (modelId) => ({ ...base(modelId), ...speechOf(modelId, { ...options, guarded }) }),
    stt: (modelId) =>
      createV4Transcription({
        native,
        modelId,
        refused,
        guarded,
        withdraw: held.withdraw,
        model: () => load((provider) => provider.transcriptionModel?.(modelId)),
      }),
  };
}

/** The package reads its answer whole; the sound is taken beside that. */
function speechOf(
  modelId: string,
  { native: { tts = {} }, live, load, refused, guarded }: V4MediaOptions & { guarded: Guarded },
): Pick<TtsModel, 'capabilities' | 'doGenerate'> {
  return {
    capabilities: speechCapabilities(tts, modelId),
    doGenerate: (options) =>
      refused.send({ path: 'speech', modelId, optional: () => SPEECH_WORDS }, (without) =>
        guarded({ signal: options.abortSignal }, async () => {
          const model = await load((provider) => provider.speechModel?.(modelId));
          const call = speechCallOf(tts, modelId, { ...options, without });
          const made = await live.during(options.onSound, () => model.doGenerate(call));
          refuseDropped(made.warnings, { modelId });
          return made;
        }),
      ),
  };
}

/** @throws UpstreamError where it ranks what it was not given */
async function rankedBy(
  model: RerankingModelV4,
  options: Parameters<RerankingModelV4['doRerank']>[0],
): Promise<RerankingModelV4Result> {
  const made = await model.doRerank(options);
  const given = options.documents.values.length;
  if (made.ranking.some(({ index }) => !Number.isSafeInteger(index) || index < 0 || index >= given))
    throw brokenAnswer('a result of no document');
  return made;
}

type EmbedOptions = Parameters<EmbeddingModelV4['doEmbed']>[0];

/** Embeds all values, in as many calls as the model needs. @throws UpstreamError where a vector is missing */
async function embedAll(model: EmbeddingModelV4, options: EmbedOptions): Promise<EmbeddingModelV4Result> {
  const limit = (await model.maxEmbeddingsPerCall) ?? options.values.length;
  const embeddings: number[][] = [];
  let tokens: number | undefined = 0;
  for (let from = 0; from < options.values.length; from += limit) {
    const values = options.values.slice(from, from + limit);
    const made = await model.doEmbed({ ...options, values });
    refuseDropped(made.warnings, { modelId: model.modelId });
    if (made.embeddings.length !== values.length || !made.embeddings.every(isVector))
      throw brokenAnswer('no embedding');
    embeddings.push(...made.embeddings);
    tokens = made.usage === undefined || tokens === undefined ? undefined : tokens + made.usage.tokens;
  }
  return { embeddings, warnings: [], ...(tokens === undefined ? {} : { usage: { tokens } }) };
}
