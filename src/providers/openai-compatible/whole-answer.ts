import { parseShallow } from '../../text/stored-json.js';
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

/**
 * A whole answer, from an upstream that was asked to stream and did not, as one chunk that brings and ends it.
 * @returns the chunk's JSON, or null where it is no answer of the convention
 */
export function chunkOfAnswer(text: string): string | null {
  let parsed: unknown;
  try {
    parsed = parseShallow(text);
  } catch {
    return null;
  }
  // Some gateways put each answer into a list.
  if (Array.isArray(parsed) && parsed.length === 1) [parsed] = parsed as unknown[];
  if (!isFields(parsed) || parsed['error'] != null || !Array.isArray(parsed['choices'])) return null;
  const usage = usageIn(parsed);
  const choices = parsed['choices'].map((choice: unknown) => {
    if (!isFields(choice) || !isFields(choice['message'])) return null;
    const { message, finish_reason: reason, ...rest } = choice;
    return { ...rest, delta: deltaOf(message as Fields), finish_reason: reason ?? 'stop' };
  });
  if (choices.length === 0 || choices.includes(null)) return null;
  return JSON.stringify({
    ...parsed,
    object: 'chat.completion.chunk',
    choices,
    ...(usage === null ? {} : { usage }),
  });
}
