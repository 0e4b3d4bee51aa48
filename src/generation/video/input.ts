import { invalid } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import { PLAIN_SETTINGS } from '../../providers/index.js';
import type { VideoCapabilities, VideoMode, VideoSettings } from '../../providers/index.js';
import type { Amounts } from '../../contract/words.js';
import { MAX_FILE_TEXT, Params } from '../pipeline/params.js';

const MODES = ['text_to_video', 'image_to_video', 'video_to_video'] as const;
const RESOLUTIONS = ['720p', '1080p', '4k'] as const;
const ASPECT_RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4'] as const;
const FPS = [30, 60] as const;
const MAX_PROMPT = 32_000;
const MAX_SECONDS = 60;
/** The default capabilities of a model. */
const PLAIN: VideoCapabilities = {
  modes: ['text_to_video', 'image_to_video'],
  settings: () => ({ ...PLAIN_SETTINGS, durations: null, resolutions: null, aspectRatios: null }),
  decodesHere: false,
};
const USUAL_SECONDS = 5;

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
  /** Set until `source_video` was checked: the model for which it must be decoded here. */
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

/** The contract's default, or the supported value nearest to it. */
function readDuration(params: Params, model: Model, { durations }: VideoSettings): number {
  const max = Math.min(MAX_SECONDS, model.maxDurationSeconds ?? MAX_SECONDS);
  const message = `duration_seconds must be between 1 and ${max}`;
  const given = params.number('duration_seconds', { min: 1, max, message });
  if (given !== undefined) return given;
  const usual = Math.min(USUAL_SECONDS, max);
  const [nearest] = (durations ?? []).toSorted((a, b) => Math.abs(a - usual) - Math.abs(b - usual) || a - b);
  return nearest ?? usual;
}

/** If the model does not support the default, its own first value is used. */
function usualOf<Word extends string>(
  words: readonly Word[],
  usual: Word,
  known: readonly string[] | null,
): Word {
  if (known === null || known.includes(usual)) return usual;
  return words.find((word) => word === known[0]) ?? usual;
}

/** Reads the source that the mode needs; other sources are refused. */
function readSource(params: Params, mode: VideoMode): Pick<VideoInput, 'source_image' | 'source_video'> {
  const needed = SOURCE_OF[mode];
  for (const name of ['source_image', 'source_video'] as const) {
    const value = params.text(name, MAX_FILE_TEXT)?.trim();
    if (name === needed && !value) throw invalid(`${name} is required for ${mode}`, name);
    if (name !== needed && value) throw invalid(`${name} is not used by ${mode}`, name);
    if (name === needed && value) return { ...otherRefused(params, name, mode), [name]: value };
  }
  return {};
}

function otherRefused(params: Params, given: 'source_image' | 'source_video', mode: VideoMode): object {
  const other = given === 'source_image' ? 'source_video' : 'source_image';
  if (params.text(other, MAX_FILE_TEXT)?.trim()) throw invalid(`${other} is not used by ${mode}`, other);
  return {};
}

function readFps(params: Params): VideoInput['fps'] {
  const requested = params.raw('fps') ?? 30;
  const fps = FPS.find((rate) => rate === requested);
  if (fps === undefined) throw invalid('fps must be 30 or 60', 'fps');
  return fps;
}

/**
 * Refuses what the model does not support; nothing is silently dropped.
 * @throws ApiError invalid_request
 */
export function checkVideoInput(
  input: VideoInput,
  { model, can = PLAIN }: { model: Model; can?: VideoCapabilities | undefined },
): void {
  const { mode, duration_seconds: seconds, resolution, aspect_ratio: ratio, fps } = input;
  const refuse = (what: string, param: string): void => {
    throw invalid(`Model ${model.id} does not support ${what}`, param);
  };
  if (!can.modes.includes(mode)) refuse(mode, 'mode');
  const settings = can.settings(mode);
  const lacks = <T>(known: readonly T[] | null, value: T): boolean => !(known?.includes(value) ?? true);
  if (lacks(settings.durations, seconds))
    throw invalid(
      `duration_seconds must be one of ${settings.durations?.join(', ')} with model ${model.id}`,
      'duration_seconds',
    );
  if (lacks<string>(settings.resolutions, resolution)) refuse(`resolution ${resolution}`, 'resolution');
  if (lacks<string>(settings.aspectRatios, ratio)) refuse(`aspect_ratio ${ratio}`, 'aspect_ratio');
  if (lacks<number>(settings.fps, fps)) refuse(`${fps} fps`, 'fps');
  if (input.loop && !settings.loop)
    refuse(can.modes.some((other) => can.settings(other).loop) ? `loop with ${mode}` : 'loop', 'loop');
  if (input.negative_prompt !== undefined && !settings.negativePrompt)
    refuse('negative_prompt', 'negative_prompt');
  if (input.seed !== undefined && !settings.seed) refuse('seed', 'seed');
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
  const settings = can.settings(mode);
  const input: VideoInput = {
    prompt: params.requiredText('prompt', MAX_PROMPT),
    duration_seconds: readDuration(params, model, settings),
    resolution: params.choice('resolution', RESOLUTIONS, usualOf(RESOLUTIONS, '720p', settings.resolutions)),
    fps: readFps(params),
    aspect_ratio: params.choice(
      'aspect_ratio',
      ASPECT_RATIOS,
      usualOf(ASPECT_RATIOS, '16:9', settings.aspectRatios),
    ),
    mode,
    ...readSource(params, mode),
    ...(mode === 'video_to_video' && can.decodesHere ? { reader: model.id } : {}),
    ...(negativePrompt ? { negative_prompt: negativePrompt } : {}),
    ...(seed === undefined ? {} : { seed }),
    prompt_optimizer: params.flag('prompt_optimizer', settings.promptOptimizer),
    loop: params.flag('loop', false),
  };
  checkVideoInput(input, { model, can });
  // It is on by default, so only an explicit request for it can be refused.
  if (input.prompt_optimizer && !settings.promptOptimizer)
    throw invalid(`Model ${model.id} does not support prompt_optimizer`, 'prompt_optimizer');
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
