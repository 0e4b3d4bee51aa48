import { createHash } from 'node:crypto';
import { ApiError } from '../../contract/errors.js';
import type { ChatCall } from '../../providers/providers.types.js';
import type { RulesOfTools } from '../../providers/tool-rules.types.js';
import { offeredName, planCall, readProgress } from './agent-plan.js';
import type { AgentProgress, DoneCall, PlannedCall } from './agent-plan.js';
import { factsOf, pointsIn } from '../../text/numbers-in-text.js';
import type { Directive } from '../directive/directive.js';
import { cut, piecesOf, prose } from './prose.js';
import type { Piece } from './prose.js';
import { readPrompt } from './prompt.js';
import type { ReadPrompt } from './prompt.js';
import { createRandom, seedOf } from '../random.js';
import type { Random } from '../random.js';
import { sampleOfSchema, SchemaTooLargeError } from './schema-sample.js';
import type { Tokenizer } from '../../text/tokenizer.js';

/** The sandbox's answer to one call, computed before the first token: the same for the same input and seed. */
export interface SandboxAnswer {
  prompt: ReadPrompt;
  pieces: Piece[];
  finish: 'stop' | 'length' | 'tool_calls';
  /** Set if `pieces` are the arguments of a tool call instead of text. */
  tool: { id: string; name: string; thought: string } | null;
  completionTokens: number;
  /** Pause before the first token. */
  delayMs: number;
}

/** What the answer depends on besides the call. */
interface Known {
  /** Descriptions of the latest message's pictures. */
  seen: readonly string[];
  /** How it uses an agent's tools. */
  rules: RulesOfTools;
}

interface Tool {
  function?: { name?: unknown; parameters?: unknown };
}

const EXCERPT = 200;
/** Characters that are quoted of a tool's result: enough for the address of a file. */
const LONG_EXCERPT = 500;
/** Characters of a text that are examined before it is quoted. */
const MAX_QUOTED = 20_000;
/** The maximum of characters that a token has on average: text beyond the token limit times this is cut without counting. */
const CHARACTERS_PER_TOKEN = 64;
/** Tokens of a tool call besides its arguments: the name and the frame around it. */
const TOOL_CALL_FRAME = 4;

/** The sandbox's notice, which is removed if one answer quotes another. */
const NOTICE = /This is the Penstock sandbox \([^)]{0,200}\); no language model was asked\. ?/g;
/** The mark of untrusted text in a prompt; answers show a shorter one. */
const MARK = /<untrusted source="([^"]*)">/g;
const MARK_END = /<\/untrusted>/g;

function excerpt(text: string, length = EXCERPT): string {
  const line = text
    .slice(0, MAX_QUOTED)
    .replace(NOTICE, '')
    .replace(MARK, '[untrusted: $1] ')
    .replace(MARK_END, '')
    .replace(/\s+/g, ' ')
    .trim();
  const points = [...line.slice(0, length * 2)];
  return points.length > length ? `${points.slice(0, length).join('')}…` : points.join('');
}

/** The sentence about a tool whose result is an address; other results are quoted. */
function madePart({ name, result }: DoneCall, rules: RulesOfTools): string | null {
  const url = /https?:\/\/\S+/.exec(result)?.[0];
  const made = rules.get(name)?.made;
  return made === undefined || url === undefined ? null : `${made} ${url}`;
}

/** The results of the tools, with the names of an agent's tools. */
function toolParts(prompt: ReadPrompt, { done }: AgentProgress, rules: RulesOfTools): string[] {
  const known = done.filter(({ name }) => name !== 'tool');
  const made = known.map((call) => madePart(call, rules));
  if (known.length > 0 && made.every((part) => part !== null)) return made;
  if (known.length === 0 || known.length < prompt.toolResults.length)
    return prompt.toolResults.length === 0
      ? []
      : [`The tool answered: "${excerpt(prompt.toolResults.join(' '))}".`];
  const [only] = known;
  if (known.length === 1 && only) return [`The tool answered: "${excerpt(only.result, LONG_EXCERPT)}".`];
  return known.map(
    (call, at) => made[at] ?? `The tool ${call.name} answered: "${excerpt(call.result, LONG_EXCERPT)}".`,
  );
}

