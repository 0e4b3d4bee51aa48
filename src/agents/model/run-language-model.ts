import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { parseShallow, storedJson } from '../../text/stored-json.js';
import type { Model } from '../../models/models.types.js';
import { RunFault } from '../runs/run.fault.js';
import type { RunMeter } from '../runs/run.meter.js';
import type { RunSession } from '../runs/run.session.js';
import type { NewStep, PendingCall } from '../runs/run.types.js';
import type { ModelCaller, ModelCallResult } from './model-caller.js';
import type { AskedCall } from './model-stream.js';
import { conventionPrompt } from './prompt-messages.js';

/** Calls of one round; what a model asks for beyond them is dropped (decisions 6 "Agents"). */
const MAX_CALLS = 8;
const NO_OBJECT = 'Invalid input: the arguments are no JSON object';
const CUT = 'Invalid input: the answer was cut off before the arguments';

export interface RunLanguageModelOptions {
  model: Model;
  session: RunSession;
  meter: RunMeter;
  caller: ModelCaller;
  signal: AbortSignal;
  /** A turn of the event loop of its own. */
  turn(): Promise<void>;
  /** The answer without tool calls: the run's end. */
  onFinal(answer: FinalAnswer): void;
}

/** The model's last answer. */
export interface FinalAnswer extends ModelCallResult {
  /** What is said of tools that it asked for though none were on offer. */
  notes: string[];
}

type Parts = AsyncGenerator<LanguageModelV4StreamPart>;

/**
 * The run's model, as the AI SDK's loop sees it. A round's charge, its thinking and its calls are written before the loop gets them, so
 * that a tool runs only when another worker would know of it.
 */
export function createRunLanguageModel(options: RunLanguageModelOptions): LanguageModelV4 {
  const open = (call: LanguageModelV4CallOptions): ReadableStream<LanguageModelV4StreamPart> =>
    ReadableStream.from(guarded(options, call));
  return {
    specificationVersion: 'v4',
    provider: 'penstock',
    modelId: options.model.id,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('runs are streamed')),
    doStream: (call) => Promise.resolve({ stream: open(call) }),
  };
}

/** A fault ends the run, not only the round. */
async function* guarded(options: RunLanguageModelOptions, call: LanguageModelV4CallOptions): Parts {
  try {
    yield* round(options, call);
  } catch (error) {
    options.session.stop(error);
    throw error;
  }
}

async function* round(options: RunLanguageModelOptions, call: LanguageModelV4CallOptions): Parts {
  const { session } = options;
  await options.turn();
  yield { type: 'stream-start', warnings: [] };
  session.state.rounds += 1;
  const tools = toolsOf(call);
  const result = await options.caller({
    model: options.model,
    prompt: conventionPrompt(call.prompt),
    body: { temperature: call.temperature, ...(tools === null ? {} : { tools }) },
    maxTokens: call.maxOutputTokens ?? 4000,
    meter: options.meter,
    signal: options.signal,
    metered: true,
  });
  const { answer } = result;
  const calls = answer.calls.slice(0, MAX_CALLS);
  // Without tools on offer there are none to call, whatever the model says.
  const asked = tools === null ? [] : calls;
  if (answer.text !== '') {
    yield { type: 'text-start', id: 'text' };
    yield { type: 'text-delta', id: 'text', delta: answer.text };
    yield { type: 'text-end', id: 'text' };
  }
  if (asked.length === 0)
    options.onFinal({ ...result, notes: calls.map(({ name }) => noteOf(session, name)) });
  else yield* toolCalls(options, result, asked);
  yield finishOf(result, asked.length > 0);
}

