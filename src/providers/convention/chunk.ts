import { parseShallow } from '../../text/stored-json.js';
import { brokenAnswer, isFailedChoice, kindOfError } from '../openai-compatible/upstream-errors.js';
import { faultIn } from './faults.js';
import { finishes, finishReason } from './finish-reasons.js';
import { generatedTexts, isFields, withPlainContent } from './said.js';
import type { StreamedCalls } from './streamed-calls.js';
import { usageIn } from './usage.js';

type Fields = Record<string, unknown>;

export interface Choice extends Fields {
  index: number;
  delta: Fields;
  finish_reason: string | null;
}

/** One parsed chunk of an upstream, its choices as the contract has them. */
export interface Chunk {
  /** On one line. */
  raw: string;
  parsed: Fields & { choices: Choice[] };
  /** What it tells of the usage, in the convention's words. */
  usage: Fields | null;
  /** True: the choices of `raw` were not what the contract says, and are exchanged when it is written. */
  mended: boolean;
  /** The chunk that ends the answer. */
  finishes: boolean;
}

/** What an event is that says nothing: signs of life, in whatever form. */
const SILENCE: Chunk = {
  raw: '{"choices":[]}',
  parsed: { choices: [] },
  usage: null,
  mended: false,
  finishes: false,
};

/** What an answer in one piece calls itself. */
const WHOLE = 'chat.completion';

/** A byte order mark, which some put before each JSON. */
const MARK = '\ufeff';

/** A choice whose part stands under another name than `delta`. A whole answer at the end of a stream says once more what was said. */
function withDelta(choice: Fields, isRepeated: boolean): Fields {
  if (choice['delta'] != null || isRepeated) return choice;
  const { message, text, ...rest } = choice;
  if (isFields(message)) return { ...rest, delta: message };
  return typeof text === 'string' ? { ...rest, delta: { content: text } } : choice;
}

function mendedChoice(said: Fields, position: number, calls: StreamedCalls): Choice {
  const { index: given, delta, finish_reason: reason } = said;
  const index = Number.isSafeInteger(given) ? (given as number) : position;
  const isEnd = finishes(reason);
  const plain = isFields(delta) ? withoutUsage(calls.mended(withPlainContent(delta), index)) : {};
  const whole = isEnd ? calls.ended(plain, index) : plain;
  const finish = isEnd ? finishReason(reason, calls.has(index)) : null;
  // Nearly all are as they should be.
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
  // A fault of the parser costs a hundred times what this look does.
  if (!/^\s*[{[]/.test(text)) return null;
  let parsed: unknown;
  try {
    parsed = parseShallow(text);
  } catch {
    // Words that some send to keep the connection open.
    if (!text.slice(0, 1000).trimStart().startsWith('{')) return null;
    throw brokenAnswer('a chunk of broken JSON');
  }
  // Some gateways put each into a list.
  const only: unknown = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
  return isFields(only) ? only : null;
}

/** The data of an event that is named an error, as a chunk that says so itself. */
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
    return mendedChoice(withDelta(choice, parsed['object'] === WHOLE), position, calls);
  });
  const mended =
    given.length !== (listed as unknown[] | undefined)?.length ||
    !choices.every((choice, position) => choice === given[position]);
  return {
    raw: oneLine(raw, parsed),
    parsed: mended ? { ...parsed, choices } : (parsed as Chunk['parsed']),
    usage: usageIn(parsed),
    mended,
    finishes: choices.some((choice) => choice.finish_reason !== null),
  };
}

/** Line breaks are the upstream's pretty printing: within JSON's strings none can stand. */
function oneLine(raw: string, parsed: Fields): string {
  if (raw.charCodeAt(0) !== 123) return JSON.stringify(parsed);
  return raw.includes('\n') ? raw.replaceAll('\n', ' ') : raw;
}

/** More than anybody can ask for. */
const MAX_CHOICES = 1000;
/** More than any model asks for in one answer. */
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

/** Whether a chunk brings anything of the answer, an audio's bytes included, besides its finish reason. */
export function bringsSomething(chunk: Chunk): boolean {
  return chunk.parsed.choices.some(({ delta }) =>
    Object.entries(delta).some(([name, value]) => name !== 'role' && !isNothing(value)),
  );
}

function isNothing(value: unknown): boolean {
  if (value == null || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
