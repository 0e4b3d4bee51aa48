import { parseChunk, spliceObject, StreamedCalls } from '../../providers/index.js';
import type { Choice, Chunk } from '../../providers/index.js';
import { missingHead } from './answer.js';

/** The rest of most chunks, from `"choices"` on: one delta of text. It matches exact JSON only, so a match needs no parser. */
const PLAIN =
  /^"choices":\[\{"index":0,"delta":\{"content":("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")\}(?:,"logprobs":null)?,"finish_reason":null\}\](,"usage":null)?\}$/u;
/** Longer chunks are parsed: the regular expression needs stack for each character. */
const MAX_PLAIN = 8192;
const NO_USAGE = ',"usage":null';

/** The text, as JSON, of a chunk that begins like those before it and contains only text; null if the chunk must be parsed. */
export function plainText(raw: string, prefix: string): string | null {
  if (prefix === '' || raw.length > MAX_PLAIN || !raw.startsWith(prefix)) return null;
  return PLAIN.exec(raw.slice(prefix.length))?.[1] ?? null;
}

/**
 * Rewrites an upstream's chunks for the caller. Most chunks of a stream begin with the same bytes (id, object, created, model): after the first
 * one the others need only a comparison, and those that contain only text are not parsed.
 */
export class ChunkWriter {
  /** Members that all chunks of the answer share, as JSON. */
  private readonly head: Record<string, string>;
  private upstreamPrefix = '';
  private ownPrefix = '';
  /** The answer's id. */
  readonly id: string;

  constructor(
    private readonly options: { first: Chunk; model: string; tier: string; includeUsage: boolean },
  ) {
    const { parsed } = options.first;
    const { id, object, created } = parsed;
    const model = JSON.stringify(options.model);
    const own = { id: JSON.stringify(id), object: JSON.stringify(object), created: JSON.stringify(created) };
    this.head = { ...own, ...missingHead(parsed, 'chat.completion.chunk'), model };
    this.id = JSON.parse(this.head['id'] ?? '""') as string;
  }

  /** A chunk with only text: the rewritten chunk, and the text as JSON. Null if it must be parsed. */
  plain(raw: string): { written: string; text: string } | null {
    if (raw.length > MAX_PLAIN || this.ownPrefix === '' || !raw.startsWith(this.upstreamPrefix)) return null;
    const rest = raw.slice(this.upstreamPrefix.length);
    const found = PLAIN.exec(rest);
    if (found?.[1] === undefined) return null;
    const shown = found[2] === undefined || this.options.includeUsage ? rest : rest.replace(NO_USAGE, '');
    return { written: this.ownPrefix + shown, text: found[1] };
  }

  /** Rewrites a chunk. The first one gets the role. */
  middle(chunk: Chunk): string {
    const { raw, parsed } = chunk;
    const { usage } = parsed;
    if (chunk.isNormalized || chunk === this.options.first) return this.written(chunk, parsed.choices);
    const keepsUsage = this.keepsUsage(chunk);
    if (keepsUsage && this.ownPrefix !== '' && raw.startsWith(this.upstreamPrefix)) {
      return this.ownPrefix + raw.slice(this.upstreamPrefix.length);
    }
    const written = this.written(chunk, parsed.choices);
    if (keepsUsage || usage === null) this.learn(keepsUsage ? raw : raw.replace(NO_USAGE, ''), written);
    return written;
  }

  /** Rewrites a chunk with a finish reason after which more chunks came. */
  unfinished(chunk: Chunk): string {
    const choices = chunk.parsed.choices.map((choice) => ({ ...choice, finish_reason: null }));
    return this.written(chunk, choices);
  }

  /** Rewrites the chunk with the finish reason: it gets the tier, and the usage unless that has a chunk of its own. */
  finish(chunk: Chunk, usage: Record<string, unknown> | null, citations: string[]): string {
    return spliceObject(chunk.raw, {
      ...this.head,
      ...this.choicesOf(chunk, chunk.parsed.choices),
      ...(citations.length > 0 ? { citations: JSON.stringify(citations) } : {}),
      model_tier: JSON.stringify(this.options.tier),
      usage: usage === null ? null : JSON.stringify(usage),
    });
  }

  /** The chunk with only the usage (`stream_options.include_usage`). */
  usage(usage: Record<string, unknown>): string {
    return spliceObject('{}', { ...this.head, choices: '[]', usage: JSON.stringify(usage) });
  }

  /** A separate chunk with the finish reason, for an upstream that ended without one or sent more chunks after it. */
  bareFinish(reason: string): Chunk {
    const choices = [{ index: 0, delta: {}, finish_reason: reason }];
    const raw = spliceObject('{}', { ...this.head, choices: JSON.stringify(choices) });
    return parseChunk(raw, new StreamedCalls());
  }

  private written(chunk: Chunk, choices: Choice[]): string {
    const edits: Record<string, string | null> = { ...this.head, ...this.choicesOf(chunk, choices) };
    if (!this.keepsUsage(chunk)) edits['usage'] = null;
    return spliceObject(chunk.raw, edits);
  }

  /** Usage comes with the last chunk. If that is a chunk of its own, the others have `"usage": null`, as in the convention. */
  private keepsUsage({ parsed: { usage } }: Chunk): boolean {
    return usage === undefined || (this.options.includeUsage && usage === null);
  }

  /** The choices, if they must be changed. The first delta always gets the role. */
  private choicesOf(chunk: Chunk, choices: Choice[]): Record<string, string> {
    const lacksRole =
      chunk === this.options.first && !choices.every(({ delta }) => delta['role'] === 'assistant');
    if (lacksRole) return { choices: JSON.stringify(choices.map(withRole)) };
    return chunk.isNormalized || choices !== chunk.parsed.choices ? { choices: JSON.stringify(choices) } : {};
  }

  /** Remembers the bytes before `"choices"`, if only they were changed. */
  private learn(raw: string, written: string): void {
    const at = raw.indexOf('"choices"');
    const ownAt = written.indexOf('"choices"');
    if (at === -1 || ownAt === -1 || raw.slice(at) !== written.slice(ownAt)) return;
    this.upstreamPrefix = raw.slice(0, at);
    this.ownPrefix = written.slice(0, ownAt);
  }
}

function withRole(choice: Choice): Choice {
  return { ...choice, delta: { ...choice.delta, role: 'assistant' } };
}
