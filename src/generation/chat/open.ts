import {
  hasContent,
  brokenAnswer,
  latestUsage,
  parseChunk,
  StreamedCalls,
  UpstreamError,
} from '../../providers/index.js';
import type { ChatCall, ChatChunks, ChatProvider, Chunk } from '../../providers/index.js';

type Fields = Record<string, unknown>;

/** A stream whose answer has begun. */
export interface OpenAnswer {
  chunks: ChatChunks;
  /** The first chunk with choices, and, if that has no content, the first chunk with content. */
  first: [Chunk, ...Chunk[]];
  /** The tool calls so far; later chunks are read with them. */
  calls: StreamedCalls;
  /** The usage that the chunks so far reported. */
  usage: Fields | null;
  /** The upstream's own id of the answer, as it came. */
  id: unknown;
}

/**
 * Opens a stream and reads to the first chunk with content, or to the end: after a failure before that, the call can still be tried at another
 * upstream. Chunks before it (a role, a filter's verdict on the prompt, keep-alives) have no content.
 * @throws UpstreamError
 */
export async function openAnswer(provider: ChatProvider, call: ChatCall): Promise<OpenAnswer> {
  const chunks = await provider.stream(call);
  let usage: Fields | null = null;
  let first: Chunk | null = null;
  let id: unknown;
  try {
    const calls = StreamedCalls.of(call.body);
    for (;;) {
      const raw = (await chunks.next()) ?? calls.closing();
      if (raw === null) break;
      const chunk = parseChunk(raw, calls);
      usage = latestUsage(usage, chunk.usage);
      id ||= chunk.parsed['id'];
      if (chunk.finishes || hasContent(chunk))
        return { chunks, first: first === null ? [chunk] : [first, chunk], calls, usage, id };
      if (chunk.parsed.choices.length > 0) first ??= chunk;
    }
    throw brokenAnswer('no answer');
  } catch (error) {
    chunks.cancel();
    throw error instanceof UpstreamError ? error.withReportedUsage(usage, id) : error;
  }
}
