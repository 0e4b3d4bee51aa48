import type { ImageModelV4Result } from '@ai-sdk/provider';
import type { RasterImage } from '../../imaging/index.js';
import type { JobOrders } from '../../jobs/jobs.types.js';
import type { OperationTally } from '../../metering/index.js';
import type { Model } from '../../models/models.types.js';
import type { TokenClasses, Used } from '../../pricing/pricing.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { ImageCallOptions, ImageCapabilities, OrderLog, Provider } from '../../providers/index.js';
import { requireSupported, engineAt } from '../pipeline/engine.js';
import { engineName, orderLogOf } from '../pipeline/orders.js';
import { callUpstream } from '../pipeline/upstreams.js';
import type { Upstreams } from '../pipeline/upstreams.js';

/** The images of one provider; `model` is the one that answered. */
export interface ImagesMade {
  model: Model;
  images: (RasterImage & { revisedPrompt: string | null })[];
}

interface RawImage {
  bytes: Uint8Array;
  revisedPrompt: string | null;
}

/** `orders` are the orders for one call's part of the work. */
type AskOptions = Omit<ImageCallOptions, 'orders'> & { abortSignal: AbortSignal; jobOrders?: JobOrders };

type MakeImagesOptions = AskOptions & {
  tally: OperationTally;
  /** Checks whether a fallback supports the request: throws the error that a direct request to that model would get. */
  check?: (target: Model, can: ImageCapabilities | undefined) => void;
  /** Converts an image to the requested size and format. @throws UpstreamError if it is not an image; then the fallbacks are tried */
  finish: (bytes: Uint8Array, exactPng: boolean) => Promise<RasterImage>;
};

/**
 * Tries the model's provider, with repetitions, then its fallbacks.
 * @throws ApiError invalid_request if the upstream rejected the request, UpstreamError for any other error
 */
export async function makeImages(
  upstreams: Upstreams,
  requested: Model,
  { check, finish, tally, ...options }: MakeImagesOptions,
): Promise<ImagesMade> {
  let upstreamId: string | null = null;
  let used: Used = {};
  const usedBy = ({ images, tokens }: Made): Used => ({ units: { image: images.length }, tokens });
  const { value, model } = await callUpstream(upstreams, requested, {
    signal: options.abortSignal,
    tally,
    attempt: async (provider, target) => {
      if (target.id !== requested.id && check !== undefined)
        requireSupported(target, () => check(target, engineAt(provider, 'image', target)?.capabilities));
      const images: ImagesMade['images'] = [];
      const exactPng = engineAt(provider, 'image', target)?.exactPng === true;
      const made: Made = { images: [], tokens: null };
      try {
        await ask(provider, target, { ...options, made });
        upstreamId = orderOf(options, provider, target);
        used = usedBy(made);
        for (const { bytes, revisedPrompt } of made.images.slice(0, options.n))
          images.push({ ...(await finish(bytes, exactPng)), revisedPrompt });
      } catch (error) {
        // The caller's budget counts an image even if it cannot be used. An order is polled again later and is counted then.
        if (made.images.length > 0 && orderOf(options, provider, target) === null)
          tally.add({ model: target, ...usedBy(made) });
        throw error;
      }
      return images;
    },
  });
  tally.answers({ model, upstreamId, ...used });
  return { model, images: value };
}

/** The images that an upstream has made so far. */
interface Made {
  images: RawImage[];
  tokens: TokenClasses | null;
}

const orderOf = ({ jobOrders }: AskOptions, provider: Provider, target: Model): string | null =>
  jobOrders?.find(engineName(provider, target)) ?? null;

/** Makes as many calls as the provider needs for n images. @param made each call's images are added to it */
async function ask(
  provider: Provider,
  target: Model,
  { jobOrders, made, ...options }: AskOptions & { made: Made },
): Promise<void> {
  const model = target.type === 'image' ? engineAt(provider, 'image', target) : undefined;
  if (model === undefined)
    throw new UpstreamError('The provider makes no images', { status: null, retryable: false });
  const limit = typeof model.maxImagesPerCall === 'number' ? model.maxImagesPerCall : options.n;
  const { images } = made;
  while (images.length < options.n) {
    const name = engineName(provider, target, images.length);
    const n = Math.min(limit, options.n - images.length);
    const result = await model.doGenerate({ ...options, n, ...ordersOf(jobOrders, name) });
    const more = imagesOf(result);
    made.tokens = withTokens(made.tokens, result.usage);
    if (more.length === 0)
      throw new UpstreamError('Upstream made no image', { status: null, retryable: false });
    images.push(...more);
  }
}

/** Adds the tokens of one more call, if the model reports them. */
function withTokens(before: TokenClasses | null, usage: ImageModelV4Result['usage']): TokenClasses | null {
  const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
  if (inputTokens + outputTokens === 0) return before;
  const input = inputTokens + (before?.input ?? 0);
  const output = outputTokens + (before?.output ?? 0);
  return { input, cachedInput: 0, cacheWrite: 0, output, reasoning: 0 };
}

const ordersOf = (orders: JobOrders | undefined, engine: string): { orders?: OrderLog } =>
  orders === undefined ? {} : { orders: orderLogOf(orders, engine) };

function imagesOf(result: ImageModelV4Result): RawImage[] {
  const [facts] = Object.values(result.providerMetadata ?? {});
  return result.images.map((image, index) => {
    const revised = (facts?.images[index] as { revisedPrompt?: unknown } | null | undefined)?.revisedPrompt;
    return {
      bytes: typeof image === 'string' ? Buffer.from(image, 'base64') : image,
      revisedPrompt: typeof revised === 'string' ? revised : null,
    };
  });
}
