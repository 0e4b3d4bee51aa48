import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { CarriedCall, CarriedTurn } from '../model/carried.js';
import type { AgentTool } from '../tools/tool.types.js';
import type { RunRow } from './run.row.js';

/** The agent as a run uses it: as it was at the start, cut to what the plan allows. */
export interface UsedAgent {
  name: string;
  systemPrompt: string;
  model: string;
  tools: string[];
  temperature: number;
  maxTokens: number;
  /** Rounds: one model call with the tools that it asks for. */
  maxIterations: number;
  memoryEnabled: boolean;
}

/** What was given with a run: an image that was stored, or a document's text. */
export type RunAttachment =
  | { type: 'image'; name: string; fileId: string; extension: string; contentType: string }
  | { type: 'document'; name: string; text: string };

/** A tool call that the model made in the round that is under way. */
export interface PendingCall {
  id: string;
  tool: string;
  input: Record<string, unknown>;
  /** Its id at its maker, and what it carries for that. */
  carried?: CarriedCall;
  /** Why it is not made: what the model sent is no input. The model is told so. */
  fault?: string;
  /** Its `tool_call` step was written. */
  announced: boolean;
  /** What the model is told; absent while it is still to be done. */
  result?: { text: string; isError: boolean };
}

/** All that another worker needs to go on from the last boundary. */
export interface RunState {
  /** Counts the writes, so that one that is repeated happens once. */
  writes: number;
  /** The system prompt with what was recalled and found: the same for the whole run. */
  system: string;
  /** Rounds that were begun. */
  rounds: number;
  /** What was said after the user's message: whole rounds. */
  messages: LanguageModelV4Prompt;
  /** The round under way: its answer and its calls. */
  open: { text: string; calls: PendingCall[]; carried?: CarriedTurn } | null;
}

/** A step as a worker writes it. */
export interface NewStep {
  type: 'thinking' | 'tool_call' | 'tool_result' | 'response';
  content?: string;
  tool?: string;
  input?: unknown;
  output?: unknown;
}

/** Stands around what a worker does with a run; it changes nothing. */
export interface RunObserver {
  /**
   * From a run's claim to its end or hand-over.
   * @param run with the provider of the agent's model, null where there is none any more
   * @param work answers what the run failed with (an error's code or name), or null
   */
  run(run: RunRow & { provider: string | null }, work: () => Promise<string | null>): Promise<void>;
  /** One tool call. */
  tool<T>(call: { tool: AgentTool; callId: string }, work: () => Promise<T>): Promise<T>;
}

export const UNOBSERVED: RunObserver = {
  async run(_run, work) {
    await work();
  },
  tool: (_call, work) => work(),
};
