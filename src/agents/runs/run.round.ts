import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { ApiError } from '../../contract/errors.js';
import { parseShallow, storedJson } from '../../text/stored-json.js';
import type { Model } from '../../models/models.types.js';
import type { ModelCaller, ModelCallResult } from '../model/model-caller.js';
import type { RequestedToolCall } from '../model/model-stream.js';
import { conventionPrompt } from '../model/prompt-messages.js';
import type { AgentTool } from '../tools/tool.types.js';
import { RunFault } from './run.fault.js';
import type { RunMeter } from './run.meter.js';
import type { RunSession } from './run.session.js';
import type { NewStep, PendingCall, UsedAgent } from './run.types.js';

/** The maximum of tool calls in one round. Further calls are dropped (decisions 6 "Agents"). */
const MAX_CALLS = 8;
const NO_OBJECT = 'Invalid input: the arguments are no JSON object';
const CUT = 'Invalid input: the answer was cut off before the arguments';

export interface RoundOptions {
  model: Model;
  caller: ModelCaller;
  meter: RunMeter;
  session: RunSession;
  /** The session's earlier runs and the user's message. */
  opening: LanguageModelV4Prompt;
  signal: AbortSignal;
}

/** The model's answer in a round. */
export interface RoundAnswer extends ModelCallResult {
  /** Calls of tools that were offered. If there are none, this is the run's last answer. */
  calls: RequestedToolCall[];
  /** Notes on tools that it asked for although they were not offered. */
  notes: string[];
}

/** Asks the model what to do next. The last round offers no tools, so that a run ends with an answer. */
export async function askModel(
  { model, caller, meter, session, opening, signal }: RoundOptions,
  { maxIterations, temperature, maxTokens }: UsedAgent,
): Promise<RoundAnswer> {
  const { state, tools } = session;
  state.rounds += 1;
  const offered = tools.size > 0 && state.rounds < maxIterations;
  const result = await caller({
    model,
    prompt: conventionPrompt([{ role: 'system', content: state.system }, ...opening, ...state.messages]),
    body: { temperature, ...(offered ? { tools: [...tools.values()].map(functionOf) } : {}) },
    maxTokens,
    meter,
    signal,
    metered: true,
  });
  const requested = result.answer.calls.slice(0, MAX_CALLS);
  // If no tools were offered, none are called, whatever the model says.
  return offered
    ? { ...result, calls: requested, notes: [] }
    : { ...result, calls: [], notes: requested.map(({ name }) => noteOf(session, name)) };
}

/** A tool in the convention's form. The tool itself checks its input, so that an error is a step like any other. */
function functionOf({ name, description, inputSchema }: AgentTool): object {
  return { type: 'function', function: { name, description, parameters: inputSchema } };
}

/**
 * Writes the round's charge, its thinking and its calls before any call is made, so that another worker would know of every tool that has
 * run.
 * @throws RunFault where credits cut the answer: the call that was cut can be anything, and is not made
 */
export async function openRound({ session, meter }: RoundOptions, said: RoundAnswer): Promise<void> {
  const { answer, operation, tokens } = said;
  const operations = operation === null ? [] : [operation];
  const thought = [answer.reasoning, answer.text].filter((text) => text.trim() !== '').join('\n\n');
  if (said.cutByCredits) {
    await session.advance({ operations, tokens, steps: thinkingStep(thought) });
    const exhausted = 'Quota exceeded for credits';
    throw new RunFault(exhausted, new ApiError('quota_exceeded', exhausted));
  }
  const cut = answer.finish === 'length' || answer.finish === 'content_filter';
  const calls = said.calls.map((call, index) => pendingCall(session, call, { index, cut }));
  const unknown = calls.filter((call) => call.result !== undefined && !session.tools.has(call.tool));
  const notes = unknown.map(({ tool }) => noteOf(session, tool));
  const carried = {
    model: said.model,
    ...(answer.carried === undefined ? {} : { message: answer.carried }),
  };
  session.state.open = { text: answer.text, calls, carried };
  const thinking = [thought, ...notes].filter((text) => text !== '').join('\n');
  try {
    await session.advance({ operations, tokens, steps: thinkingStep(thinking) });
  } catch (error) {
    if (operation !== null) await meter.release(operation.id);
    throw error;
  }
}

const thinkingStep = (content: string): NewStep[] => (content === '' ? [] : [{ type: 'thinking', content }]);

/** The note on a tool that the model asks for and that it was not offered. */
function noteOf({ tools }: RunSession, tool: string): string {
  const why = tools.has(tool) ? 'the last round does not offer' : 'this agent does not have';
  return `The model asked for "${tool.slice(0, 100)}", which ${why}.`;
}

function pendingCall(
  { state, tools }: RunSession,
  requested: RequestedToolCall,
  { index, cut }: { index: number; cut: boolean },
): PendingCall {
  // Upstreams repeat ids, so a run makes its own.
  const call = {
    id: `call_${state.rounds}_${index}`,
    tool: requested.name,
    announced: false,
    carried: { id: requested.id, ...(requested.carried === undefined ? {} : { call: requested.carried }) },
  };
  if (!tools.has(requested.name))
    return { ...call, input: {}, announced: true, result: { text: 'There is no such tool', isError: true } };
  const input = inputOf(requested.arguments);
  if (input === null)
    return { ...call, input: { arguments: requested.arguments.slice(0, 2000) }, fault: NO_OBJECT };
  // Without its arguments a tool could do far more than intended, for example delete everything instead of one thing.
  if (cut && Object.keys(input).length === 0) return { ...call, input, fault: CUT };
  // Blank text is not JSON, and text that cannot be stored is not sent either.
  const isWritten = requested.arguments.trim() !== '' && storedJson(input) === JSON.stringify(input);
  return isWritten
    ? { ...call, input, carried: { ...call.carried, arguments: requested.arguments } }
    : { ...call, input };
}

/** A call's arguments. Many upstreams send nothing if a tool takes none. Null: they are not an object that can be passed on. */
function inputOf(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {};
  try {
    const input = parseShallow(text);
    const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
    return isObject && !holdsPrototype(input) ? (input as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Names that can change an object's prototype: a tool never gets them. */
function holdsPrototype(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.hasOwn(value, '__proto__')) return true;
  const maker: unknown = Object.hasOwn(value, 'constructor') ? value.constructor : null;
  if (typeof maker === 'object' && maker !== null && Object.hasOwn(maker, 'prototype')) return true;
  return Object.values(value).some(holdsPrototype);
}
