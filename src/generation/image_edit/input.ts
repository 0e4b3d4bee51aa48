import { invalid } from '../../contract/errors.js';
import { EDIT_OPERATIONS } from '../../imaging/index.js';
import type { EditOperation } from '../../imaging/index.js';
import type { Model } from '../../models/models.types.js';
import type { ImageEditCapabilities } from '../../providers/index.js';
import type { Dialect } from '../../contract/words.js';
import { checkModelInputs, readModelInputs, MAX_FILE_TEXT, Params } from '../pipeline/params.js';
import type { ModelInputs } from '../pipeline/params.js';
import { PICTURE_NAMES, readPictureParams } from '../pipeline/picture-answer.js';
import type { PictureParams } from '../pipeline/picture-answer.js';

const DIRECTIONS = ['left', 'right', 'top', 'bottom', 'all'] as const;
const MAX_TEXT = 32_000;
const MAX_EXPAND = 2048;

/** The caller's image: as given, or a reference to the stored file. */
export type ImageReference = string | { $file: string };

/** A checked request of contract 4.3, defaults filled in; also the job's inputParams (then with `model`, and files as files). */
export interface ImageEditInput extends PictureParams {
  image: ImageReference;
  operation: EditOperation;
  strength: number;
  mask?: ImageReference;
  prompt?: string;
  direction?: (typeof DIRECTIONS)[number];
  expand_pixels?: number;
  new_background?: string;
  scale?: number;
  model_inputs?: ModelInputs;
  /** The requested size of the result; absent: the operation's own. */
  size?: `${number}x${number}`;
  /** Set if the mask's transparent pixels are the area to edit, as in the convention; not in a job's inputParams. */
  holed?: true;
}

type Extra = 'mask' | 'prompt' | 'direction' | 'expand_pixels' | 'new_background' | 'scale';

/** Extra parameters of each operation; true if they are required. */
const EXTRAS: Record<EditOperation, Partial<Record<Extra, boolean>>> = {
  inpainting: { mask: true, prompt: true },
  outpainting: { direction: true, expand_pixels: false, prompt: false },
  backgroundRemoval: {},
  backgroundReplace: { new_background: true },
  objectRemoval: { mask: true },
  superResolution: { scale: false },
  faceEnhancement: {},
  colorization: {},
  styleTransfer: { prompt: true },
};
const ALL_EXTRAS: Extra[] = ['mask', 'prompt', 'direction', 'expand_pixels', 'new_background', 'scale'];
const NAMES: ReadonlySet<string> = new Set([
  'image',
  'operation',
  'model',
  'strength',
  'model_inputs',
  ...ALL_EXTRAS,
]);

const NAMES_AT_V1: ReadonlySet<string> = new Set([...NAMES, ...PICTURE_NAMES, 'size']);
const MAX_SIDE = 4096;
const SIZE = /^[1-9]\d{1,3}x[1-9]\d{1,3}$/;

/** Further parameters for callers at /v1. */
function readWishes(
  params: Params,
  operation: EditOperation,
  dialect: Dialect | undefined,
): PictureParams & Pick<ImageEditInput, 'size' | 'holed'> {
  if (dialect !== 'media') return {};
  const { background, ...wishes } = readPictureParams(params, dialect);
  const isCutOut = operation === 'backgroundRemoval';
  if (background !== undefined && !isCutOut)
    throw invalid(`background ${background} needs the operation backgroundRemoval`, 'background');
  if (wishes.output_format === 'jpeg' && isCutOut)
    throw invalid('output_format jpeg has no transparency', 'output_format');
  const size = params.text('size', 20) ?? 'auto';
  const fits = SIZE.test(size) && size.split('x').every((side) => Number(side) <= MAX_SIDE);
  if (size !== 'auto' && !fits)
    throw invalid(`size must be auto or <width>x<height>, each at most ${MAX_SIDE}`, 'size');
  const requested = size === 'auto' ? {} : { size: size as `${number}x${number}` };
  return { ...wishes, ...requested, ...(params.raw('mask') === undefined ? {} : { holed: true as const }) };
}

function readOperation(params: Params): EditOperation {
  const value = params.raw('operation');
  const operation = EDIT_OPERATIONS.find((candidate) => candidate === value);
  if (operation === undefined) throw invalid('Invalid operation', 'operation');
  return operation;
}

/** Checks that an operation has all parameters that it needs and no others: none is ignored. */
function checkExtras(params: Params, operation: EditOperation): void {
  for (const name of ALL_EXTRAS) {
    const value = params.raw(name);
    const need = EXTRAS[operation][name];
    const missing = value === undefined || (typeof value === 'string' && value.trim() === '');
    if (need === true && missing) throw invalid(`${name} is required for ${operation}`, name);
    if (need === undefined && value !== undefined)
      throw invalid(`${name} does not apply to ${operation}`, name);
  }
}

function readExtras(params: Params, operation: EditOperation): Partial<ImageEditInput> {
  checkExtras(params, operation);
  const mask = params.text('mask', MAX_FILE_TEXT);
  const prompt = params.text('prompt', MAX_TEXT);
  const background = params.text('new_background', MAX_TEXT);
  const scale = params.raw('scale');
  if (scale !== undefined && scale !== 2 && scale !== 4) throw invalid('scale must be 2 or 4', 'scale');
  const expand = params.integer('expand_pixels', { min: 1, max: MAX_EXPAND });
  return {
    ...(mask === undefined ? {} : { mask }),
    ...(prompt === undefined ? {} : { prompt }),
    ...(background === undefined ? {} : { new_background: background }),
    ...(operation === 'superResolution' ? { scale: scale ?? 2 } : {}),
    ...(operation === 'outpainting'
      ? { direction: params.choice('direction', DIRECTIONS, 'all'), expand_pixels: expand ?? 256 }
      : {}),
  };
}

/** The default strength (contract 4.3). */
const USUAL_STRENGTH = 0.95;

/**
 * Refuses what the model does not support; nothing is silently dropped.
 * @throws ApiError invalid_request
 */
export function checkImageEditInput(
  { operation, strength, model_inputs: inputs }: ImageEditInput,
  { model, can }: { model: Model; can: ImageEditCapabilities },
): void {
  const refuse = (what: string, param: string) =>
    invalid(`Model ${model.id} does not support ${what}`, param);
  if (!(can.operations?.includes(operation) ?? true)) throw refuse(operation, 'operation');
  if (strength !== USUAL_STRENGTH && !can.strength) throw refuse('strength', 'strength');
  checkModelInputs(inputs, can.modelInputs);
}

/** @throws ApiError invalid_request with the field in `param` */
// oxlint-disable-next-line max-params -- as the kind's own
export function parseImageEditInput(
  body: Record<string, unknown>,
  model: Model,
  can: ImageEditCapabilities,
  dialect?: Dialect,
): ImageEditInput {
  const params = new Params(body);
  const image = params.requiredText('image', MAX_FILE_TEXT);
  const operation = readOperation(params);
  params.allowOnly(dialect === 'media' ? NAMES_AT_V1 : NAMES);
  const strength = params.number('strength', { min: 0, max: 1, message: 'strength must be between 0 and 1' });
  const extras = readExtras(params, operation);
  const inputs = readModelInputs(params, can.modelInputs);
  const input: ImageEditInput = {
    image,
    operation,
    strength: strength ?? USUAL_STRENGTH,
    ...extras,
    ...(inputs === undefined ? {} : { model_inputs: inputs }),
    ...readWishes(params, operation, dialect),
  };
  checkImageEditInput(input, { model, can });
  return input;
}
