import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolChoice,
} from '@ai-sdk/provider';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import type { ChatCall } from '../providers.types.js';
import { withProviderMetadata } from './provider-metadata.js';
import type { ChatWays, NativeProvider } from './native-provider.types.js';

type Fields = Record<string, unknown>;
type Text = { type: 'text'; text: string };
type Picture = { type: 'image_url'; image_url: { url: string; detail?: unknown } };
type Sound = { type: 'input_audio'; input_audio: { data: string; format: string } };
type FilePart = { type: 'file'; file: { filename?: string; file_data: string } };
type Part = Text | Picture | Sound | FilePart;
type ToolCall = { id: string; function: { name: string; arguments: string } };
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content'];
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

/** Converts a chat-completions request to the AI SDK's call options. */
export function callOptionsOf(
  native: NativeProvider,
  { body, maxTokens, signal }: ChatCall,
): LanguageModelV4CallOptions {
  const stop = body['stop'];
  const defined: Fields = {
    temperature: body['temperature'],
    topP: body['top_p'],
    // 0 is the default, and some models refuse the field.
    frequencyPenalty: body['frequency_penalty'] || undefined,
    presencePenalty: body['presence_penalty'] || undefined,
    seed: body['seed'],
    reasoning: body['reasoning_effort'],
    stopSequences: stop === undefined ? undefined : Array.isArray(stop) ? stop : [stop],
    responseFormat: responseFormatOf(body['response_format'] as Fields | undefined),
    ...toolsOf(body),
  };
  const given = Object.fromEntries(Object.entries(defined).filter(([, value]) => value !== undefined));
  return {
    prompt: promptOf(body.messages as Fields[], native),
    maxOutputTokens: maxTokens,
    abortSignal: abortSignalOf(signal),
    ...given,
  };
}

const REASONING: ReadonlySet<unknown> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

/** Whether a reasoning effort is one of the AI SDK's values. */
export const isReasoning = (effort: unknown): boolean => REASONING.has(effort);

function responseFormatOf(format: Fields | undefined): LanguageModelV4CallOptions['responseFormat'] {
  if (format?.['type'] === 'json_object') return { type: 'json' };
  if (format?.['type'] !== 'json_schema') return undefined;
  const { schema, name, description } = format['json_schema'] as Fields;
  return {
    type: 'json',
    ...(schema === undefined ? {} : { schema: schema as object }),
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof description === 'string' ? { description } : {}),
  };
}

function toolsOf(body: Fields): Pick<LanguageModelV4CallOptions, 'tools' | 'toolChoice'> {
  const tools = body['tools'] as { function: Fields }[] | undefined;
  if (tools === undefined || tools.length === 0) return {};
  const choice = body['tool_choice'];
  return {
    tools: tools.map(({ function: { name, description, parameters, strict } }) => ({
      type: 'function',
      name: String(name),
      inputSchema: (parameters ?? { type: 'object', properties: {} }) as object,
      ...(typeof description === 'string' ? { description } : {}),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    })),
    ...(choice === undefined ? {} : { toolChoice: toolChoiceOf(choice) }),
  };
}

function toolChoiceOf(choice: unknown): LanguageModelV4ToolChoice {
  if (choice === 'none' || choice === 'required' || choice === 'auto') return { type: choice };
  const name = (choice as { function?: { name?: unknown } }).function?.name;
  return typeof name === 'string' ? { type: 'tool', toolName: name } : { type: 'auto' };
}

/** Messages in order; several tool answers in a row become one message. */
function promptOf(messages: Fields[], native: NativeProvider): LanguageModelV4Prompt {
  const names = new Map<string, string>();
  const prompt: LanguageModelV4Prompt = [];
  for (const message of messages) {
    for (const call of toolCallsOf(message)) names.set(call.id, call.function.name);
    const next = messageOf(message, names, native);
    const last = prompt.at(-1);
    if (next.role === 'tool' && last?.role === 'tool') last.content.push(...next.content);
    else prompt.push(next);
  }
  return prompt;
}

const toolCallsOf = (message: Fields): ToolCall[] => (message['tool_calls'] ?? []) as ToolCall[];

function messageOf(
  message: Fields,
  names: Map<string, string>,
  native: NativeProvider,
): LanguageModelV4Message {
  const { role, content } = message;
  if (role === 'system') return { role, content: textOf(saidBy(message)) };
  if (role === 'assistant')
    return { role, content: withProviderMetadata(assistantContent(message), message, native.id) };
  if (role === 'user') return { role, content: saidBy(message).map((part) => userPart(part, native.chat)) };
  const toolCallId = typeof message['tool_call_id'] === 'string' ? message['tool_call_id'] : '';
  const toolName =
    names.get(toolCallId) ?? (typeof message['name'] === 'string' ? message['name'] : toolCallId);
  const output = { type: 'text', value: textOf(partsOf(content)) } as const;
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
}

/** A message's content as parts; a refusal becomes text. */
export function partsOf(content: unknown): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return (content as (Part | { type: 'refusal'; refusal: string })[]).map((part) =>
    part.type === 'refusal' ? { type: 'text', text: part.refusal } : part,
  );
}

/** The parts of a participant's message. Native APIs have no names of participants, so a name becomes text. */
function saidBy({ content, refusal, name }: Fields): Part[] {
  const parts = partsOf(content ?? refusal);
  const [first, ...others] = parts;
  if (first === undefined || typeof name !== 'string' || name === '') return parts;
  if (first.type === 'text') return [{ type: 'text', text: `${name}: ${first.text}` }, ...others];
  return [{ type: 'text', text: `${name}:` }, ...parts];
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function userPart(part: Part, ways: ChatWays | undefined): UserContent[number] {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'input_audio') return soundPart(part.input_audio);
  return part.type === 'file' ? documentPart(part.file) : picturePart(part.image_url, ways);
}

function soundPart({ data, format }: Sound['input_audio']): UserContent[number] {
  const mediaType = `audio/${format === 'mp3' ? 'mpeg' : format}`;
  return { type: 'file', mediaType, data: { type: 'data', data } };
}

/** The file was converted to a `data:` URL when it was fetched. */
function documentPart({ filename, file_data }: FilePart['file']): UserContent[number] {
  const [, mediaType = 'application/octet-stream', data = ''] =
    /^data:([^;,]+);base64,(.*)$/s.exec(file_data) ?? [];
  return {
    type: 'file',
    mediaType,
    data: { type: 'data', data },
    ...(filename === undefined ? {} : { filename }),
  };
}

function picturePart({ url, detail }: Picture['image_url'], ways: ChatWays | undefined): UserContent[number] {
  const options = typeof detail === 'string' ? ways?.pictureOptions?.(detail) : undefined;
  const data = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  return {
    type: 'file',
    mediaType: data?.[1] ?? 'image/*',
    data: data === null ? { type: 'url', url: new URL(url) } : { type: 'data', data: data[2] as string },
    ...(options === undefined ? {} : { providerOptions: options }),
  };
}

function assistantContent(message: Fields): AssistantContent {
  const text = textOf(saidBy(message));
  const calls = toolCallsOf(message).map((call) => ({
    type: 'tool-call' as const,
    toolCallId: call.id,
    toolName: call.function.name,
    input: parsedArguments(call.function.arguments),
  }));
  return [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls];
}

/** A model's arguments may be invalid JSON; providers need an object, so the text is then wrapped in one. */
function parsedArguments(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text) as unknown;
  } catch {
    return { arguments: text };
  }
}
