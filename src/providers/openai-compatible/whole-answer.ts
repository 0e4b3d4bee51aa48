import { checkCount } from '../convention/chunk.js';
import { isFields } from '../convention/said.js';
import { usageIn } from '../convention/usage.js';

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

/** A chunk with a text of megabytes as several, which bring a piece of it each: nobody waits while all of it is read again and written. */
export function* inPieces(chunk: Fields): Generator<Fields, void> {
  const { choices } = chunk as { choices: Fields[] };
  const [choice] = choices;
  const rest: Fields = { ...(choice?.['delta'] as Fields) };
  const isLong = (name: string): boolean =>
    typeof rest[name] === 'string' && rest[name].length > PIECE_LENGTH;
  if (choices.length !== 1 || !TEXTS.some(isLong)) return yield chunk;
  const { usage: _, ...head } = chunk;
  for (const name of TEXTS.filter(isLong)) {
    for (const piece of piecesOf(rest[name] as string))
      yield {
        ...head,
        choices: [{ ...choice, delta: { role: rest['role'], [name]: piece }, finish_reason: null }],
      };
    delete rest[name];
  }
  yield { ...chunk, choices: [{ ...choice, delta: rest }] };
}

/** Never cut between the halves of a surrogate pair. */
function* piecesOf(text: string): Generator<string, void> {
  for (let from = 0; from < text.length;) {
    const to = from + PIECE_LENGTH;
    const end = (text.charCodeAt(to - 1) & 0xfc00) === 0xd800 ? to + 1 : to;
    yield text.slice(from, end);
    from = end;
  }
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
  const usage = usageIn(parsed);
  const choices = parsed['choices'].map((choice: unknown) => {
    if (!isFields(choice) || !isFields(choice['message'])) return null;
    const { message, finish_reason: reason, ...rest } = choice;
    return { ...rest, delta: deltaOf(message as Fields), finish_reason: reason ?? 'stop' };
  });
  if (choices.length === 0 || choices.includes(null)) return null;
  return {
    ...parsed,
    object: 'chat.completion.chunk',
    choices,
    ...(usage === null ? {} : { usage }),
  };
}
