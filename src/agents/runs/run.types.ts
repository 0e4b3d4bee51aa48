import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { ToolCallMetadata, TurnMetadata } from '../model/provider-metadata.js';
import type { AgentTool } from '../tools/tool.types.js';
import type { RunRow } from './run.row.js';

/** The agent as it was when the run began, reduced to what the plan allows. */
export interface UsedAgent {
  name: string;
  systemPrompt: string;
  model: string;
  tools: string[];
  temperature: number;
  maxTokens: number;
  /** The maximum of rounds. A round is one model call with the tool calls that it asks for. */
  maxIterations: number;
  memoryEnabled: boolean;
}

/** An attachment of a run: a stored image, or a document's text. */
export type RunAttachment =
  | { type: 'image'; name: string; fileId: string; extension: string; contentType: string }
  | { type: 'document'; name: string; text: string };

/** A tool call of the current round. */
export interface PendingCall {
  id: string;
  tool: string;
  input: Record<string, unknown>;
  /** The provider's id of the call, and the provider's data in it. */
  carried?: ToolCallMetadata;
  /** Why the call is refused: the model sent invalid input. The model gets this text as the result. */
  fault?: string;
  /** Whether its `tool_call` step was written. */
  announced: boolean;
  /** The result for the model; absent until the call was made. */
  result?: { text: string; isError: boolean };
}

/** Everything that another worker needs to continue from the last stored step. */
export interface RunState {
  /** Counts the writes, so that a repeated write takes effect once. */
  writes: number;
  /** The system prompt with memories and passages, the same for the whole run. */
  system: string;
  /** The number of rounds that have begun. */
  rounds: number;
  /** The complete rounds after the user's message. */
  messages: LanguageModelV4Prompt;
  /** The current round: its answer and its calls. */
  open: { text: string; calls: PendingCall[]; carried?: TurnMetadata } | null;
}

/** A step in the form in which a worker writes it. */
export interface NewStep {
  type: 'thinking' | 'tool_call' | 'tool_result' | 'response';
  content?: string;
  tool?: string;
  input?: unknown;
  output?: unknown;
}

/** Observes what a worker does with a run, without changing it. */
export interface RunObserver {
  /**
   * Covers a run from its claim until it ends or is returned to the queue.
   * @param run with the provider of the agent's model, null if the provider no longer exists
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
