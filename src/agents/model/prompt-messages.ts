import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { storedJson, storedText } from '../../json.js';

/** A prompt in the chat-completions convention, with what it costs besides its form. */
export interface ConventionPrompt {
  messages: Record<string, unknown>[];
  /** Every text that counts as tokens. */
  texts: string[];
  images: number;
}

type Part = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type Of<Role extends LanguageModelV4Message['role']> = Extract<LanguageModelV4Message, { role: Role }>;

/** The AI SDK's prompt as an upstream of the convention takes it: tools, pages and models say what many refuse to read. */
export function conventionPrompt(prompt: LanguageModelV4Prompt): ConventionPrompt {
  const result: ConventionPrompt = { messages: [], texts: [], images: 0 };
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
  // Most upstreams know plain strings best.
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

function addAssistant(result: ConventionPrompt, { content }: Of<'assistant'>): void {
  const text = storedText(content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''));
  const calls = content.flatMap((part) =>
    part.type === 'tool-call'
      ? [
          {
            id: part.toolCallId,
            type: 'function',
            function: { name: part.toolName, arguments: storedJson(part.input ?? {}) },
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
    add(result, { role: 'tool', tool_call_id: part.toolCallId, content: text }, text);
  }
}
