import { textPieces } from '../../text/json-pieces.js';
import { checkCount } from '../convention/chunk.js';
import { isFields, messageOf } from '../convention/answer-text.js';
import { findUsage } from '../convention/usage.js';

type Fields = Record<string, unknown>;

/** A message as the one delta that brings all of it. */
function deltaOf(message: Fields): Fields {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  const numbered = calls.map((call: unknown, index) => (isFields(call) ? { index, ...call } : call));
  return { ...message, tool_calls: numbered };
}

/** Texts of a delta that come a piece at a time, as its reader is used to. */
const TEXTS = ['reasoning_content', 'reasoning', 'content', 'refusal'];
/** Characters of one piece: what is no longer goes on in one go. */
const PIECE_LENGTH = 128 * 1024;

/** The one choice of a chunk, and the names of its long texts; null: it has none. */
function longTexts({ choices }: Fields): { choice: Fields; delta: Fields; names: string[] } | null {
  const [choice] = Array.isArray(choices) && choices.length === 1 ? (choices as unknown[]) : [];
  if (!isFields(choice) || !isFields(choice['delta'])) return null;
  const { delta } = choice;
  const isLong = (text: unknown): boolean => typeof text === 'string' && text.length > PIECE_LENGTH;
  const names = TEXTS.filter((name) => isLong(delta[name]));
  return names.length === 0 ? null : { choice, delta, names };
}

/** Whether {@link inPieces} makes several of it. */
export const isCuttable = (chunk: unknown): chunk is Fields => isFields(chunk) && longTexts(chunk) !== null;

/** Splits a chunk with a text of megabytes into several chunks, so that parsing and writing it do not block the event loop. */
export function* inPieces(chunk: Fields): Generator<Fields, void> {
  const long = longTexts(chunk);
  if (long === null) return yield chunk;
  const { choice, delta, names } = long;
  const rest: Fields = { ...delta };
  const { usage: _, ...head } = chunk;
  for (const name of names) {
    for (const piece of textPieces(rest[name] as string))
      yield {
        ...head,
        choices: [{ ...choice, delta: { role: rest['role'], [name]: piece }, finish_reason: null }],
      };
    delete rest[name];
  }
  yield { ...chunk, choices: [{ ...choice, delta: rest }] };
}

/**
 * A whole answer, from an upstream that was asked to stream and did not, as one chunk that brings and ends it.
 * @throws UpstreamError for more choices or calls than can be
 * @returns null where it is no answer of the convention
 */
export function chunkOfAnswer(answer: unknown): Fields | null {
  // Some gateways put each answer into a list.
  const parsed: unknown = Array.isArray(answer) && answer.length === 1 ? (answer as unknown[])[0] : answer;
  if (!isFields(parsed) || parsed['error'] != null || !Array.isArray(parsed['choices'])) return null;
  checkCount(parsed['choices']);
  const usage = findUsage(parsed);
  const choices = parsed['choices'].map((choice: unknown) => {
    const message = isFields(choice) ? messageOf(choice) : null;
    if (message === null) return null;
    const { message: _, text: _text, finish_reason: reason, ...rest } = choice as Fields;
    return { ...rest, delta: deltaOf(message), finish_reason: reason ?? 'stop' };
  });
  if (choices.length === 0 || choices.includes(null)) return null;
  return {
    ...parsed,
    object: 'chat.completion.chunk',
    choices,
    ...(usage === null ? {} : { usage }),
  };
}
