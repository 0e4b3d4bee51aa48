import { invalid } from '../errors.js';
import type { Model } from '../models/models.types.js';
import type { VideoCapabilities, VideoMode } from '../providers/index.js';
import type { Amounts } from '../vocabulary.js';
import { Params } from './pipeline-params.js';

const MODES = ['text_to_video', 'image_to_video', 'video_to_video'] as const;
const RESOLUTIONS = ['720p', '1080p', '4k'] as const;
const ASPECT_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'] as const;
const FPS = [30, 60] as const;
const MAX_PROMPT = 32_000;
/** A URL, or 35 MB of body in base64. */
const MAX_SOURCE = 40_000_000;
const MAX_SECONDS = 60;
/** Of a model that does not say what it can do. */
const PLAIN: VideoCapabilities = {
  modes: ['text_to_video', 'image_to_video'],
  fps: [30],
  loop: [],
  promptOptimizer: false,
  negativePrompt: false,
  decodesHere: false,
};

type Source = string | { $file: string };

/** A checked request of contract 4.4, defaults filled in; also the job's inputParams (then with `model`, and the source as a file). */
export interface VideoInput {
  prompt: string;
  duration_seconds: number;
  resolution: (typeof RESOLUTIONS)[number];
  fps: (typeof FPS)[number];
  aspect_ratio: (typeof ASPECT_RATIOS)[number];
  mode: VideoMode;
  source_image?: Source;
  source_video?: Source;
  /** Until `source_video` was checked: the model for which it must be readable here. */
  reader?: string;
  negative_prompt?: string;
  /** Absent: random. */
  seed?: number;
  prompt_optimizer: boolean;
  loop: boolean;
}

const NAMES: ReadonlySet<string> = new Set([
  'prompt',
  'model',
  'duration_seconds',
  'resolution',
  'fps',
  'aspect_ratio',
  'mode',
  'source_image',
  'source_video',
  'negative_prompt',
  'seed',
  'prompt_optimizer',
  'loop',
]);
const SOURCE_OF = {
  text_to_video: null,
  image_to_video: 'source_image',
  video_to_video: 'source_video',
} as const;

function readDuration(params: Params, model: Model): number {
  const max = Math.min(MAX_SECONDS, model.maxDurationSeconds ?? MAX_SECONDS);
  const message = `duration_seconds must be between 1 and ${max}`;
  return params.number('duration_seconds', { min: 1, max, message }) ?? Math.min(5, max);
}

/** The source that the mode needs; the others are refused. */
function readSource(params: Params, mode: VideoMode): Pick<VideoInput, 'source_image' | 'source_video'> {
  const needed = SOURCE_OF[mode];
  for (const name of ['source_image', 'source_video'] as const) {
    const value = params.text(name, MAX_SOURCE)?.trim();
    if (name === needed && !value) throw invalid(`${name} is required for ${mode}`, name);
    if (name !== needed && value) throw invalid(`${name} is not used by ${mode}`, name);
    if (name === needed && value) return { ...otherRefused(params, name, mode), [name]: value };
  }
  return {};
}

function otherRefused(params: Params, given: 'source_image' | 'source_video', mode: VideoMode): object {
  const other = given === 'source_image' ? 'source_video' : 'source_image';
  if (params.text(other, MAX_SOURCE)?.trim()) throw invalid(`${other} is not used by ${mode}`, other);
  return {};
}

function readFps(params: Params): VideoInput['fps'] {
  const asked = params.raw('fps') ?? 30;
  const fps = FPS.find((rate) => rate === asked);
  if (fps === undefined) throw invalid('fps must be 30 or 60', 'fps');
  return fps;
}

/** What the model cannot do is refused, never dropped. */
function refuse(
  input: VideoInput,
  params: Params,
  { model, can }: { model: Model; can: VideoCapabilities },
): void {
  const refused = (what: string, param: string) =>
    invalid(`Model ${model.id} does not support ${what}`, param);
  if (!can.modes.includes(input.mode)) throw refused(input.mode, 'mode');
  if (!can.fps.includes(input.fps)) throw refused(`${input.fps} fps`, 'fps');
  if (input.loop && can.loop.length === 0) throw refused('loop', 'loop');
  if (input.loop && !can.loop.includes(input.mode)) throw refused(`loop with ${input.mode}`, 'loop');
  if (input.negative_prompt !== undefined && !can.negativePrompt)
    throw refused('negative_prompt', 'negative_prompt');
  if (params.flag('prompt_optimizer', false) && !can.promptOptimizer)
    throw refused('prompt_optimizer', 'prompt_optimizer');
}

/** @throws ApiError invalid_request with the field in `param` */
export function parseVideoInput(
  body: Record<string, unknown>,
  model: Model,
  can: VideoCapabilities = PLAIN,
): VideoInput {
  const params = new Params(body);
  params.allowOnly(NAMES);
  const negativePrompt = params.text('negative_prompt', MAX_PROMPT);
  const seed = params.integer('seed', { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  const mode = params.choice('mode', MODES, 'text_to_video');
  const input: VideoInput = {
    prompt: params.requiredText('prompt', MAX_PROMPT),
    duration_seconds: readDuration(params, model),
    resolution: params.choice('resolution', RESOLUTIONS, '720p'),
    fps: readFps(params),
    aspect_ratio: params.choice('aspect_ratio', ASPECT_RATIOS, '16:9'),
    mode,
    ...readSource(params, mode),
    ...(mode === 'video_to_video' && can.decodesHere ? { reader: model.id } : {}),
    ...(negativePrompt ? { negative_prompt: negativePrompt } : {}),
    ...(seed === undefined ? {} : { seed }),
    prompt_optimizer: params.flag('prompt_optimizer', can.promptOptimizer),
    loop: params.flag('loop', false),
  };
  refuse(input, params, { model, can });
  return input;
}

const LINES = { '720p': 720, '1080p': 1080, '4k': 2160 } as const;

/** Pixels of a video: the resolution is its shorter side. */
export function videoDimensions({
  resolution,
  aspect_ratio: ratio,
}: Pick<VideoInput, 'resolution' | 'aspect_ratio'>): {
  width: number;
  height: number;
} {
  const [across = 1, down = 1] = ratio.split(':').map(Number);
  const lines = LINES[resolution];
  const long = (lines * Math.max(across, down)) / Math.min(across, down);
  return across >= down ? { width: long, height: lines } : { width: lines, height: long };
}

/** The seconds, rounded up, and their credits times the multiplier, rounded up once to whole ones. Integers throughout. */
export function priceOfVideo(
  { duration_seconds: duration }: VideoInput,
  { pricing, multiplier }: Model,
): Amounts {
  const seconds = Math.ceil(duration);
  const amount = Math.round(pricing.amount * 100) * seconds;
  const credits = Math.ceil((Math.round(pricing.credits * 100) * seconds * multiplier) / 10_000) * 100;
  return { [pricing.bucket]: amount, ...(credits === 0 ? {} : { credits }) };
}
