import type { CallContext } from '../../metering/call-context.js';
import type { MetadataSeal } from '../metadata-seal.js';
import type { ChatEngine } from '../chat/engine.js';

/** The dependencies of every message. */
export interface MessageParts {
  engine: ChatEngine;
  seal: MetadataSeal;
}

/** Generations of text in the Messages dialect (beyond 11.8). */
export interface MessageService {
  /** @returns the convention's object as JSON text. @throws ApiError in the order of decisions 1 */
  create(call: CallContext, body: Record<string, unknown>): Promise<{ text: string }>;
  /** @returns the typed events as JSON texts; a failure after the first is thrown. @throws ApiError in the order of decisions 1 */
  stream(call: CallContext, body: Record<string, unknown>): Promise<{ events: AsyncIterable<string> }>;
  /** Tokens of the input, as they would be reserved. @throws ApiError of step 5 or 6 */
  countTokens(call: CallContext, body: Record<string, unknown>): Promise<number>;
}
