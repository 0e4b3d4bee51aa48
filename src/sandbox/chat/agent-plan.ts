import type { ChatBody } from '../../providers/providers.types.js';
import { questionOf } from './agent-text.js';
import { REQUESTED_TOOLS } from './agent-tool-requests.js';
import { textOf } from './prompt.js';

/** What the sandbox wants to do next, and why. */
export interface PlannedCall {
  name: string;
  arguments: Record<string, unknown>;
  thought: string;
}

interface Message {
  role?: unknown;
  content?: unknown;
  tool_calls?: { id?: string; function?: { name?: string } }[];
  tool_call_id?: unknown;
}

/** A tool call with its result. */
export interface DoneCall {
  name: string;
  result: string;
}

/** What an agent's run has come to since the user's latest message. */
export interface AgentProgress {
  /** Names of the tools on offer. */
  offered: string[];
  /** In order. */
  done: DoneCall[];
  /** Rounds that ended in tool calls. */
  rounds: number;
}

/** Reads how far a conversation with tools has come. */
export function readProgress(body: ChatBody): AgentProgress {
  const messages = body.messages as Message[];
  const after = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const rounds = after.filter(({ tool_calls: calls }) => Array.isArray(calls) && calls.length > 0);
  const names = new Map(
    rounds.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => [call.id, call.function?.name ?? ''])),
  );
  const results = after.filter(({ role }) => role === 'tool');
  const tools = Array.isArray(body['tools']) ? (body['tools'] as { function?: { name?: unknown } }[]) : [];
  return {
    offered: tools.flatMap(({ function: tool }) => (typeof tool?.name === 'string' ? [tool.name] : [])),
    done: results.map((result) => ({
      name: names.get(result.tool_call_id as string) ?? 'tool',
      result: textOf(result.content),
    })),
    rounds: rounds.length,
  };
}

const plain = (name: string): string => name.replace(/[^A-Za-z0-9]+/g, '_').toLowerCase();

/** The name under which a tool of a script is on offer: a model knows `mcp:docs/read` by one that the convention allows. */
export function offeredName(name: string, offered: string[]): string {
  return offered.includes(name) ? name : (offered.find((other) => plain(other) === plain(name)) ?? name);
}

/**
 * The tool that fits the user's question and was not called yet, or null: then the answer is due. Tools with other names (an operator's)
 * are called where the question names them.
 */
export function planCall(
  userText: string,
  { offered, done }: AgentProgress,
  { answered }: { answered: boolean },
): PlannedCall | null {
  const called = new Set(done.map(({ name }) => name));
  const question = questionOf(userText);
  for (const { tool, fits, thought, input } of REQUESTED_TOOLS) {
    if (!offered.includes(tool) || called.has(tool)) continue;
    const asked = { ...question, offered, done, answered };
    if (!fits(asked)) continue;
    const given = input(asked);
    if (given !== null) return { name: tool, arguments: given, thought };
  }
  const named = offered.find(
    (name) => name.startsWith('mcp__') && !called.has(name) && mentions(userText, name),
  );
  if (named === undefined) return null;
  return {
    name: named,
    arguments: argumentsIn(userText),
    thought: `The question names ${named}: I call it.`,
  };
}

function mentions(text: string, name: string): boolean {
  const own = name.slice(name.lastIndexOf('__') + 2);
  return own !== '' && text.toLowerCase().includes(own.toLowerCase());
}

/** A JSON object in the question is what the tool gets. */
function argumentsIn(text: string): Record<string, unknown> {
  const open = text.indexOf('{');
  const close = text.lastIndexOf('}');
  if (open === -1 || close < open) return {};
  try {
    return JSON.parse(text.slice(open, close + 1)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