async function* toolCalls(
  { session, meter }: RunLanguageModelOptions,
  result: ModelCallResult,
  asked: AskedCall[],
): Parts {
  const { answer, operation, tokens } = result;
  const operations = operation === null ? [] : [operation];
  const thought = [answer.reasoning, answer.text].filter((text) => text.trim() !== '').join('\n\n');
  if (result.cutByCredits) {
    // The call that was cut can be anything: it is not made.
    const steps: NewStep[] = thought === '' ? [] : [{ type: 'thinking', content: thought }];
    await session.advance({ operations, tokens, steps });
    throw new RunFault('Quota exceeded for credits');
  }
  const cut = answer.finish === 'length' || answer.finish === 'content_filter';
  const calls = asked.map((call, index) => pendingCall(session, call, { index, cut }));
  const unknown = calls.filter((call) => call.result !== undefined && !session.tools.has(call.tool));
  const notes = unknown.map(({ tool }) => noteOf(session, tool));
  const thinking = [thought, ...notes].filter((text) => text !== '').join('\n');
  const carried = {
    model: result.model,
    ...(answer.carried === undefined ? {} : { message: answer.carried }),
  };
  session.state.open = { text: answer.text, calls, carried };
  try {
    await session.advance({
      operations,
      tokens,
      steps: thinking === '' ? [] : [{ type: 'thinking', content: thinking }],
    });
  } catch (error) {
    if (operation !== null) await meter.release(operation.id);
    throw error;
  }
  for (const { id, tool, input } of calls)
    yield { type: 'tool-call', toolCallId: id, toolName: tool, input: JSON.stringify(input) };
}

/** What is said of a tool that the model asks for and does not get. */
function noteOf({ tools }: RunSession, tool: string): string {
  const why = tools.has(tool) ? 'the last round does not offer' : 'this agent does not have';
  return `The model asked for "${tool.slice(0, 100)}", which ${why}.`;
}

function pendingCall(
  { state, tools }: RunSession,
  asked: AskedCall,
  { index, cut }: { index: number; cut: boolean },
): PendingCall {
  // Upstreams repeat ids; a run needs its own.
  const call = {
    id: `call_${state.rounds}_${index}`,
    tool: asked.name,
    announced: false,
    carried: { id: asked.id, ...(asked.carried === undefined ? {} : { call: asked.carried }) },
  };
  if (!tools.has(asked.name))
    return { ...call, input: {}, announced: true, result: { text: 'There is no such tool', isError: true } };
  const input = inputOf(asked.arguments);
  if (input === null)
    return { ...call, input: { arguments: asked.arguments.slice(0, 2000) }, fault: NO_OBJECT };
  // Without its arguments it could do far more than it was to do: delete all, where one was meant.
  if (cut && Object.keys(input).length === 0) return { ...call, input, fault: CUT };
  // Blank text is no JSON, and what cannot be stored is not sent either.
  const isWritten = asked.arguments.trim() !== '' && storedJson(input) === JSON.stringify(input);
  return isWritten
    ? { ...call, input, carried: { ...call.carried, arguments: asked.arguments } }
    : { ...call, input };
}

/** A call's arguments, for which many upstreams send nothing where a tool takes none; null: they are no object that can be passed on. */
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

/** What the AI SDK takes for no JSON, since it can change what objects are: its refusal would leave no step. */
function holdsPrototype(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.hasOwn(value, '__proto__')) return true;
  const maker: unknown = Object.hasOwn(value, 'constructor') ? value.constructor : null;
  if (typeof maker === 'object' && maker !== null && Object.hasOwn(maker, 'prototype')) return true;
  return Object.values(value).some(holdsPrototype);
}

function toolsOf({ tools, toolChoice }: LanguageModelV4CallOptions): object[] | null {
  if (tools === undefined || tools.length === 0 || toolChoice?.type === 'none') return null;
  return tools.flatMap((tool) =>
    tool.type === 'function'
      ? [
          {
            type: 'function',
            function: { name: tool.name, description: tool.description, parameters: tool.inputSchema },
          },
        ]
      : [],
  );
}

function finishOf({ answer, tokens }: ModelCallResult, calls: boolean): LanguageModelV4StreamPart {
  const count = { total: tokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  return {
    type: 'finish',
    finishReason: {
      unified: calls ? 'tool-calls' : answer.finish === 'length' ? 'length' : 'stop',
      raw: answer.finish,
    },
    usage: { inputTokens: count, outputTokens: { total: 0, text: undefined, reasoning: undefined } },
  };
}
