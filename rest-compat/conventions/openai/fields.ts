import { invalid } from '../../../src/contract/errors.js';
import { checkJson, checkShape } from '../../../src/http/index.js';
import type { ReadRequest } from '../../shared/route.types.js';

/** A request's fields by their names. */
export type Body = Record<string, unknown>;

const NUMBER = /^-?\d+(\.\d+)?$/;
const FLAGS: Record<string, boolean> = { true: true, false: false };

/** Reads the fields of a form, where numbers, flags and objects are text. Other bodies stay unchanged. @throws ApiError invalid_request */
export function typedFields(
  body: Body,
  { headers }: Pick<ReadRequest, 'headers'>,
  { numbers = [], flags = [], objects = [] }: Partial<Record<'numbers' | 'flags' | 'objects', string[]>>,
): Body {
  if (!/^\s*multipart\//i.test(String(headers['content-type'] ?? ''))) return body;
  const typed = { ...body };
  for (const [name, value] of Object.entries(body)) {
    if (typeof value !== 'string') continue;
    if (numbers.includes(name) && NUMBER.test(value)) typed[name] = Number(value);
    if (flags.includes(name) && Object.hasOwn(FLAGS, value)) typed[name] = FLAGS[value];
    if (objects.includes(name) && value.startsWith('{')) typed[name] = objectOf(value, name);
  }
  return typed;
}

/** Applies the limits of JSON bodies. @throws ApiError invalid_request */
function objectOf(text: string, name: string): unknown {
  checkShape(Buffer.from(text));
  let member: Body;
  try {
    member = { [name]: JSON.parse(text) };
  } catch {
    throw invalid(`${name} must be an object`, name);
  }
  checkJson(member, text, ([field]) => field);
  return member[name];
}

/** The fields of the body that the resolver knows and that are not null. */
export function pickFields(body: Body, names: readonly string[]): Body {
  return Object.fromEntries(names.filter((name) => body[name] != null).map((name) => [name, body[name]]));
}

/** @throws ApiError invalid_request */
export function readFlag(body: Body, name: string): boolean {
  const value = body[name] ?? false;
  if (typeof value !== 'boolean') throw invalid(`${name} must be true or false`, name);
  return value;
}

/** @throws ApiError invalid_request */
export function wholeNumberOf(
  body: Body,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const value = body[name];
  if (value == null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
    throw invalid(`${name} must be a whole number from ${min} to ${max}`, name);
  return value as number;
}

/** One event of a stream whose clients read `data:` by its `type`. */
export const typedEvent = <Event extends { type: string }>(event: Event): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
