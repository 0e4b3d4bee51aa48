import { brokenAnswer } from '../providers/index.js';
import type { ChatCall, ChatChunks, ChatProvider } from '../providers/index.js';
import { StreamedCalls } from './chat-calls.js';
import { parseChunk } from './chat-chunk.js';
import type { Chunk } from './chat-chunk.js';

/** A stream whose answer has begun. */
export interface OpenAnswer {
  chunks: ChatChunks;
  /** The first chunk that has choices. */
  first: Chunk;
  /** The tool calls so far: what the chunks after it are read with. */
  calls: StreamedCalls;
  /** What those before it told of the usage. */
  usage: unknown;
}

/**
 * Opens a stream and reads on to the first chunk of an answer: what fails until then can still be tried elsewhere. What upstreams say
 * before it (a filter's opinion of the prompt, signs of life) is passed over.
 * @throws UpstreamError
 */
export async function openAnswer(provider: ChatProvider, call: ChatCall): Promise<OpenAnswer> {
  const chunks = await provider.stream(call);
  try {
    let usage: unknown = null;
    const calls = new StreamedCalls();
    for (let raw = await chunks.next(); raw !== null; raw = await chunks.next()) {
      const first = parseChunk(raw, calls);
      usage = first.parsed['usage'] ?? usage;
      if (first.parsed.choices.length > 0) return { chunks, first, calls, usage };
    }
    throw brokenAnswer('no answer');
  } catch (error) {
    chunks.cancel();
    throw error;
  }
}
