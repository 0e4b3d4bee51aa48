import type { TimeSlicer } from '../collections/time-slicer.js';
import { JsonReader } from './json-reader.js';
import type { JsonRules } from './json-reader.js';
import { MAX_LEVELS, parseShallow } from './stored-json.js';

/** Shorter JSON is read at once, which takes two or three milliseconds. */
const LONG_BYTES = 256 * 1024;
/** More names in one object than any answer has. */
const MAX_OBJECT_MEMBERS = 20_000;

const refusal = (what: string) => () => new SyntaxError(what);

/** Somebody else's JSON, whose length was bounded before. */
const RULES: JsonRules = {
  maxDepth: MAX_LEVELS,
  maxMembers: Infinity,
  maxObjectMembers: MAX_OBJECT_MEMBERS,
  maxCommas: Infinity,
  maxStringBytes: Infinity,
  malformed: refusal('Malformed JSON'),
  tooDeep: refusal('JSON of too many levels'),
  tooMany: refusal('JSON with an object of too many members'),
  tooLong: refusal('JSON with a text that is too long'),
  unstorable: null,
};

/** Whether JSON takes so long to read that nobody should wait for it. */
export const isLongToRead = ({ length }: { length: number }): boolean => length > LONG_BYTES;

/**
 * The value of JSON from somebody whose nesting nobody bounds, with a byte order mark or without: short JSON is read at once, long JSON in
 * slices of the main thread's time.
 * @throws SyntaxError, RangeError also for more than 1,000 levels
 */
export async function readJson(json: Buffer, timeSlicer: TimeSlicer): Promise<unknown> {
  const at = json[0] === 0xef && json[1] === 0xbb && json[2] === 0xbf ? 3 : 0;
  if (!isLongToRead(json)) return parseShallow(json.toString('utf8', at));
  const reader = new JsonReader(json, RULES, at);
  await timeSlicer.run((until) => reader.read(until));
  return reader.value;
}

/** As {@link readJson}, of a text. */
export const readJsonText = async (json: string, timeSlicer: TimeSlicer): Promise<unknown> =>
  isLongToRead(json) ? await readJson(Buffer.from(json), timeSlicer) : JSON.parse(json);
