import { invalid } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import type { ImageCapabilities } from '../../providers/index.js';
import type { Amounts, Dialect } from '../../contract/words.js';
import { Params } from '../pipeline/params.js';
import { PICTURE_NAMES, readPictureParams } from '../pipeline/picture-answer.js';
import type { PictureParams } from '../pipeline/picture-answer.js';

const SIZES = ['512x512', '1024x1024', '1792x1024', '1024x1792', '1536x1024', '1024x1536'] as const;
const STYLES = ['vivid', 'natural'] as const;
const UPSCALES = ['none', '2x', '4x'] as const;
const RESPONSE_FORMATS = ['url', 'b64_json'] as const;
const MAX_PROMPT = 32_000;

/** A checked request of contract 4.2, defaults filled in; also the job's inputParams (then with `model`). */
export interface ImageInput extends PictureParams {
  prompt: string;
  size: (typeof SIZES)[number];
  n: number;
  style: (typeof STYLES)[number];
  upscale: (typeof UPSCALES)[number];
  negative_prompt?: string;
  /** Absent: random. */
  seed?: number;
}

const NAMES: ReadonlySet<string> = new Set([
  'prompt',
  'model',
  'size',
  'n',
  'style',
  'upscale',
  'response_format',
  'negative_prompt',
  'seed',
]);

const NAMES_AT_V1: ReadonlySet<string> = new Set([...NAMES, ...PICTURE_NAMES]);

/** The default capabilities of a model: everything is passed on, except parameters whose effect would be charged but not be visible. */
const ALL: ImageCapabilities = { style: true, negativePrompt: true, seed: true };

/**
 * Refuses what the model does not support; nothing is silently dropped.
 * @throws ApiError invalid_request
 */
export function checkImageInput(
  { style, negative_prompt: negative, seed, background }: ImageInput,
  { model, can = ALL }: { model: Pick<Model, 'id'>; can?: ImageCapabilities | undefined },
): void {
  const refuse = (what: string, param: string) =>
    invalid(`Model ${model.id} does not support ${what}`, param);
  if (style !== 'vivid' && !can.style) throw refuse(`style ${style}`, 'style');
  if (negative !== undefined && !can.negativePrompt) throw refuse('negative_prompt', 'negative_prompt');
  if (seed !== undefined && !can.seed) throw refuse('seed', 'seed');
  if (background !== undefined && can.transparent !== true)
    throw refuse(`background ${background}`, 'background');
}

/** @throws ApiError invalid_request with the field in `param` */
export function parseImageInput(body: Record<string, unknown>, dialect?: Dialect): ImageInput {
  const params = new Params(body);
  params.allowOnly(dialect === 'media' ? NAMES_AT_V1 : NAMES);
  const negativePrompt = params.text('negative_prompt', MAX_PROMPT);
  const seed = params.integer('seed', { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  return {
    prompt: params.requiredText('prompt', MAX_PROMPT),
    size: params.choice('size', SIZES, '1024x1024'),
    n: params.integer('n', { min: 1, max: 10 }) ?? 1,
    style: params.choice('style', STYLES, 'vivid'),
    upscale: params.choice('upscale', UPSCALES, 'none'),
    response_format: params.choice('response_format', RESPONSE_FORMATS, 'url'),
    ...readPictureParams(params, dialect),
    ...(negativePrompt ? { negative_prompt: negativePrompt } : {}),
    ...(seed === undefined ? {} : { seed }),
  };
}

/** Pixels of a result: the size asked for, times the upscaling. */
export function dimensionsOf(input: Pick<ImageInput, 'size' | 'upscale'>): {
  base: { width: number; height: number };
  result: { width: number; height: number };
} {
  const [width = 0, height = 0] = input.size.split('x').map(Number);
  const factor = { none: 1, '2x': 2, '4x': 4 }[input.upscale];
  return { base: { width, height }, result: { width: width * factor, height: height * factor } };
}

/** Upscaling multiplies the credits by two or three before the rounding (decisions 2). */
const CREDIT_FACTORS = { none: 1, '2x': 2, '4x': 3 } as const;

/** Credits before the multiplier, in hundredths of a credit, not rounded. */
function baseHundredths(input: ImageInput, model: Model): number {
  return Math.round(model.pricing.credits * 100) * input.n * CREDIT_FACTORS[input.upscale];
}

/** Whole credits before the multiplier: `credits_breakdown.base`. */
export function baseCredits(input: ImageInput, model: Model): number {
  return Math.max(1, Math.ceil(baseHundredths(input, model) / 100));
}

/** 1 generation for each image, and the credits times the multiplier, rounded up once to whole credits. Integers throughout. */
export function priceOfImages(input: ImageInput, model: Model): Amounts {
  const credits = Math.ceil((baseHundredths(input, model) * model.multiplier) / 10_000) * 100;
  const generations = Math.round(model.pricing.amount * 100) * input.n;
  return { [model.pricing.bucket]: generations, ...(credits === 0 ? {} : { credits }) };
}
