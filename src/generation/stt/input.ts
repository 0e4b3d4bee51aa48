import { invalid } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import type { Dialect } from '../../contract/words.js';
import type { SttCapabilities } from '../../providers/index.js';
import { checkModelInputs, readModelInputs, MAX_FILE_TEXT, Params } from '../pipeline/params.js';
import type { ModelInputs } from '../pipeline/params.js';

/** `verbose_json` is another name of json (decisions 6). */
const FORMATS = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const;
const GRANULARITIES = ['segment', 'word'] as const;
const LANGUAGE = /^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/i;
const NOTHING: SttCapabilities = {
  words: false,
  diarization: false,
  translation: false,
  modelInputs: [],
};

/** A checked request of contract 4.7, defaults filled in; also the job's inputParams (then with `model`, without `seconds`). */
export interface SttInput {
  /** As given (the bytes of an upload), or a reference to the stored file. */
  file: string | Uint8Array | { $file: string };
  language: string;
  response_format: 'json' | 'text' | 'srt' | 'vtt';
  timestamp_granularities: (typeof GRANULARITIES)[number][];
  diarization: boolean;
  translation: boolean;
  model_inputs?: ModelInputs;
  /** The model for which the file must be decoded here; not in a job's inputParams. */
  reader?: string;
  /** The whole seconds that are charged; set when the file was inspected. */
  seconds?: number;
}

const NAMES: ReadonlySet<string> = new Set([
  'file',
  'model',
  'language',
  'response_format',
  'timestamp_granularities',
  'diarization',
  'translation',
  'model_inputs',
]);

const NAMES_AT_V1: ReadonlySet<string> = new Set([...NAMES, 'prompt', 'temperature']);
const MAX_PROMPT = 10_000;

/** Further parameters at /v1 are passed to models that accept them. */
function readInputs(
  params: Params,
  { modelInputs }: SttCapabilities,
  dialect: Dialect | undefined,
): ModelInputs | undefined {
  const inputs = readModelInputs(params, modelInputs);
  if (dialect !== 'media') return inputs;
  const prompt = params.text('prompt', MAX_PROMPT);
  const message = 'temperature must be between 0 and 1';
  const temperature = params.number('temperature', { min: 0, max: 1, message });
  const taken = Object.entries({ prompt: prompt || undefined, temperature }).filter(
    (entry): entry is [string, string | number] => entry[1] !== undefined && modelInputs.includes(entry[0]),
  );
  return taken.length === 0 ? inputs : { ...inputs, ...Object.fromEntries(taken) };
}

function readFile(params: Params): string | Uint8Array {
  const file = params.raw('file');
  if (file === undefined) throw invalid('file is required', 'file');
  if (file instanceof Uint8Array) {
    if (file.length === 0) throw invalid('file is required', 'file');
    return file;
  }
  const text = params.text('file', MAX_FILE_TEXT)?.trim();
  if (text === undefined || text === '') throw invalid('file is required', 'file');
  return text;
}

function readGranularities(params: Params): SttInput['timestamp_granularities'] {
  const given = params.raw('timestamp_granularities') ?? ['segment'];
  const field = 'timestamp_granularities';
  if (!Array.isArray(given) || given.length === 0)
    throw invalid(`${field} must be an array of segment, word`, field);
  given.forEach((word: unknown, index) => {
    if (!(GRANULARITIES as readonly unknown[]).includes(word))
      throw invalid(`${field}[${index}] must be segment or word`, field);
  });
  return [...new Set(given as SttInput['timestamp_granularities'])];
}

/**
 * Refuses what the model does not support; nothing is silently dropped.
 * @throws ApiError invalid_request
 */
export function checkSttInput(
  { timestamp_granularities: granularities, diarization, translation, model_inputs: inputs }: SttInput,
  { model, can = NOTHING }: { model: Model; can?: SttCapabilities | undefined },
): void {
  const refuse = (what: string, param: string) =>
    invalid(`Model ${model.id} does not support ${what}`, param);
  if (granularities.includes('word') && !can.words)
    throw refuse('word timestamps', 'timestamp_granularities');
  if (diarization && !can.diarization) throw refuse('diarization', 'diarization');
  if (translation && !can.translation) throw refuse('translation', 'translation');
  checkModelInputs(inputs, can.modelInputs);
}

/** @throws ApiError invalid_request with the field in `param` */
// oxlint-disable-next-line max-params -- as the kind's own
export function parseSttInput(
  body: Record<string, unknown>,
  model: Model,
  can: SttCapabilities = NOTHING,
  dialect?: Dialect,
): SttInput {
  const params = new Params(body);
  params.allowOnly(dialect === 'media' ? NAMES_AT_V1 : NAMES);
  const file = readFile(params);
  const language = params.text('language', 40)?.trim() || 'auto';
  if (language !== 'auto' && !LANGUAGE.test(language))
    throw invalid('language must be an ISO language code or auto', 'language');
  const format = params.choice('response_format', FORMATS, 'json');
  const granularities = readGranularities(params);
  const inputs = readInputs(params, can, dialect);
  const input: SttInput = {
    file,
    language,
    response_format: format === 'verbose_json' ? 'json' : format,
    timestamp_granularities: granularities,
    diarization: params.flag('diarization', false),
    translation: params.flag('translation', false),
    ...(inputs === undefined ? {} : { model_inputs: inputs }),
    ...(can.decodesHere === true ? { reader: model.id } : {}),
  };
  checkSttInput(input, { model, can });
  return input;
}
