import type { TimeSlicer } from '../collections/time-slicer.js';
import { JsonReader } from './json-reader.js';
import type { JsonRules } from './json-reader.js';
import { MAX_LEVELS, parseShallow } from './stored-json.js';

/** Shorter JSON is read at once, which takes two or three milliseconds. */
const LONG_BYTES = 256 * 1024;
/** The maximum of members of one object, more than any answer has. */
const MAX_OBJECT_MEMBERS = 20_000;

const refusal = (what: string) => () => new SyntaxError(what);

/** Rules for JSON of upstreams, whose length was limited before. */
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

/** Whether JSON is so long that it must be read in slices. */
export const isLongToRead = ({ length }: { length: number }): boolean => length > LONG_BYTES;

/** For a part of a stream, which is parsed once more, at once: so many values take about twenty milliseconds. Long parts have long texts, not many values. */
const EVENT_RULES: JsonRules = { ...RULES, maxCommas: 100_000 };

/**
 * Reads JSON whose nesting is not limited, with or without a byte order mark: short JSON at once, long JSON in time slices.
 * @throws SyntaxError, RangeError also for more than 1,000 levels
 */
export async function readJson(json: Buffer, timeSlicer: TimeSlicer, rules = RULES): Promise<unknown> {
  const at = json[0] === 0xef && json[1] === 0xbb && json[2] === 0xbf ? 3 : 0;
  if (!isLongToRead(json)) return parseShallow(json.toString('utf8', at));
  const reader = new JsonReader(json, rules, at);
  await timeSlicer.run((until) => reader.read(until));
  return reader.value;
}

/** As {@link readJson}, of a text. */
export const readJsonText = async (json: string, timeSlicer: TimeSlicer): Promise<unknown> =>
  isLongToRead(json) ? await readJson(Buffer.from(json), timeSlicer) : JSON.parse(json);

/** As {@link readJson}, of a part of a stream. @throws SyntaxError also for more values than can be parsed at once */
export const readEvent = (json: Buffer, timeSlicer: TimeSlicer): Promise<unknown> =>
  readJson(json, timeSlicer, EVENT_RULES);
