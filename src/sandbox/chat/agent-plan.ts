import type { ChatBody } from '../../providers/providers.types.js';
import type { RulesOfTools, ToolQuestion } from '../../providers/tool-rules.types.js';
import { questionOf } from './agent-text.js';
import { textOf } from './prompt.js';

/** The tool call that the sandbox chooses next, and its reason. */
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

/** The progress of an agent's run since the user's latest message. */
export interface AgentProgress {
  /** Names of the tools that the request offers. */
  offered: string[];
  /** In order. */
  done: DoneCall[];
  /** Rounds that ended in tool calls. */
  rounds: number;
}

/** Reads the progress of a conversation with tools. */
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

/** The offered name of a tool that a script names: `mcp:docs/read` is offered under a name that the convention allows. */
export function offeredName(name: string, offered: string[]): string {
  return offered.includes(name) ? name : (offered.find((other) => plain(other) === plain(name)) ?? name);
}

/**
 * The tool whose rules match the user's question and that was not called yet; null if the answer is next. Tools without rules (an
 * operator's) are called where the question names them.
 */
export function planCall(
  userText: string,
  { offered, done }: AgentProgress,
  { answered, rules }: { answered: boolean; rules: RulesOfTools },
): PlannedCall | null {
  const called = new Set(done.map(({ name }) => name));
  const requested = [...rules].sort(([, one], [, other]) => Number(!one.gathers) - Number(!other.gathers));
  const question = { ...questionOf(userText), answered, ...resultsOf(done, rules) };
  for (const [name, { fits, thought, input }] of requested) {
    if (!offered.includes(name) || called.has(name)) continue;
    const others = requested.filter(([other]) => other !== name && offered.includes(other));
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

/** A tool's result under its heading, without the marks of untrusted text. */
function findingOf({ name, result }: DoneCall, rules: RulesOfTools): string[] {
  const rule = rules.get(name);
  // A result without the mark is an error message of the tool.
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

/** A JSON object in the question becomes the tool's arguments. */
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
