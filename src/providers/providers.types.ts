import type { ImageModelV4, EmbeddingModelV4 } from '@ai-sdk/provider';
import type { Readable } from 'node:stream';

/** Body of a chat request in the common chat-completions convention, validated, unknown fields kept. */
export type ChatBody = Record<string, unknown> & { messages: unknown[]; stream?: boolean };

/** Token counts as an upstream reported them (null where it did not; the caller then counts itself). */
export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
}

export interface ChatCall {
  /** The upstream's own model name. */
  modelId: string;
  body: ChatBody;
  /** Output cap to send, in the spelling that the model's entry names. */
  maxTokens: number;
  outputCap: 'max_tokens' | 'max_completion_tokens';
  signal: AbortSignal;
}

/** An upstream's whole answer: its bytes, and what was read out of them. */
export interface ChatAnswer {
  /** The convention's `chat.completion` object as UTF-8 bytes. */
  bytes: Buffer;
  usage: TokenUsage | null;
}

/** An upstream that speaks the chat-completions convention over HTTP, or acts as if (the sandbox). */
export interface ChatProvider {
  /** @throws UpstreamError */
  complete(call: ChatCall): Promise<ChatAnswer>;
  /** Server-Sent Events bytes in the convention's form; the promise resolves at the first byte. @throws UpstreamError */
  stream(call: ChatCall): Promise<Readable>;
}

/** One configured provider with what it is capable of. */
export interface Provider {
  id: string;
  chat?: ChatProvider;
  image?(modelId: string): ImageModelV4;
  embedding?(modelId: string): EmbeddingModelV4;
}

/** An upstream's fault: whether trying again (or a fallback) makes sense is decided by `retryable`. */
export class UpstreamError extends Error {
  constructor(
    message: string,
    readonly options: { status: number | null; retryable: boolean; retryAfterMs?: number; cause?: unknown },
  ) {
    super(message);
    this.name = 'UpstreamError';
  }
}
