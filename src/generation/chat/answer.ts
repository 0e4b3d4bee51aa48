import { newId } from '../../contract/ids.js';
import { storedText } from '../../text/stored-json.js';
import {
  finishReason,
  generatedTexts,
  isFields,
  spliceObject,
  withPlainContent,
  withWholeCalls,
} from '../../providers/index.js';
import type { ChatObject } from '../../providers/index.js';

type Fields = Record<string, unknown>;

const hasCalls = (message: Fields): boolean =>
  isFields(message['function_call']) ||
  (Array.isArray(message['tool_calls']) && message['tool_calls'].length > 0);

/** Whether a choice already has the contract's form. */
function fits(choice: unknown, index: number): boolean {
  if (!isFields(choice) || !isFields(choice['message'])) return false;
  const { message } = choice;
  const content = message['content'];
  const contentFits = hasCalls(message) ? content === null : typeof content === 'string';
  const reason = choice['finish_reason'];
  return (
    choice['index'] === index &&
    message['role'] === 'assistant' &&
    contentFits &&
    withWholeCalls(message) === message &&
    reason === finishReason(reason, hasCalls(message)) &&
    !('usage' in choice) &&
    !('usage' in message)
  );
}

function normalizedChoice(choice: unknown, index: number): Fields {
  const { usage: _, ...given } = isFields(choice) ? choice : {};
  const { usage: _usage, ...message } = isFields(given['message'])
    ? withWholeCalls(withPlainContent(given['message']))
    : {};
  // Null if there are tool calls, whatever the content was (decisions 6, "Chat"); it was counted before.
  const content = hasCalls(message) ? null : (message['content'] ?? '');
  const reason = finishReason(given['finish_reason'], hasCalls(message));
  return { ...given, index, message: { ...message, role: 'assistant', content }, finish_reason: reason };
}

/** The limit of whole seconds; a larger number is in milliseconds. */
function isUnixTime(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) < 2 ** 31;
}

const MAX_ID = 1_000;

/** An answer's id is also stored in events, and PostgreSQL cannot store NUL or lone surrogates. */
function isId(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID && storedText(value) === value;
}

/** Edits that add required members that the upstream left out of an answer or chunk. */
export function missingHead(parsed: Fields, object: string): Record<string, string> {
  const edits: Record<string, string> = {};
  if (!isId(parsed['id'])) {
    edits['id'] = JSON.stringify(newId('chatcmpl').replace('_', '-'));
  }
  if (parsed['object'] !== object) edits['object'] = JSON.stringify(object);
  if (!isUnixTime(parsed['created'])) edits['created'] = String(Math.floor(Date.now() / 1000));
  return edits;
}

/** All text that an answer generated, to count its tokens if the upstream did not. */
export function answerTexts(parsed: ChatObject): string[] {
  return parsed.choices.flatMap((choice) =>
    isFields(choice) && isFields(choice['message'])
      ? generatedTexts(withPlainContent(choice['message']))
      : [],
  );
}

/** The answer for the caller: the upstream's own bytes, with a few members replaced or added. */
export function chatAnswer(options: {
  text: string;
  parsed: ChatObject;
  head: Record<string, string>;
  model: string;
  tier: string;
  usage: Record<string, unknown>;
  citations: string[];
}): string {
  const { text, parsed, citations } = options;
  const edits: Record<string, string> = {
    ...options.head,
    model: JSON.stringify(options.model),
    model_tier: JSON.stringify(options.tier),
    usage: JSON.stringify(options.usage),
  };
  if (!parsed.choices.every(fits)) edits['choices'] = JSON.stringify(parsed.choices.map(normalizedChoice));
  if (citations.length > 0) edits['citations'] = JSON.stringify(citations);
  return spliceObject(text, edits);
}
