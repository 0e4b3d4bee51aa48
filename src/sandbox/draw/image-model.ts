import { randomInt } from 'node:crypto';
import type { Imaging } from '../../imaging/index.js';
import type { ImageCallOptions, ImageModel } from '../../providers/image.types.js';
import { abortedError } from '../../providers/index.js';
import { followDirective } from '../directive/follow-directive.js';
import { pause } from '../directive/pause.js';
import { coarserSizes } from './coarser-sizes.js';
import { drawArt } from './image-art.js';

const NEVER = new AbortController().signal;

/** Pictures drawn here: the same prompt, style, negative prompt and seed give the same bytes. */
export function createSandboxImage(imaging: Imaging): (modelId: string) => ImageModel {
  return (modelId) => ({
    specificationVersion: 'v4',
    provider: 'sandbox',
    modelId,
    maxImagesPerCall: 10,
    exactPng: true,
    async doGenerate(options: ImageCallOptions) {
      const signal = options.abortSignal ?? NEVER;
      const { rest, report, chunkMs } = await followDirective(options.prompt ?? '', {
        signal,
        onProgress: options.onProgress,
      });
      const images = await draw({ options, prompt: rest, signal, report, imaging, chunkMs });
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
  /** 0 to 100. */
  report(percent: number): void;
  imaging: Imaging;
  /** Between coarser pictures. */
  chunkMs: number;
}

async function draw({ options, prompt, signal, report, imaging, chunkMs }: Drawing): Promise<Uint8Array[]> {
  const [width = 1024, height = 1024] = (options.size ?? '1024x1024').split('x').map(Number);
  const extras = options.providerOptions['penstock'] ?? {};
  const seed = options.seed ?? randomInt(2 ** 31);
  const images: Uint8Array[] = [];
  for (let index = 0; index < options.n; index++) {
    const svg = drawArt({
      prompt,
      negativePrompt: typeof extras['negative_prompt'] === 'string' ? extras['negative_prompt'] : '',
      style: extras['style'] === 'natural' ? 'natural' : 'vivid',
      seed,
      index,
      width,
      height,
    });
    for (const size of options.partials ? coarserSizes({ width, height }, options.partials.count) : []) {
      options.partials?.onPartial((await render(imaging, svg, { ...size, signal })).bytes);
      await pause(chunkMs, signal);
    }
    images.push((await render(imaging, svg, { width, height, madeFor: prompt, signal })).bytes);
    report((100 * (index + 1)) / options.n);
  }
  return images;
}

async function render(
  imaging: Imaging,
  svg: string,
  { signal, ...size }: { width: number; height: number; madeFor?: string; signal: AbortSignal },
) {
  try {
    return await imaging.render(svg, size, signal);
  } catch (error) {
    throw signal.aborted ? abortedError() : error;
  }
}
