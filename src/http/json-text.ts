import { isUtf8 } from 'node:buffer';
import { fileTooLarge, invalid } from '../contract/errors.js';
import type { ApiError } from '../contract/errors.js';
import type { JsonRules } from '../text/json-reader.js';
import { isDeeper, isStorable } from '../text/stored-json.js';
import { MAX_COMMAS, MAX_DEPTH, MAX_MEMBERS, MAX_OBJECT_MEMBERS, tooDeep, tooMany } from './json-shape.js';

export const malformed = () => invalid('Malformed JSON');

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Where the text of the bytes begins. @throws ApiError unless they are UTF-8 */
export function textStart(bytes: Buffer): number {
  if (!isUtf8(bytes)) throw malformed();
  return bytes[0] === 0xef && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
}

/** Escapes through which a valid JSON text can hold what PostgreSQL cannot store. */
const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;
const PROTO_ESCAPE = /\\u005[fF]/;

/** The parameter is the first key. */
export const firstKey: ParamOf = ([first]) => first;

/** A file of 25 MB as base64 is shorter. */
const MAX_STRING_MB = 36;

/** What a long body is read by: it meets the same refusals as a short one. */
export const requestJsonRules = (paramOf: ParamOf): JsonRules => ({
  maxDepth: MAX_DEPTH,
  maxMembers: MAX_MEMBERS,
  maxObjectMembers: MAX_OBJECT_MEMBERS,
  maxCommas: MAX_COMMAS,
  maxStringBytes: MAX_STRING_MB * 1024 * 1024,
  malformed,
  tooDeep,
  tooMany,
  tooLong: (path) => fileTooLarge(paramOf(path) ?? 'A string', MAX_STRING_MB),
  unstorable: (path) => unstorable(paramOf(path)),
});

/**
 * The JSON value of a short body. A key `__proto__` below the first level is dropped; on the first level it stays an own key, for services that
 * refuse unknown parameters.
 * @param paramOf the parameter that a path of keys belongs to; by default its first key
 * @throws ApiError invalid_request `Malformed JSON`, or for `\u0000` and lone surrogates in any string, or for more than 500 levels
 */
export function parseJson(bytes: Buffer, paramOf: ParamOf = firstKey): unknown {
  let text: string;
  let value: unknown;
  try {
    text = bytes.toString('utf8', textStart(bytes));
    value = JSON.parse(text);
  } catch {
    throw malformed();
  }
  checkJson(value, text, paramOf);
  return value;
}

/**
 * What every JSON of a caller is held to, however it came: see {@link parseJson}.
 * @param text what `value` was parsed from
 */
export function checkJson(value: unknown, text: string, paramOf: ParamOf): void {
  // A level takes at least two characters, so most bodies need no check.
  if (text.length > 2 * MAX_DEPTH && isDeeper(value, MAX_DEPTH)) throw tooDeep();
  // A plain text search comes first: almost no body has escapes, and the regular expressions read every character.
  const escapes = text.includes('\\u');
  if (escapes && SUSPECT_ESCAPE.test(text)) checkStrings(value, { path: [], paramOf });
  if (text.includes('__proto__') || (escapes && PROTO_ESCAPE.test(text))) dropProto(value, 0);
}

/** @throws ApiError invalid_request for a NUL or a lone surrogate */
export function checkText(text: string, param?: string): void {
  if (!isStorable(text)) throw unstorable(param);
}

const unstorable = (param?: string): ApiError =>
  invalid('Strings must not contain \\u0000 or lone surrogates', param);

/** The parameter that a path of keys belongs to. */
export type ParamOf = (path: string[]) => string | undefined;

function checkStrings(value: unknown, place: { path: string[]; paramOf: ParamOf }): void {
  const { path, paramOf } = place;
  if (typeof value === 'string') checkText(value, paramOf(path));
  else if (Array.isArray(value)) for (const item of value) checkStrings(item, place);
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      checkText(key, paramOf(path));
      checkStrings(item, { path: path.length < 3 ? [...path, key] : path, paramOf });
    }
}

function dropProto(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > 0 && Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__');
  for (const item of Object.values(value)) dropProto(item, depth + 1);
}
