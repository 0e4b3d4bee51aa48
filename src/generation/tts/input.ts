import { isLonger } from '../../text/characters.js';
import { invalid } from '../../contract/errors.js';
import type { Dialect } from '../../contract/words.js';
import type { TtsCapabilities } from '../../providers/index.js';
import type { Model } from '../../models/models.types.js';
import { checkModelInputs, readModelInputs, MAX_FILE_TEXT, Params } from '../pipeline/params.js';
import type { ModelInputs } from '../pipeline/params.js';

const FORMATS = ['mp3', 'wav', 'opus', 'aac'] as const;
/** At /v1 (beyond 11.11). */
const FORMATS_AT_V1 = [...FORMATS, 'flac', 'pcm'] as const;
const MAX_INSTRUCTIONS = 10_000;
const MAX_CHARACTERS = 10_000;
const MAX_VOICE = 200;
const NOTHING: TtsCapabilities = { voices: null, referenceAudio: false, modelInputs: [] };

/** A checked request of contract 4.6, defaults filled in; also the job's inputParams (then with `model`, and the sample as a file). */
export interface TtsInput {
  input: string;
  voice: string;
  speed: number;
  response_format: (typeof FORMATS_AT_V1)[number];
  /** As given, or a reference to the stored file. */
  reference_audio?: string | { $file: string };
  /** The model for which the sample must be decoded here; not in a job's inputParams. */
  reader?: string;
  reference_text?: string;
  model_inputs?: ModelInputs;
}

const NAMES: ReadonlySet<string> = new Set([
  'input',
  'model',
  'voice',
  'speed',
  'response_format',
  'reference_audio',
  'reference_text',
  'model_inputs',
]);

const NAMES_AT_V1: ReadonlySet<string> = new Set([...NAMES, 'instructions']);

/** The voices of the convention, with the most similar preset of the contract. */
const NEAREST: Readonly<Record<string, string>> = {
  alloy: 'alloy',
  ash: 'onyx',
  ballad: 'fable',
  cedar: 'onyx',
  coral: 'nova',
  echo: 'echo',
  fable: 'fable',
  marin: 'nova',
  nova: 'nova',
  onyx: 'onyx',
  sage: 'shimmer',
  shimmer: 'shimmer',
  verse: 'echo',
};

/** If the model does not have a voice of the convention, uses the most similar one that it has. */
export function nearestVoice(voice: string, { voices, presets }: TtsCapabilities): string {
  const nearest = Object.hasOwn(NEAREST, voice) ? NEAREST[voice] : undefined;
  const known = voices ?? presets;
  if (nearest === undefined || known === undefined || known.includes(voice)) return voice;
  return known.includes(nearest) ? nearest : (known[0] ?? voice);
}

/** Further parameters at /v1; `instructions` are passed to models that accept them. */
function readInputs(
  params: Params,
  { modelInputs }: TtsCapabilities,
  dialect: Dialect | undefined,
): ModelInputs | undefined {
  const inputs = readModelInputs(params, modelInputs);
  const instructions = dialect === 'media' ? params.text('instructions', MAX_INSTRUCTIONS) : undefined;
  return instructions && modelInputs.includes('instructions') ? { ...inputs, instructions } : inputs;
}

function readText(params: Params): string {
  const text = params.raw('input');
  if (text === undefined) throw invalid('input is required', 'input');
  if (typeof text !== 'string') throw invalid('input must be a string', 'input');
  if (text.trim() === '') throw invalid('input is required', 'input');
  if (isLonger(text, MAX_CHARACTERS)) throw invalid('input text exceeds maximum length', 'input');
  return text;
}

/**
 * Refuses what the model does not support; nothing is silently dropped.
 * @throws ApiError invalid_request
 */
export function checkTtsInput(
  { input, voice, speed, reference_audio: reference, model_inputs: inputs }: TtsInput,
  { model, can = NOTHING }: { model: Model; can?: TtsCapabilities | undefined },
): void {
  if (reference && !can.referenceAudio)
    throw invalid(`Model ${model.id} does not support reference_audio`, 'reference_audio');
  if (!reference && can.voices !== null && !can.voices.includes(voice))
    throw invalid(`voice must be one of ${can.voices.join(', ')}, or come with reference_audio`, 'voice');
  if (!reference && can.isVoice?.(voice) === false)
    throw invalid(`Model ${model.id} has no voice of this name`, 'voice');
  if (can.speed !== undefined && (speed < can.speed.min || speed > can.speed.max))
    throw invalid(`Model ${model.id} does not support speed ${speed}`, 'speed');
  const refusal = can.refusal?.(input);
  if (refusal != null) throw invalid(`Model ${model.id} ${refusal}`, 'input');
  checkModelInputs(inputs, can.modelInputs);
}

/** @throws ApiError invalid_request with the field in `param` */
// oxlint-disable-next-line max-params -- as the kind's own
export function parseTtsInput(
  body: Record<string, unknown>,
  model: Model,
  can: TtsCapabilities = NOTHING,
  dialect?: Dialect,
): TtsInput {
  const params = new Params(body);
  const isAtV1 = dialect === 'media';
  params.allowOnly(isAtV1 ? NAMES_AT_V1 : NAMES);
  const input = readText(params);
  const speed = params.number('speed', { min: 0.25, max: 4, message: 'speed must be between 0.25 and 4.0' });
  const format = params.choice('response_format', isAtV1 ? FORMATS_AT_V1 : FORMATS, 'mp3');
  const named = params.text('voice', MAX_VOICE)?.trim() || 'nova';
  const reference = params.text('reference_audio', MAX_FILE_TEXT)?.trim();
  const voice = isAtV1 && !reference ? nearestVoice(named, can) : named;
  const transcript = params.text('reference_text', MAX_CHARACTERS) || undefined;
  const inputs = readInputs(params, can, dialect);
  if (transcript !== undefined && !reference)
    throw invalid('reference_text needs reference_audio', 'reference_text');
  const requested: TtsInput = {
    input,
    voice,
    speed: speed ?? 1,
    response_format: format,
    ...(reference ? { reference_audio: reference } : {}),
    ...(transcript === undefined ? {} : { reference_text: transcript }),
    ...(inputs === undefined ? {} : { model_inputs: inputs }),
    ...(reference && can.decodesHere === true ? { reader: model.id } : {}),
  };
  checkTtsInput(requested, { model, can });
  return requested;
}
