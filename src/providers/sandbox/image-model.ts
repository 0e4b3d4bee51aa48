import { randomInt } from 'node:crypto';
import type { ImageModelV4, ImageModelV4CallOptions } from '@ai-sdk/provider';
import type { Imaging } from '../../imaging/index.js';
import { UpstreamError } from '../providers.types.js';
import { abortedError } from '../upstream/upstream-errors.js';
import { findDirective } from './directive.js';
import { drawArt } from './image-art.js';
import { pause } from './sandbox-chat.js';

/** Providers that know how far they are tell it; the specification has no word for it. */
export type ImageCallOptions = ImageModelV4CallOptions & {
  /** 0 to 100. */
  onProgress?: (percent: number) => void;
};

/** A directive's delay counts as this much of the whole. */
const DELAY_SHARE = 80;
const TICK_MS = 100;
const NEVER = new AbortController().signal;

/** Pictures drawn here: the same prompt, style, negative prompt and seed give the same bytes. */
export function createSandboxImage(imaging: Imaging): (modelId: string) => ImageModelV4 {
  return (modelId) => ({
    specificationVersion: 'v4',
    provider: 'sandbox',
    modelId,
    maxImagesPerCall: 10,
    async doGenerate(options: ImageCallOptions) {
      const { directive, rest } = findDirective(options.prompt ?? '');
      const signal = options.abortSignal ?? NEVER;
      await delay(directive?.delayMs ?? 0, signal, options.onProgress);
      if (directive?.fail !== undefined)
        throw new UpstreamError(`Sandbox directive: ${directive.fail}`, { status: null, retryable: false });
      const from = directive?.delayMs === undefined ? 0 : DELAY_SHARE;
      const images = await draw({ options, prompt: rest, signal, from, imaging });
      return {
        images,
        warnings: [],
        providerMetadata: {
          sandbox: { images: images.map(() => ({ revisedPrompt: rest || options.prompt || '' })) },
        },
        response: { timestamp: new Date(), modelId, headers: undefined },
      };
    },
  });
}

interface Drawing {
  options: ImageCallOptions;
  prompt: string;
  signal: AbortSignal;
  /** Where the progress stands. */
  from: number;
  imaging: Imaging;
}

async function draw({ options, prompt, signal, from, imaging }: Drawing): Promise<Uint8Array[]> {
  const [width = 1024, height = 1024] = (options.size ?? '1024x1024').split('x').map(Number);
  const wishes = options.providerOptions['penstock'] ?? {};
  const seed = options.seed ?? randomInt(2 ** 31);
  const images: Uint8Array[] = [];
  for (let index = 0; index < options.n; index++) {
    const svg = drawArt({
      prompt,
      negativePrompt: typeof wishes['negative_prompt'] === 'string' ? wishes['negative_prompt'] : '',
      style: wishes['style'] === 'natural' ? 'natural' : 'vivid',
      seed,
      index,
      width,
      height,
    });
    images.push((await render(imaging, svg, { width, height, signal })).bytes);
    options.onProgress?.(from + ((100 - from) * (index + 1)) / options.n);
  }
  return images;
}

async function render(
  imaging: Imaging,
  svg: string,
  { signal, ...size }: { width: number; height: number; signal: AbortSignal },
) {
  try {
    return await imaging.render(svg, size, signal);
  } catch (error) {
    throw signal.aborted ? abortedError() : error;
  }
}

async function delay(
  ms: number,
  signal: AbortSignal,
  onProgress: ((percent: number) => void) | undefined,
): Promise<void> {
  const start = performance.now();
  for (let rest = ms; rest > 0; rest = ms - (performance.now() - start)) {
    onProgress?.(((ms - rest) / ms) * DELAY_SHARE);
    await pause(Math.min(rest, Math.max(TICK_MS, ms / 50)), signal);
  }
}
