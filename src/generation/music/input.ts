import { invalid } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import type { MusicCapabilities } from '../../providers/index.js';
import { checkModelInputs, readModelInputs, MAX_FILE_TEXT, Params } from '../pipeline/params.js';
import type { ModelInputs } from '../pipeline/params.js';

const MODES = ['text_to_music', 'audio_to_audio'] as const;
const FORMATS = ['mp3', 'wav'] as const;
const MAX_PROMPT = 32_000;
const DEFAULT_SECONDS = 30;
/** The longest duration of any model, in seconds (contract 4.5). */
const LONGEST_SECONDS = 60;
const NOTHING: MusicCapabilities = {
  textToMusic: true,
  audioToAudio: false,
  negativePrompt: false,
  durations: null,
  modelInputs: [],
};

/** A checked request of contract 4.5, defaults filled in; also the job's inputParams (then with `model`, and the source as a file). */
export interface MusicInput {
  prompt: string;
  duration_seconds: number;
  mode: (typeof MODES)[number];
  output_format: (typeof FORMATS)[number];
  /** As given, or a reference to the stored file. */
  source_audio?: string | { $file: string };
  /** The model for which the source must be decoded here; not in a job's inputParams. */
  reader?: string;
  negative_prompt?: string;
  model_inputs?: ModelInputs;
}

const NAMES: ReadonlySet<string> = new Set([
  'prompt',
  'model',
  'duration_seconds',
  'mode',
  'source_audio',
  'output_format',
  'negative_prompt',
  'model_inputs',
]);

function readSeconds(params: Params, model: Model, { durations }: MusicCapabilities): number {
  const longest = model.maxDurationSeconds ?? LONGEST_SECONDS;
  const given = params.raw('duration_seconds');
  if (given === undefined) return usualSeconds(Math.min(DEFAULT_SECONDS, longest), durations);
  if (typeof given !== 'number' || !(given >= 1))
    throw invalid('duration_seconds must be a number of at least 1', 'duration_seconds');
  if (given > longest) throw invalid('duration_seconds exceeds maximum', 'duration_seconds');
  return given;
}

/** The supported value nearest to the default. */
function usualSeconds(usual: number, durations: MusicCapabilities['durations']): number {
  if (durations === null) return usual;
  if ('min' in durations) return Math.min(Math.max(usual, durations.min), durations.max);
  const [nearest] = durations.toSorted((a, b) => Math.abs(a - usual) - Math.abs(b - usual));
  return nearest ?? usual;
}

function checkSeconds(seconds: number, model: Model, { durations }: MusicCapabilities): void {
  if (durations === null) return;
  const listed = !('min' in durations);
  if (listed ? durations.includes(seconds) : seconds >= durations.min && seconds <= durations.max) return;
  const words = listed ? `one of ${durations.join(', ')}` : `between ${durations.min} and ${durations.max}`;
  throw invalid(`duration_seconds must be ${words} with model ${model.id}`, 'duration_seconds');
}

/**
 * Refuses what the model does not support; nothing is silently dropped.
 * @throws ApiError invalid_request
 */
export function checkMusicInput(
  { mode, negative_prompt: negative, duration_seconds: seconds, model_inputs: inputs }: MusicInput,
  { model, can = NOTHING }: { model: Model; can?: MusicCapabilities | undefined },
): void {
  const refuse = (what: string, param: string) =>
    invalid(`Model ${model.id} does not support ${what}`, param);
  if (!(mode === 'audio_to_audio' ? can.audioToAudio : can.textToMusic)) throw refuse(mode, 'mode');
  if (negative && !can.negativePrompt) throw refuse('negative_prompt', 'negative_prompt');
  checkSeconds(seconds, model, can);
  checkModelInputs(inputs, can.modelInputs);
}

/** @throws ApiError invalid_request with the field in `param` */
export function parseMusicInput(
  body: Record<string, unknown>,
  model: Model,
  can: MusicCapabilities = NOTHING,
): MusicInput {
  const params = new Params(body);
  params.allowOnly(NAMES);
  const prompt = params.requiredText('prompt', MAX_PROMPT);
  const seconds = readSeconds(params, model, can);
  const mode = params.choice('mode', MODES, 'text_to_music');
  const source = params.text('source_audio', MAX_FILE_TEXT)?.trim();
  const format = params.choice('output_format', FORMATS, 'mp3');
  const negative = params.text('negative_prompt', MAX_PROMPT);
  const inputs = readModelInputs(params, can.modelInputs);
  const input: MusicInput = {
    prompt,
    duration_seconds: seconds,
    mode,
    output_format: format,
    ...(source ? { source_audio: source } : {}),
    ...(negative ? { negative_prompt: negative } : {}),
    ...(inputs === undefined ? {} : { model_inputs: inputs }),
    ...(source && can.decodesHere === true ? { reader: model.id } : {}),
  };
  checkMusicInput(input, { model, can });
  if (mode === 'audio_to_audio' && !source)
    throw invalid('source_audio is required for audio_to_audio', 'source_audio');
  if (mode !== 'audio_to_audio' && source)
    throw invalid('source_audio needs mode audio_to_audio', 'source_audio');
  return input;
}