function openingOf(
  modelId: string,
  { prompt, progress, seen, rules }: Known & { prompt: ReadPrompt; progress: AgentProgress },
): string {
  const parts = [`This is the Penstock sandbox (${modelId}); no language model was asked.`];
  if (prompt.images > 0) parts.push(`I see ${prompt.images} image${prompt.images === 1 ? '' : 's'}.`);
  parts.push(...seen);
  for (const { source, text } of prompt.passages)
    parts.push(`Your files say [${source}]: "${excerpt(text)}".`);
  for (const memory of prompt.memories) parts.push(`I remember that you told me: "${excerpt(memory)}".`);
  parts.push(...toolParts(prompt, progress, rules));
  prompt.sources.forEach((source, index) => parts.push(`According to "${excerpt(source)}" [${index + 1}].`));
  const points = progress.offered.length > 0 || progress.done.length > 0 ? pointsIn(prompt.userText) : [];
  if (points.length >= 3) parts.push(factsOf(points));
  if (prompt.userText !== '') parts.push(`You wrote: "${excerpt(prompt.userText)}".`);
  return parts.join(' ');
}

/** The call of the directive if the request offers its tool, or offers no tools at all and can return a call. */
function scriptedTool(call: ChatCall, prompt: ReadPrompt, { offered }: AgentProgress): Directive['toolCall'] {
  const scripted = prompt.directive.toolCall;
  if (scripted === undefined) return undefined;
  const rehearses = offered.length === 0 && call.offeredOnly !== true;
  return rehearses || offered.includes(offeredName(scripted.name, offered)) ? scripted : undefined;
}

/** @throws ApiError invalid_request for a schema that would block the event loop */
function sampleFor(param: string, schema: unknown, random: Random): unknown {
  try {
    return sampleOfSchema(schema ?? { type: 'object' }, random);
  } catch (error) {
    if (!(error instanceof SchemaTooLargeError)) throw error;
    throw new ApiError('invalid_request', `${param} holds a schema that is too large for the sandbox`, {
      param,
      cause: error,
    });
  }
}

/** The tool that must be called: the directive's, or the one that tool_choice demands. */
function demandedTool(
  call: ChatCall,
  { prompt, progress, random }: { prompt: ReadPrompt; progress: AgentProgress; random: Random },
): { name: string; arguments: unknown } | null {
  const choice = call.body['tool_choice'];
  if (choice === 'none') return null;
  const named = (choice as { function?: { name?: unknown } } | null | undefined)?.function?.name;
  const scripted = scriptedTool(call, prompt, progress);
  if (scripted && (named === undefined || named === scripted.name)) return scripted;
  const tools = Array.isArray(call.body['tools']) ? (call.body['tools'] as Tool[]) : [];
  if (
    (choice !== 'required' && named === undefined) ||
    (prompt.toolResults.length > 0 && named === undefined)
  )
    return null;
  const tool = tools.find((item) => named === undefined || item.function?.name === named)?.function;
  if (typeof tool?.name !== 'string') return null;
  return { name: tool.name, arguments: sampleFor('tools', tool.parameters, random) };
}

/** The agent's next call: from the directive's script, else a tool that matches the question (only offered tools). */
function plannedTool(
  call: ChatCall,
  { prompt, progress, rules }: { prompt: ReadPrompt; progress: AgentProgress; rules: RulesOfTools },
): PlannedCall | null {
  if (progress.offered.length === 0 || call.body['tool_choice'] === 'none') return null;
  if (call.body['response_format'] != null && prompt.toolResults.length === 0) return null;
  const answered = prompt.passages.length > 0 || prompt.memories.length > 0;
  if (prompt.steps === null) return planCall(prompt.userText, progress, { answered, rules });
  const scripted = prompt.steps[progress.rounds]?.toolCall;
  return scripted === undefined
    ? null
    : { ...scripted, thought: `Step ${progress.rounds + 1} of the script.` };
}

