import { isLonger } from '../../text/characters.js';
import { invalid } from '../../contract/errors.js';

/** The maximum length of a file in base64 or its URL: more than any body. The file's own limit is checked on its bytes, with the contract's 413. */
export const MAX_FILE_TEXT = 64 * 1024 * 1024;

/** Reads a request body field by field; absent and null are the same. Every error has its field in `param`. */
export class Params {
  constructor(private readonly body: Record<string, unknown>) {}

  /** @throws ApiError `Unknown parameter: <name>` */
  allowOnly(names: ReadonlySet<string>): void {
    const unknown = Object.keys(this.body).find((name) => !names.has(name) && this.body[name] !== null);
    if (unknown !== undefined) throw invalid(`Unknown parameter: ${unknown}`, unknown);
  }

  /** A string that is not blank. @throws ApiError `<name> is required` */
  requiredText(name: string, maxLength: number): string {
    const text = this.text(name, maxLength);
    if (text === undefined || text.trim() === '') throw invalid(`${name} is required`, name);
    return text;
  }

  text(name: string, maxLength: number): string | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'string') throw invalid(`${name} must be a string`, name);
    if (isLonger(value, maxLength))
      throw invalid(`${name} exceeds maximum length of ${maxLength} characters`, name);
    return value;
  }

  choice<Word extends string>(name: string, words: readonly Word[], fallback: Word): Word {
    const value = this.value(name);
    if (value === undefined) return fallback;
    const word = words.find((candidate) => candidate === value);
    if (word === undefined) throw invalid(`${name} must be one of ${words.join(', ')}`, name);
    return word;
  }

  integer(name: string, range: { min: number; max: number }): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < range.min || value > range.max)
      throw invalid(`${name} must be a whole number from ${range.min} to ${range.max}`, name);
    return value;
  }

  /** @throws ApiError with `message` for anything but a number in the range */
  number(name: string, range: { min: number; max: number; message: string }): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || !(value >= range.min && value <= range.max))
      throw invalid(range.message, name);
    return value;
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.value(name) ?? fallback;
    if (typeof value !== 'boolean') throw invalid(`${name} must be true or false`, name);
    return value;
  }

  /** A JSON object. */
  fields(name: string): Record<string, unknown> | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw invalid(`${name} must be an object`, name);
    return value as Record<string, unknown>;
  }

  /** Absent, null or an empty string: undefined. */
  raw(name: string): unknown {
    const value = this.value(name);
    return value === '' ? undefined : value;
  }

  private value(name: string): unknown {
    return Object.hasOwn(this.body, name) ? (this.body[name] ?? undefined) : undefined;
  }
}

const MAX_MODEL_INPUT = 10_000;

/** Further inputs of one model: JSON scalars by name. */
export type ModelInputs = Record<string, string | number | boolean>;

/**
 * Reads `model_inputs`; undefined if there are none.
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
    (typeof value === 'string' && value.length <= MAX_MODEL_INPUT);
  if (!fits) throw invalid(`model_inputs.${name} must be a string, a number or a boolean`, 'model_inputs');
  return value as string | number | boolean;
}
