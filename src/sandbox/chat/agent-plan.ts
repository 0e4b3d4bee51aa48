import type { ChatBody } from '../../providers/providers.types.js';
import type { RulesOfTools, ToolQuestion } from '../../providers/tool-rules.types.js';
import { questionOf } from './agent-text.js';
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
 * The tool whose rules fit the user's question and that was not called yet, or null: then the answer is due. Tools without rules (an
 * operator's) are called where the question names them.
 */
export function planCall(
  userText: string,
  { offered, done }: AgentProgress,
  { answered, rules }: { answered: boolean; rules: RulesOfTools },
): PlannedCall | null {
  const called = new Set(done.map(({ name }) => name));
  const asked = [...rules].sort(([, one], [, other]) => Number(!one.gathers) - Number(!other.gathers));
  const question = { ...questionOf(userText), answered, ...resultsOf(done, rules) };
  for (const [name, { fits, thought, input }] of asked) {
    if (!offered.includes(name) || called.has(name)) continue;
    const others = asked.filter(([other]) => other !== name && offered.includes(other));
    const claims = others.flatMap(([, other]) => other.claims ?? []);
    const whole: ToolQuestion = {
      ...question,
      claimed: {
        url: question.url !== null && claims.some(({ url }) => url?.(question.url ?? '') === true),
        text: claims.some(({ text }) => text?.(question.text) === true),
      },
    };
    if (!fits(whole)) continue;
    const given = input(whole);
    if (given !== null) return { name, arguments: given, thought };
  }
  return namedCall(userText, offered, called);
}

/** An operator's tool that the question names. */
function namedCall(userText: string, offered: string[], called: ReadonlySet<string>): PlannedCall | null {
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

const addressIn = (text: string): string | null => /https?:\/\/[^\s<>"')\]\\]+/.exec(text)?.[0] ?? null;

function resultsOf(
  done: readonly DoneCall[],
  rules: RulesOfTools,
): Pick<ToolQuestion, 'foundUrl' | 'findings'> {
  const found = done.find(({ name }) => rules.get(name)?.findsPages === true);
  return {
    foundUrl: found === undefined ? null : addressIn(found.result),
    findings: () => done.flatMap((call) => findingOf(call, rules)),
  };
}

/** What a tool found, under its heading, without the marks that a model needs. */
function findingOf({ name, result }: DoneCall, rules: RulesOfTools): string[] {
  const rule = rules.get(name);
  // Without its mark it is a fault that the tool tells of.
  if (result === '' || (rule?.gathers === true && !result.includes('<untrusted'))) return [];
  const text = result
    .slice(0, 200_000)
    .replace(/<\/?untrusted[^>]{0,400}>/g, '')
    .trim();
  const section = rule?.section === undefined ? { heading: rule?.heading ?? name, text } : rule.section(text);
  return section === null ? [] : [`## ${section.heading}\n\n${section.text}`];
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
