import { parseShallow } from '../text/stored-json.js';
import type { ChatAnswer, ChatBody, ChatCall, ChatChunks, ChatProvider } from './providers.types.js';

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Converts old-style calls and their results, which have no call ids: a result belongs to the latest call of its function. */
function asToolMessages(messages: ChatBody['messages']): ChatBody['messages'] {
  const latest = new Map<unknown, string>();
  return messages.map((message, index) => {
    const { function_call: call, ...rest } = message as Fields;
    const id = `function_call_${index}`;
    if (rest['role'] === 'function') {
      const { name, ...answer } = rest;
      return { ...answer, role: 'tool', tool_call_id: latest.get(name) ?? id };
    }
    if (!isFields(call)) return message;
    latest.set(call['name'], id);
    return { ...rest, tool_calls: [{ id, type: 'function', function: call }] };
  }) as ChatBody['messages'];
}

/** Converts `functions` and `function_call` to `tools` and `tool_choice`. */
function asTools({ functions, function_call: choice, messages, ...body }: ChatBody): ChatBody {
  const named = isFields(choice) ? { type: 'function', function: { name: choice['name'] } } : choice;
  return {
    ...body,
    messages: asToolMessages(messages),
    ...(functions === undefined
      ? {}
      : { tools: (functions as unknown[]).map((item) => ({ type: 'function', function: item })) }),
    ...(named === undefined ? {} : { tool_choice: named }),
  };
}

/** Converts a message or delta: its first tool call becomes `function_call`, which can hold only one. */
function asFunctionCall(said: unknown): unknown {
  if (!isFields(said) || !Array.isArray(said['tool_calls'])) return said;
  const { tool_calls: calls, ...rest } = said;
  const first = (calls as unknown[]).find((call) => isFields(call) && (call['index'] ?? 0) === 0);
  return isFields(first) ? { ...rest, function_call: first['function'] } : rest;
}

function translated(answer: { choices?: unknown }, member: 'message' | 'delta'): Fields {
  const choices = Array.isArray(answer.choices) ? (answer.choices as unknown[]) : [];
  return {
    ...answer,
    choices: choices.map((choice) =>
      isFields(choice) ? { ...choice, [member]: asFunctionCall(choice[member]) } : choice,
    ),
  };
}

/** Text that is not a chunk is passed on unchanged; its reader reports the error. */
function translatedChunk(raw: string): string {
  try {
    return JSON.stringify(translated(parseShallow(raw) as Fields, 'delta'));
  } catch {
    return raw;
  }
}

function translatedChunks(chunks: ChatChunks): ChatChunks {
  return {
    async next() {
      const raw = await chunks.next();
      return raw === null ? null : translatedChunk(raw);
    },
    cancel: () => chunks.cancel(),
  };
}

const usesFunctions = ({ functions, messages }: ChatBody): boolean =>
  functions !== undefined ||
  messages.some(
    (message) => (message as Fields)['role'] === 'function' || isFields((message as Fields)['function_call']),
  );

/** Wraps a provider that supports only `tools`, for callers that use the older `functions`. */
export function withFunctions(provider: ChatProvider): ChatProvider {
  const reported = (call: ChatCall): ChatCall => ({ ...call, body: asTools(call.body) });
  return {
    async complete(call): Promise<ChatAnswer> {
      if (!usesFunctions(call.body)) return await provider.complete(call);
      const { parsed } = await provider.complete(reported(call));
      const answer = translated(parsed, 'message') as ChatAnswer['parsed'];
      return { text: JSON.stringify(answer), parsed: answer };
    },
    async stream(call) {
      if (!usesFunctions(call.body)) return await provider.stream(call);
      return translatedChunks(await provider.stream(reported(call)));
    },
  };
}
