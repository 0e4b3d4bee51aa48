import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { storedJson, storedText } from '../../text/stored-json.js';
import { fieldsOf } from './provider-metadata.js';

/** A prompt in the chat-completions convention, with the texts that count as tokens. */
export interface ConventionPrompt {
  messages: Record<string, unknown>[];
  /** Every text that counts as tokens. */
  texts: string[];
  images: number;
  /** Position of a message → its provider-specific parts. */
  carried?: Map<number, CarriedMessage>;
}

interface CarriedMessage {
  /** Id of the model that wrote it. */
  model: string;
  message: Fields;
  /** In the order of its calls. */
  calls: Fields[];
}

type Fields = Record<string, unknown>;

type Part = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type Of<Role extends LanguageModelV4Message['role']> = Extract<LanguageModelV4Message, { role: Role }>;

/** The AI SDK's prompt as an upstream of the convention takes it: tools, pages and models say what many refuse to read. */
export function conventionPrompt(prompt: LanguageModelV4Prompt): ConventionPrompt {
  const result: ConventionPrompt = { messages: [], texts: [], images: 0, carried: new Map() };
  for (const message of prompt) {
    if (message.role === 'system') addSystem(result, message);
    else if (message.role === 'user') addUser(result, message);
    else if (message.role === 'assistant') addAssistant(result, message);
    else addTool(result, message);
  }
  return result;
}

function add(result: ConventionPrompt, message: Record<string, unknown>, ...texts: string[]): void {
  result.messages.push(message);
  result.texts.push(...texts.filter((text) => text !== ''));
}

function addSystem(result: ConventionPrompt, message: Of<'system'>): void {
  const content = storedText(message.content);
  add(result, { role: 'system', content }, content);
}

function addUser(result: ConventionPrompt, given: Of<'user'>): void {
  const content = given.content.map((part) =>
    part.type === 'text' ? { ...part, text: storedText(part.text) } : part,
  );
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const parts = content.map((part) => userPart(result, part));
  // Plain strings are what most upstreams support.
  const only = content.length === 1 && content[0]?.type === 'text' ? content[0].text : parts;
  add(result, { role: 'user', content: only }, ...texts);
}

function userPart(result: ConventionPrompt, part: Part): Record<string, unknown> {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.data.type !== 'data') throw new Error('files are given to a model as bytes');
  result.images++;
  const { data } = part.data;
  const base64 = typeof data === 'string' ? data : Buffer.from(data).toString('base64');
  return { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${base64}` } };
}

/** The key of a run's own metadata on a message or a part of it. */
const notesOf = (part: {
  providerOptions?: Record<string, Record<string, unknown> | undefined> | undefined;
}): Fields => part.providerOptions?.['penstock'] ?? {};

/** The provider's id of a call. */
function idOf(part: { toolCallId: string; providerOptions?: object | undefined }): string {
  const { id } = notesOf(part as Parameters<typeof notesOf>[0]);
  return typeof id === 'string' ? id : part.toolCallId;
}

/** A call's arguments as the model wrote them. */
function argumentsOf(part: { input: unknown; providerOptions?: object | undefined }): string {
  const { arguments: said } = notesOf(part as Parameters<typeof notesOf>[0]);
  return typeof said === 'string' ? said : storedJson(part.input ?? {});
}

function addAssistant(result: ConventionPrompt, given: Of<'assistant'>): void {
  const { content } = given;
  const { model, message: carried } = notesOf(given);
  if (typeof model === 'string') {
    const calls = content.flatMap((part) =>
      part.type === 'tool-call' ? [fieldsOf(notesOf(part)['call'])] : [],
    );
    const message = fieldsOf(carried);
    result.carried?.set(result.messages.length, { model, message, calls });
    result.texts.push(
      ...[message, ...calls]
        .filter((said) => Object.keys(said).length > 0)
        .map((said) => JSON.stringify(said)),
    );
  }
  const text = storedText(content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''));
  const calls = content.flatMap((part) =>
    part.type === 'tool-call'
      ? [
          {
            id: idOf(part),
            type: 'function',
            function: { name: part.toolName, arguments: argumentsOf(part) },
          },
        ]
      : [],
  );
  if (calls.length === 0) return add(result, { role: 'assistant', content: text }, text);
  const names = calls.flatMap((call) => [call.function.name, call.function.arguments]);
  const message = { role: 'assistant', content: text === '' ? null : text, tool_calls: calls };
  add(result, message, text, ...names);
}

function addTool(result: ConventionPrompt, { content }: Of<'tool'>): void {
  for (const part of content) {
    if (part.type !== 'tool-result') continue;
    const { output } = part;
    const text =
      output.type === 'text' || output.type === 'error-text'
        ? storedText(output.value)
        : storedJson('value' in output ? output.value : null);
    add(result, { role: 'tool', tool_call_id: idOf(part), content: text }, text);
  }
}

/** The provider-specific parts of a model's earlier turns, under the names that a refusal would mention. */
export function carriedFields({ carried }: ConventionPrompt, model: string): Record<string, string[]> {
  const names = [...(carried?.values() ?? [])].flatMap((turn) =>
    turn.model === model ? [turn.message, ...turn.calls].flatMap((said) => Object.keys(said)) : [],
  );
  return Object.fromEntries(names.map((name) => [name, []]));
}

/** The messages for a model, whose own turns have their provider-specific parts again. */
export function messagesFor(
  { messages, carried }: ConventionPrompt,
  model: string,
  without: ReadonlySet<string>,
): Fields[] {
  const left = (said: Fields): [string, unknown][] =>
    Object.entries(said).filter(([name]) => !without.has(name));
  return messages.map((message, at) => {
    const turn = carried?.get(at);
    if (turn === undefined || turn.model !== model) return message;
    const own = { ...message, ...Object.fromEntries(left(turn.message)) };
    const calls = message['tool_calls'];
    if (!Array.isArray(calls)) return own;
    return {
      ...own,
      tool_calls: calls.map((call: Fields, index) => withCarried(call, left(turn.calls[index] ?? {}))),
    };
  });
}

function withCarried(call: Fields, carried: [string, unknown][]): Fields {
  const { function: requested, ...rest } = Object.fromEntries(carried);
  return {
    ...call,
    ...rest,
    ...(requested === undefined ? {} : { function: { ...(call['function'] as object), ...requested } }),
  };
}
