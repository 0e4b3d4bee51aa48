import { invalid } from '../../contract/errors.js';
import { isFields } from '../../providers/index.js';

export type Fields = Record<string, unknown>;

/** Reads a value; undefined if it is null or absent. @throws ApiError invalid_request */
export function optional<T>(body: Fields, name: string, read: (value: unknown, where: string) => T) {
  const value = body[name];
  return value == null ? undefined : read(value, name);
}

/** The fields that have a value. */
export function presentFields(fields: Fields): Fields {
  const found: Fields = {};
  for (const name in fields) if (fields[name] !== undefined) found[name] = fields[name];
  return found;
}

/** The fields of a body, except the fields with the given names. */
export function fieldsBut(body: Fields, names: ReadonlySet<string>): Fields {
  const found: Fields = {};
  for (const name of Object.keys(body)) if (!names.has(name)) found[name] = body[name];
  return found;
}

export function textAt(value: unknown, where: string, param = where): string {
  if (typeof value !== 'string') throw invalid(`${where} must be a string`, param);
  return value;
}

export function nameAt(value: unknown, where: string, param: string): string {
  if (typeof value !== 'string' || value === '') throw invalid(`${where} is required`, param);
  return value;
}

export function booleanAt(value: unknown, where: string): boolean {
  if (typeof value !== 'boolean') throw invalid(`${where} must be a boolean`, where);
  return value;
}

export function objectAt(value: unknown, where: string, param = where): Fields {
  if (!isFields(value)) throw invalid(`${where} must be an object`, param);
  return value;
}

export function listAt(value: unknown, where: string, param = where): unknown[] {
  if (!Array.isArray(value)) throw invalid(`${where} must be an array`, param);
  return value as unknown[];
}

export function numberAt(value: unknown, where: string, [low, high]: readonly [number, number]): number {
  if (typeof value !== 'number' || !(value >= low && value <= high))
    throw invalid(`${where} must be between ${low} and ${high}`, where);
  return value;
}

export function wholeAt(value: unknown, where: string, [low, high]: readonly [number, number]): number {
  if (!Number.isSafeInteger(value) || (value as number) < low || (value as number) > high)
    throw invalid(`${where} must be a whole number between ${low} and ${high}`, where);
  return value as number;
}

export function oneOf<T extends string>(value: unknown, where: string, words: readonly T[]): T {
  if (!words.includes(value as T)) throw invalid(`${where} must be one of ${words.join(', ')}`, where);
  return value as T;
}
