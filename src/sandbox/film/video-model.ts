import { randomInt } from 'node:crypto';
import type { Imaging } from '../../imaging/index.js';
import { UnreadableVideoError } from '../../video/index.js';
import { UpstreamError } from '../../providers/providers.types.js';
import { abortedError } from '../../providers/index.js';
import { VIDEO_MODES } from '../../providers/video.types.js';
import type { VideoCallOptions, VideoModel } from '../../providers/video.types.js';
import { followDirective } from '../directive/follow-directive.js';
import { drawArt } from '../draw/image-art.js';
import { hueOf } from '../draw/image-palette.js';
import { createRandom } from '../random.js';
import type { FilmTask } from './film.types.js';
import type { Studio } from './studio.js';
import { drawCaption, optimizePrompt } from './video-art.js';

interface Tools {
  imaging: Imaging;
  studio: Studio;
}

const NEVER = new AbortController().signal;
/** The camera's field is that much larger than the picture. */
const FIELD = 1.2;
/** Stills of larger pictures are enlarged while filming. */
const MAX_STILL = 1920;
const LIGHTS = 4;
const MORE_LIGHTS = 9;

/** Videos filmed here: the same request and seed give the same frames. */
export function createSandboxVideo(tools: Tools): (modelId: string) => VideoModel {
  return (modelId) => ({
    specificationVersion: 'v4',
    provider: 'sandbox',
    modelId,
    maxVideosPerCall: 1,
    capabilities: {
      modes: VIDEO_MODES,
      settings: (mode) => ({
        durations: null,
        resolutions: null,
        aspectRatios: null,
        fps: null,
        seed: true,
        negativePrompt: true,
        promptOptimizer: true,
        // A given video does not end where it began.
        loop: mode !== 'video_to_video',
      }),
      decodesHere: true,
    },
    async doGenerate(options) {
      const signal = options.abortSignal ?? NEVER;
      const { onProgress } = options;
      const { rest, report } = await followDirective(options.prompt ?? '', { signal, onProgress });
      try {
        const task = await prepare(tools, { options, prompt: rest, signal });
        const data = await tools.studio.film(task, { signal, onProgress: report });
        return {
          videos: [{ type: 'binary', data, mediaType: 'video/mp4' }],
          warnings: [],
          response: { timestamp: new Date(), modelId, headers: undefined },
        };
      } catch (error) {
        if (signal.aborted) throw abortedError();
        if (!(error instanceof UnreadableVideoError)) throw error;
        const options = { status: null, retryable: false, fault: 'rejected', cause: error } as const;
        throw new UpstreamError('source_video cannot be read', options);
      }
    },
  });
}

interface Making {
  options: VideoCallOptions;
  /** Without its directive. */
  prompt: string;
  signal: AbortSignal;
}

interface Extras {
  negativePrompt: string;
  loop: boolean;
  optimized: boolean;
}

function extrasOf({ providerOptions }: VideoCallOptions): Extras {
  const given = providerOptions['penstock'] ?? {};
  const negative = given['negative_prompt'];
  return {
    negativePrompt: typeof negative === 'string' ? negative : '',
    loop: given['loop'] === true,
    optimized: given['prompt_optimizer'] === true,
  };
}

const even = (value: number) => Math.round(value / 2) * 2;

async function prepare(tools: Tools, { options, prompt: given, signal }: Making): Promise<FilmTask> {
  const extras = extrasOf(options);
  const [width = 1280, height = 720] = (options.resolution ?? '1280x720').split('x').map(Number);
  const fps = options.fps ?? 30;
  const seed = options.seed ?? randomInt(2 ** 31);
  const prompt = extras.optimized ? optimizePrompt(given) : given;
  const key = JSON.stringify([prompt, extras.negativePrompt, seed]);
  const details = [`video`, ...(extras.loop ? ['loop'] : []), `seed ${seed}`].join(' · ');
  const caption = drawCaption({ width: Math.min(width, MAX_STILL), prompt, details });
  const source = bytesOf(options.inputReferences?.[0]);
  return {
    width,
    height,
    fps,
    frames: Math.max(1, Math.round((options.duration ?? 5) * fps)),
    still:
      source === null
        ? await still(tools.imaging, { options, width, height, prompt, seed, extras, signal })
        : null,
    source,
    caption: (await tools.imaging.render(caption.svg, caption.size, signal)).bytes,
    seed: key,
    loop: extras.loop,
    lights: extras.optimized ? MORE_LIGHTS : LIGHTS,
    hue: hueOf(prompt, extras.negativePrompt) ?? createRandom(key).int(360),
  };
}

interface Still {
  options: VideoCallOptions;
  width: number;
  height: number;
  prompt: string;
  seed: number;
  extras: Extras;
  signal: AbortSignal;
}

/** What the camera moves over: the source image, or a picture drawn of the prompt. */
async function still(imaging: Imaging, wanted: Still): Promise<Uint8Array> {
  const { width, height, prompt, seed, extras, signal } = wanted;
  const image = bytesOf(wanted.options.image);
  if (image !== null)
    return (await imaging.fit(image, { width: even(width * FIELD), height: even(height * FIELD) }, signal))
      .bytes;
  const shrink = Math.min(1, MAX_STILL / (Math.max(width, height) * FIELD));
  const size = { width: even(width * FIELD * shrink), height: even(height * FIELD * shrink) };
  const { negativePrompt } = extras;
  const svg = drawArt({ prompt, negativePrompt, style: 'vivid', seed, index: 0, ...size, labelled: false });
  return (await imaging.render(svg, size, signal)).bytes;
}

function bytesOf(file: VideoCallOptions['image']): Uint8Array | null {
  if (file === undefined || file.type !== 'file') return null;
  return typeof file.data === 'string' ? Buffer.from(file.data, 'base64') : file.data;
}
