/** One round of an agent's script. */
export interface ScriptedStep {
  toolCall: { name: string; arguments: Record<string, unknown> } | undefined;
  delayMs: number;
}

/**
 * Directs the sandbox, for tests of clients: `@sandbox{"tokens":200,"chunk_ms":20,"delay_ms":5000,"fail":"text","fail_after_tokens":10,
 * "tool_call":{"name":"x","arguments":{}},"steps":[{"tool_call":{…}}]}` anywhere in a prompt. Keys of another type, and broken JSON, are ordinary text.
 */
export interface Directive {
  /** Length of the answer in tokens (still cut at max_tokens). */
  tokens?: number;
  /** Pause between streamed tokens. */
  chunkMs?: number;
  /** Pause before the first token, or before the work of a generation. */
  delayMs?: number;
  /** The call fails, with this text in the operator's log. */
  fail?: string;
  /** Number of streamed tokens after which it fails. */
  failAfterTokens?: number;
  toolCall?: { name: string; arguments: Record<string, unknown> };
  /**
   * An agent's rounds, one after the other: `"steps":[{"tool_call":{…},"delay_ms":100}, …]`; one without a call, and what follows the
   * last, is the answer.
   */
  steps?: ScriptedStep[];
}

const MARK = '@sandbox{';
const MAX_TOKENS = 1_000_000;
const MAX_WAIT_MS = 3_600_000;
/** A longer text is no directive, and the number of examined marks is limited: a prompt may consist of marks only. */
const MAX_LENGTH = 64 * 1024;
const MAX_MARKS = 64;
/** Characters that are examined after all marks together. */
const MAX_LOOKED_AT = 4 * MAX_LENGTH;

/** Index after the closing brace of the JSON object that opens at `open`, or -1 where it has none nearby. */
function objectEnd(text: string, open: number): number {
  let depth = 0;
  let inString = false;
  const limit = Math.min(text.length, open + MAX_LENGTH);
  for (let at = open; at < limit; at++) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return at + 1;
  }
  return -1;
}

function whole(value: unknown, max: number): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? Math.min(Math.floor(value), max)
    : undefined;
}

function toolCallOf(value: unknown): Directive['toolCall'] {
  if (typeof value !== 'object' || value === null) return undefined;
  const { name, arguments: given } = value as Record<string, unknown>;
  if (typeof name !== 'string' || name === '') return undefined;
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  return { name, arguments: isObject ? (given as Record<string, unknown>) : {} };
}

function stepsOf(list: unknown[]): ScriptedStep[] {
  return list.map((step) => {
    const { tool_call: call, delay_ms: delay } = (step ?? {}) as { tool_call?: unknown; delay_ms?: unknown };
    return { toolCall: toolCallOf(call), delayMs: whole(delay, MAX_WAIT_MS) ?? 0 };
  });
}

function read(json: string): Directive | null {
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return null;
  }
  const directive: Directive = {};
  const tokens = whole(parsed['tokens'], MAX_TOKENS);
  const chunkMs = whole(parsed['chunk_ms'], MAX_WAIT_MS);
  const delayMs = whole(parsed['delay_ms'], MAX_WAIT_MS);
  const failAfterTokens = whole(parsed['fail_after_tokens'], MAX_TOKENS);
  const toolCall = toolCallOf(parsed['tool_call']);
  if (tokens !== undefined) directive.tokens = tokens;
  if (chunkMs !== undefined) directive.chunkMs = chunkMs;
  if (delayMs !== undefined) directive.delayMs = delayMs;
  if (failAfterTokens !== undefined) directive.failAfterTokens = failAfterTokens;
  if (typeof parsed['fail'] === 'string') directive.fail = parsed['fail'];
  if (toolCall) directive.toolCall = toolCall;
  if (Array.isArray(parsed['steps'])) directive.steps = stepsOf(parsed['steps']);
  return directive;
}

/** The first well-formed directive of a text, and the text without it. */
export function findDirective(text: string): { directive: Directive | null; rest: string } {
  let marks = 0;
  let looked = 0;
  for (
    let at = text.indexOf(MARK);
    at !== -1 && marks < MAX_MARKS && looked < MAX_LOOKED_AT;
    at = text.indexOf(MARK, at + 1)
  ) {
    marks++;
    const end = objectEnd(text, at + MARK.length - 1);
    looked += end === -1 ? Math.min(MAX_LENGTH, text.length - at) : end - at;
    if (end === -1) continue;
    const directive = read(text.slice(at + MARK.length - 1, end));
    if (directive) return { directive, rest: `${text.slice(0, at)}${text.slice(end)}`.trim() };
  }
  return { directive: null, rest: text };
}
