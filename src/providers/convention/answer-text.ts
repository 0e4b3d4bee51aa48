/** The content of a message or of a chunk's delta, in the convention's fields and in those that other upstreams use instead. */

type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textsOf(parts: unknown[], field: 'text' | 'thinking'): string {
  return parts
    .map((part) => {
      const said = isFields(part) ? part[field] : field === 'text' ? part : '';
      if (typeof said === 'string') return said;
      return Array.isArray(said) ? textsOf(said, 'text') : '';
    })
    .join('');
}

/** The message of a whole answer's choice. Some upstreams call it as in a stream, or give its text only; null if there is none. */
export function messageOf({ message, delta, text }: Fields): Fields | null {
  const said = message ?? delta;
  if (isFields(said)) return said;
  return said == null && typeof text === 'string' ? { content: text } : null;
}

/** Converts content that is a part, or a list of parts, to a string (contract 2.3), with its reasoning beside it. */
export function withPlainContent(message: Fields): Fields {
  const { content: given } = message;
  if (typeof given === 'string' || given == null) return message;
  if (typeof given !== 'object') return { ...message, content: String(given) };
  const content = Array.isArray(given) ? (given as unknown[]) : [given];
  const thought = textsOf(content, 'thinking');
  return {
    ...message,
    content: textsOf(content, 'text'),
    ...(thought === '' ? {} : { reasoning_content: thought }),
  };
}

/** A call's arguments as text. Some upstreams send an object, or null if there are none. */
export function argumentsText(given: unknown): string {
  if (typeof given === 'string') return given;
  return given == null ? '' : JSON.stringify(given);
}

function callTexts(calls: unknown): string[] {
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call) => {
    const requested = isFields(call) && isFields(call['function']) ? call['function'] : {};
    const { name } = requested;
    return [typeof name === 'string' ? name : '', argumentsText(requested['arguments'])];
  });
}

/** All generated texts of a message or delta, in order to count them: content, reasoning, refusal, speech and tool calls. */
export function generatedTexts(message: Fields): string[] {
  const { audio } = message;
  return [
    ...callTexts(message['tool_calls']),
    ...callTexts([{ function: message['function_call'] }]),
    message['content'],
    // Some upstreams send the reasoning under both names.
    message['reasoning_content'] ?? message['reasoning'],
    message['refusal'],
    isFields(audio) ? audio['transcript'] : null,
  ].filter((text) => typeof text === 'string');
}

/** The names of the tools that a request offers. */
export function toolNames({ tools, functions }: Fields): string[] {
  const offered = [tools, functions].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  return offered.flatMap((tool) => {
    const { function: inner, name } = tool as { function?: { name?: unknown }; name?: unknown };
    const said = inner?.name ?? name;
    return typeof said === 'string' ? [said] : [];
  });
}

/** Whether a request offers tools, and no functions of the older form, whose calls have another form. */
export function offersTools({ tools, functions }: Fields): boolean {
  return Array.isArray(tools) && tools.length > 0 && functions == null;
}
