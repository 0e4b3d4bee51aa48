import {
  bringsSomething,
  brokenAnswer,
  laterUsage,
  parseChunk,
  StreamedCalls,
  toolNames,
} from '../../providers/index.js';
import type { ChatCall, ChatChunks, ChatProvider, Chunk } from '../../providers/index.js';

type Fields = Record<string, unknown>;

/** A stream whose answer has begun. */
export interface OpenAnswer {
  chunks: ChatChunks;
  /** The first chunk that has choices, and, where that said nothing, the first that brings something. */
  first: [Chunk, ...Chunk[]];
  /** The tool calls so far: what the chunks after it are read with. */
  calls: StreamedCalls;
  /** What those up to now told of the usage. */
  usage: Fields | null;
}

/**
 * Opens a stream and reads on to the first chunk that brings something of an answer, or ends it: what fails until then can still be tried
 * elsewhere. What upstreams say before it (a role, a filter's opinion of the prompt, signs of life) is none.
 * @throws UpstreamError
 */
export async function openAnswer(provider: ChatProvider, call: ChatCall): Promise<OpenAnswer> {
  const chunks = await provider.stream(call);
  try {
    let usage: Fields | null = null;
    let first: Chunk | null = null;
    const calls = new StreamedCalls(toolNames(call.body));
    for (;;) {
      const raw = (await chunks.next()) ?? calls.closing();
      if (raw === null) break;
      const chunk = parseChunk(raw, calls);
      usage = laterUsage(usage, chunk.usage);
      if (chunk.finishes || bringsSomething(chunk))
        return { chunks, first: first === null ? [chunk] : [first, chunk], calls, usage };
      if (chunk.parsed.choices.length > 0) first ??= chunk;
    }
    throw brokenAnswer('no answer');
  } catch (error) {
    chunks.cancel();
    throw error;
  }
}
