import type { ImageModelV4Result } from '@ai-sdk/provider';
import type { Logger } from 'pino';
import { ApiError } from '../errors.js';
import type { Model, ModelCatalogue } from '../models/models.types.js';
import { pause, UpstreamError } from '../providers/index.js';
import type { ImageCallOptions, Provider, ProviderRegistry } from '../providers/index.js';

export interface ImageUpstreams {
  models: ModelCatalogue;
  providers: Pick<ProviderRegistry, 'find'>;
  logger: Logger;
}

/** What one provider made; `model` is the one that answered. */
export interface ImagesMade {
  model: Model;
  providerId: string;
  images: { bytes: Uint8Array; revisedPrompt: string | null }[];
}

/**
 * Asks the model's provider, again where that may help, then its fallbacks (decisions.md 6, "Upstreams").
 * @throws ApiError invalid_request where the upstream rejected the request itself, UpstreamError for any other fault
 */
export async function makeImages(
  { models, providers, logger }: ImageUpstreams,
  asked: Model,
  options: ImageCallOptions,
): Promise<ImagesMade> {
  const candidates = [asked, ...models.fallbacks(asked.id).filter((model) => model.type === 'image')];
  let fault: unknown = new UpstreamError('No provider makes images with this model', {
    status: null,
    retryable: false,
  });
  for (const model of candidates) {
    const provider = model.upstream === null ? null : providers.find(model.upstream.providerId);
    if (provider?.image === undefined || model.upstream === null) continue;
    try {
      const images = await askWithRetries(provider, model.upstream.modelId, options);
      return { model, providerId: provider.id, images };
    } catch (error) {
      if (options.abortSignal?.aborted === true) throw error;
      if (error instanceof UpstreamError && error.fault === 'rejected')
        throw new ApiError('invalid_request', error.message, { cause: error });
      logger.warn({ err: error, model: model.id }, 'an image provider failed');
      fault = error;
    }
  }
  throw fault;
}

async function askWithRetries(
  provider: Provider,
  modelId: string,
  options: ImageCallOptions,
): Promise<ImagesMade['images']> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask(provider, modelId, options);
    } catch (error) {
      const again =
        error instanceof UpstreamError && error.options.retryable && attempt < provider.retry.retries;
      if (!again) throw error;
      const backoffMs = provider.retry.backoffMs * 2 ** attempt * (0.5 + Math.random());
      await pause(
        error.options.retryAfterMs ?? backoffMs,
        options.abortSignal ?? new AbortController().signal,
      );
    }
  }
}

/** As many calls as the provider needs for n images. */
async function ask(
  provider: Provider,
  modelId: string,
  options: ImageCallOptions,
): Promise<ImagesMade['images']> {
  const model = provider.image?.(modelId);
  if (model === undefined) throw new UpstreamError('No images', { status: null, retryable: false });
  const limit = typeof model.maxImagesPerCall === 'number' ? model.maxImagesPerCall : options.n;
  const images: ImagesMade['images'] = [];
  while (images.length < options.n) {
    const made = imagesOf(
      await model.doGenerate({ ...options, n: Math.min(limit, options.n - images.length) }),
    );
    if (made.length === 0)
      throw new UpstreamError('Upstream made no image', { status: null, retryable: false });
    images.push(...made);
  }
  return images.slice(0, options.n);
}

function imagesOf(result: ImageModelV4Result): ImagesMade['images'] {
  const [facts] = Object.values(result.providerMetadata ?? {});
  return result.images.map((image, index) => {
    const revised = (facts?.images[index] as { revisedPrompt?: unknown } | null | undefined)?.revisedPrompt;
    return {
      bytes: typeof image === 'string' ? Buffer.from(image, 'base64') : image,
      revisedPrompt: typeof revised === 'string' ? revised : null,
    };
  });
}
