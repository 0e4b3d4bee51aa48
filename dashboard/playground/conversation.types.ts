import type { Fault } from '../data/fault.js';

/** A call of a function that the model requests. */
export interface ToolCall {
  id: string;
  name: string;
  /** JSON. While the answer is streaming, only the part that has arrived. */
  arguments: string;
}

/** One turn of a conversation. */
export interface Turn {
  role: 'user' | 'assistant' | 'tool';
  content: string;
  /** `data:` URLs. */
  images?: string[];
  reasoning?: string;
  toolCalls?: ToolCall[];
  /** In a turn of a tool: the id of the call that it answers. */
  toolCallId?: string;
  model?: string;
  /** Tokens and cost, as text. */
  cost?: string;
  /** The id of a stored response, which the next turn continues. */
  responseId?: string;
  /** The reason why the answer ended early. */
  note?: string;
  fault?: Fault;
}

/** The settings of an answer. */
export interface ChatSettings {
  model: string;
  system: string;
  temperature: string;
  maxTokens: string;
  effort: string;
  webSearch: boolean;
  /** JSON: an array of tools. */
  tools: string;
}

/** Receives the parts of an answer as they arrive. */
export interface Growing {
  change(how: (answer: Turn) => Turn): void;
  fail(fault: Fault): void;
  done(): void;
}