/** The JSON that response_format asks for, or null for plain text. */
function demandedJson(call: ChatCall, prompt: ReadPrompt, random: Random): string | null {
  const format = call.body['response_format'] as
    | { type?: unknown; json_schema?: { schema?: unknown } }
    | null
    | undefined;
  if (format?.type === 'json_object') {
    return JSON.stringify({
      sandbox: true,
      message: `This is the Penstock sandbox (${call.modelId}); no language model was asked.`,
      prompt: excerpt(prompt.userText),
    });
  }
  if (format?.type !== 'json_schema') return null;
  return JSON.stringify(sampleFor('response_format', format.json_schema?.schema, random));
}

function stopsOf(body: ChatCall['body']): string[] {
  const { stop } = body as { stop?: unknown };
  const list = Array.isArray(stop) ? (stop as unknown[]) : [stop];
  return list.filter((item): item is string => typeof item === 'string' && item !== '');
}

const sum = (pieces: Piece[]): number => pieces.reduce((total, piece) => total + piece.tokens, 0);

async function toolAnswer(options: {
  call: ChatCall;
  prompt: ReadPrompt;
  tokenizer: Tokenizer;
  seed: string;
  tool: { name: string; arguments: unknown; thought?: string };
}): Promise<Omit<SandboxAnswer, 'delayMs'>> {
  const { call, prompt, tokenizer, tool } = options;
  const { thought = '' } = tool;
  const frame =
    tokenizer.count(tool.name) + TOOL_CALL_FRAME + (thought === '' ? 0 : tokenizer.count(thought));
  const made = await cut(
    piecesOf(JSON.stringify(tool.arguments).slice(0, call.maxTokens * CHARACTERS_PER_TOKEN), tokenizer),
    Math.max(call.maxTokens - frame, 0),
    [],
  );
  const id = `scripted${createHash('sha256').update(options.seed).digest('hex').slice(0, 24)}`;
  return {
    prompt,
    pieces: made.pieces,
    finish: made.finish === 'length' ? 'length' : 'tool_calls',
    tool: { id, name: tool.name, thought },
    completionTokens: Math.min(frame + sum(made.pieces), call.maxTokens),
  };
}

/** Computes the whole answer to a call. The tokenizer must be loaded. */
export async function answerTo(
  call: ChatCall,
  { tokenizer, seen, rules }: Known & { tokenizer: Tokenizer },
): Promise<SandboxAnswer> {
  const seed = await seedOf([call.modelId, call.body.messages, call.body['seed'] ?? 0]);
  const prompt = readPrompt(call.body);
  const random = createRandom(seed);
  const progress = readProgress(call.body);
  const delayMs = prompt.steps?.[progress.rounds]?.delayMs ?? prompt.directive.delayMs ?? 0;
  const tool =
    demandedTool(call, { prompt, progress, random }) ?? plannedTool(call, { prompt, progress, rules });
  if (tool !== null) {
    const named = { ...tool, name: offeredName(tool.name, progress.offered) };
    return { ...(await toolAnswer({ call, prompt, tokenizer, seed, tool: named })), delayMs };
  }
  const json = demandedJson(call, prompt, random);
  const pieces =
    json === null
      ? prose({
          opening: openingOf(call.modelId, { prompt, progress, seen, rules }),
          tokens: prompt.directive.tokens,
          // Results of tools and descriptions of pictures need no filler text.
          sentences: progress.done.length > 0 || seen.length > 0 ? 0 : null,
          tokenizer,
          random,
        })
      : piecesOf(json.slice(0, call.maxTokens * CHARACTERS_PER_TOKEN), tokenizer);
  const made = await cut(pieces, call.maxTokens, stopsOf(call.body));
  return {
    prompt,
    pieces: made.pieces,
    finish: made.finish,
    tool: null,
    completionTokens: sum(made.pieces),
    delayMs,
  };
}
