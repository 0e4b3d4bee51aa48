import type { TimeSlicer } from '../../collections/time-slicer.js';
import { readEvent } from '../../text/read-json.js';
import { parseShallow } from '../../text/stored-json.js';
import { brokenAnswer, isFailedChoice, kindOfError } from '../openai-compatible/upstream-errors.js';
import { faultIn } from './faults.js';
import { finishes, finishReason } from './finish-reasons.js';
import { generatedTexts, isFields, withPlainContent } from './answer-text.js';
import type { StreamedCalls } from './streamed-calls.js';
import { findUsage } from './usage.js';

type Fields = Record<string, unknown>;

export interface Choice extends Fields {
  index: number;
  delta: Fields;
  finish_reason: string | null;
}

/** One parsed chunk of an upstream, with choices in the contract's form. */
export interface Chunk {
  /** The chunk's text, on one line. */
  raw: string;
  parsed: Fields & { choices: Choice[] };
  /** The usage that it reports, in the convention's words. */
  usage: Fields | null;
  /** Whether the choices of `raw` differ from the contract's form. They are replaced when the chunk is written. */
  isNormalized: boolean;
  /** The chunk that ends the answer. */
  finishes: boolean;
}

/** The result for an event without content: keep-alive events in any form. */
const SILENCE: Chunk = {
  raw: '{"choices":[]}',
  parsed: { choices: [] },
  usage: null,
  isNormalized: false,
  finishes: false,
};

/** The `object` of a whole answer. */
const WHOLE = 'chat.completion';

/** A byte order mark, which some upstreams put before each JSON text. */
const MARK = '\ufeff';

/** A choice whose part has another name than `delta`. A whole answer at the end of a stream repeats what was sent. */
function withDelta(choice: Fields, isRepeated: boolean): Fields {
  if (choice['delta'] != null || isRepeated) return choice;
  const { message, text, ...rest } = choice;
  if (isFields(message)) return { ...rest, delta: message };
  return typeof text === 'string' ? { ...rest, delta: { content: text } } : choice;
}

function normalizedChoice(said: Fields, position: number, calls: StreamedCalls): Choice {
  const { index: given, delta, finish_reason: reason } = said;
  const index = Number.isSafeInteger(given) ? (given as number) : position;
  const isEnd = finishes(reason);
  const plain = isFields(delta) ? withoutUsage(calls.normalize(withPlainContent(delta), index)) : {};
  const whole = isEnd ? calls.ended(plain, index) : plain;
  const finish = isEnd ? finishReason(reason, calls.has(index)) : null;
  // Nearly all have the right form.
  const isSame = given === index && delta === whole && reason === finish && !('usage' in said);
  return isSame ? (said as Choice) : { ...withoutUsage(said), index, delta: whole, finish_reason: finish };
}

/** Told in its own place. */
function withoutUsage(given: Fields): Fields {
  if (!('usage' in given)) return given;
  const { usage: _, ...rest } = given;
  return rest;
}

/** @throws UpstreamError where it begins as an object and is none */
function fieldsOf(raw: string): Fields | null {
  const text = raw.startsWith(MARK) ? raw.slice(1) : raw;
  // An error of the parser costs a hundred times as much as this check.
  if (!/^\s*[{[]/.test(text)) return null;
  let parsed: unknown;
  try {
    parsed = parseShallow(text);
  } catch {
    // Some upstreams send words to keep the connection open.
    if (!text.slice(0, 1000).trimStart().startsWith('{')) return null;
    throw brokenAnswer('a chunk of broken JSON');
  }
  // Some gateways put each chunk into a list.
  const only: unknown = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
  return isFields(only) ? only : null;
}

/** Converts the data of an event named `error` to a chunk that contains an error. */
export function errorChunk(data: string): string {
  let parsed: unknown;
  try {
    parsed = parseShallow(data);
  } catch {
    return JSON.stringify({ error: data });
  }
  return isFields(parsed) && parsed['error'] != null ? data : JSON.stringify({ error: parsed ?? 'error' });
}

/**
 * @param calls those of the chunk's stream so far
 * @returns the chunk; one without choices where the event says nothing
 * @throws UpstreamError for what is not a chunk of the convention, an upstream's error in its stream included
 */
export function parseChunk(raw: string, calls: StreamedCalls): Chunk {
  const parsed = fieldsOf(raw);
  if (parsed === null) return SILENCE;
  const fault = faultIn(parsed);
  if (fault !== undefined) throw brokenAnswer(`an error in its stream${kindOfError(fault)}`);
  const { choices: listed } = parsed;
  checkCount(listed);
  const given = Array.isArray(listed) ? listed.filter((choice: unknown) => choice !== null) : [];
  const choices = given.map((choice: unknown, position) => {
    if (!isFields(choice) || (choice['delta'] != null && !isFields(choice['delta'])))
      throw brokenAnswer('a broken choice');
    if (isFailedChoice(choice)) throw brokenAnswer(`a choice that failed${kindOfError(choice['error'])}`);
    return normalizedChoice(withDelta(choice, parsed['object'] === WHOLE), position, calls);
  });
  const isNormalized =
    given.length !== (listed as unknown[] | undefined)?.length ||
    !choices.every((choice, position) => choice === given[position]);
  return {
    raw: oneLine(raw, parsed),
    parsed: isNormalized ? { ...parsed, choices } : (parsed as Chunk['parsed']),
    usage: findUsage(parsed),
    isNormalized,
    finishes: choices.some((choice) => choice.finish_reason !== null),
  };
}

/** Removes the upstream's line breaks. JSON strings cannot contain any. */
function oneLine(raw: string, parsed: Fields): string {
  if (raw.charCodeAt(0) !== 123) return JSON.stringify(parsed);
  return raw.includes('\n') ? raw.replaceAll('\n', ' ') : raw;
}

/**
 * Reads a long chunk, or a whole answer that becomes one, in slices.
 * @throws UpstreamError where it is no JSON, or has more values than {@link parseChunk} could read without keeping others waiting
 */
export async function readLongChunk(json: Buffer, timeSlicer: TimeSlicer): Promise<unknown> {
  try {
    return await readEvent(json, timeSlicer);
  } catch {
    throw brokenAnswer('a chunk that cannot be read');
  }
}

/** More choices than a caller can ask for. */
const MAX_CHOICES = 1000;
/** More tool calls than any model makes in one answer. */
const MAX_CALLS = 5000;

/** @throws UpstreamError for choices, or calls in them, whose reading alone would keep everybody else waiting */
export function checkCount(choices: unknown): void {
  if (!Array.isArray(choices)) return;
  if (choices.length > MAX_CHOICES) throw brokenAnswer('more choices than anybody asks for');
  let calls = 0;
  for (const choice of choices as unknown[]) {
    if (!isFields(choice)) continue;
    for (const said of [choice['message'], choice['delta']])
      if (isFields(said) && Array.isArray(said['tool_calls'])) calls += said['tool_calls'].length;
  }
  if (calls > MAX_CALLS) throw brokenAnswer('more tool calls than any model asks for');
}

/** The text that a chunk delivers. */
export function deliveredText(chunk: Chunk): string {
  return chunk.parsed.choices.flatMap(({ delta }) => generatedTexts(delta)).join('');
}

/** Whether a chunk contains part of the answer (audio included), not only a finish reason. */
export function hasContent(chunk: Chunk): boolean {
  return chunk.parsed.choices.some(({ delta }) =>
    Object.entries(delta).some(([name, value]) => name !== 'role' && !isNothing(value)),
  );
}

function isNothing(value: unknown): boolean {
  if (value == null || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
