import { invalid } from '../../contract/errors.js';
import type { Params } from './params.js';

const MAX_TEXT = 10_000;

/** Extras of one model: JSON scalars by name. */
export type ModelInputs = Record<string, string | number | boolean>;

/**
 * Reads `model_inputs`; undefined where there are none.
 * @throws ApiError `Unknown model input: <name>`, or for a value of another form
 */
export function readModelInputs(params: Params, known: readonly string[]): ModelInputs | undefined {
  const given = params.fields('model_inputs');
  if (given === undefined) return undefined;
  const inputs: ModelInputs = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    checkModelInputs({ [name]: '' }, known);
    inputs[name] = checked(name, value);
  }
  return Object.keys(inputs).length === 0 ? undefined : inputs;
}

/** @throws ApiError `Unknown model input: <name>` */
export function checkModelInputs(inputs: ModelInputs | undefined, known: readonly string[]): void {
  const unknown = Object.keys(inputs ?? {}).find((name) => !known.includes(name));
  if (unknown !== undefined) throw invalid(`Unknown model input: ${unknown}`, 'model_inputs');
}

function checked(name: string, value: unknown): string | number | boolean {
  if (name === 'seed') {
    if (!Number.isSafeInteger(value))
      throw invalid('model_inputs.seed must be a whole number', 'model_inputs');
    return value as number;
  }
  const fits =
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && value.length <= MAX_TEXT);
  if (!fits) throw invalid(`model_inputs.${name} must be a string, a number or a boolean`, 'model_inputs');
  return value as string | number | boolean;
}
