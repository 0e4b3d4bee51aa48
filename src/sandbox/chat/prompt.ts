import type { ChatBody } from '../../providers/providers.types.js';
import { findDirective } from '../directive/directive.js';
import type { Directive, ScriptedStep } from '../directive/directive.js';
import { splitUntrusted } from './untrusted.js';
import type { UntrustedPart } from './untrusted.js';

/** The parts of a chat prompt that the sandbox uses. */
export interface ReadPrompt {
  directive: Directive;
  /** The latest user message without its directive. */
  userText: string;
  images: number;
  /** Results of tools since the latest user message. */
  toolResults: string[];
  /** Names of the sources that a web search put into the prompt. */
  sources: string[];
  /** The memories in an agent's prompt. */
  memories: string[];
  /** Passages of knowledge files in an agent's prompt. */
  passages: UntrustedPart[];
  /** An agent's whole script (a directive's `steps`), including rounds that are done. */
  steps: ScriptedStep[] | null;
}

interface Message {
  role?: unknown;
  content?: unknown;
}

/** The text of a message's content: a string, or the convention's parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as { type?: unknown; text?: unknown }[])
    .map((part) => (part.type === 'text' && typeof part.text === 'string' ? part.text : ''))
    .join('\n');
}

function imagesIn(content: unknown): number {
  return Array.isArray(content)
    ? (content as { type?: unknown }[]).filter((part) => part.type === 'image_url').length
    : 0;
}

/** A system message without text from web searches and files, whose directives do not count. */
function ownWords(note: string): string {
  return note.startsWith(SEARCH_HEAD) ? '' : splitUntrusted(note).rest;
}

/**
 * The directive of the latest user message counts, or else one in a system message; none does once a tool's answer follows
 * (decisions 6, "Chat").
 */
function directiveOf(
  messages: Message[],
  userText: string,
  answered: boolean,
): { directive: Directive; rest: string } {
  const found = findDirective(userText);
  if (answered) return { directive: {}, rest: found.rest };
  if (found.directive) return { directive: found.directive, rest: found.rest };
  for (const message of messages) {
    if (message.role !== 'system') continue;
    const { directive } = findDirective(ownWords(textOf(message.content)));
    if (directive) return { directive, rest: userText };
  }
  return { directive: {}, rest: userText };
}

/** The heading that `src/generation` writes above results of a web search. */
const SEARCH_HEAD = 'Web search results';

/** Marks a line of web results in a prompt; `src/generation` writes it, the sandbox cites from it. */
export const SOURCE_LINE = /^\[\d+\] (.+)$/gm;

/** The headings that `src/agents` writes above memories and passages. */
const MEMORY_HEAD = 'What the user told you in earlier conversations:\n';
const KNOWLEDGE_HEAD = 'Passages from the knowledge files:\n';

function memoriesIn(note: string): string[] {
  const at = note.indexOf(MEMORY_HEAD);
  if (at === -1) return [];
  const [list = ''] = note.slice(at + MEMORY_HEAD.length).split('\n\n');
  return list.split('\n').flatMap((line) => (line.startsWith('- ') ? [line.slice(2)] : []));
}

function passagesIn(note: string): UntrustedPart[] {
  const at = note.indexOf(KNOWLEDGE_HEAD);
  return at === -1 ? [] : splitUntrusted(note.slice(at)).parts;
}

/** Reads a validated chat body. */
export function readPrompt(body: ChatBody): ReadPrompt {
  const messages = body.messages as Message[];
  const latest = messages.findLastIndex((message) => message.role === 'user');
  const user = messages[latest];
  const after = messages.slice(latest + 1).filter((message) => message.role === 'tool');
  const { directive, rest } = directiveOf(messages, textOf(user?.content), after.length > 0);
  const notes = messages
    .filter((message) => message.role === 'system')
    .map((message) => textOf(message.content));
  return {
    directive,
    userText: rest,
    images: messages.reduce((sum, message) => sum + imagesIn(message.content), 0),
    toolResults: after.map((message) => textOf(message.content)),
    sources: notes
      .filter((note) => note.startsWith(SEARCH_HEAD))
      .flatMap((note) => [...note.matchAll(SOURCE_LINE)].map((match) => match[1] ?? '')),
    memories: notes.flatMap(memoriesIn),
    passages: notes.flatMap(passagesIn),
    steps: findDirective(textOf(user?.content)).directive?.steps ?? null,
  };
}
