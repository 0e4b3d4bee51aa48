import { parseChunk, spliceObject, StreamedCalls } from '../../providers/index.js';
import type { Choice, Chunk } from '../../providers/index.js';
import { missingHead } from './answer.js';

/** What most chunks are from `"choices"` on: one delta of text. Exact JSON, so that what matches needs no parser. */
const PLAIN =
  /^"choices":\[\{"index":0,"delta":\{"content":("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")\}(?:,"logprobs":null)?,"finish_reason":null\}\](,"usage":null)?\}$/u;
/** Longer chunks are parsed: a pattern that goes over a text character by character needs room for each. */
const MAX_PLAIN = 8192;
const NO_USAGE = ',"usage":null';

/** The text of a chunk that begins like those before it and brings nothing but text, as JSON; null where it has to be parsed. */
export function plainText(raw: string, prefix: string): string | null {
  if (prefix === '' || raw.length > MAX_PLAIN || !raw.startsWith(prefix)) return null;
  return PLAIN.exec(raw.slice(prefix.length))?.[1] ?? null;
}

/**
 * Writes an upstream's chunks as the caller gets them. Most chunks of a stream begin with the same bytes (id, object, created, model):
 * once those were spliced, the others cost one comparison, and those that only bring text are not even parsed.
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

  /** A chunk that brings text and nothing else: as it is written, and the text as JSON. Null where it has to be parsed. */
  plain(raw: string): { written: string; text: string } | null {
    if (raw.length > MAX_PLAIN || this.ownPrefix === '' || !raw.startsWith(this.upstreamPrefix)) return null;
    const rest = raw.slice(this.upstreamPrefix.length);
    const found = PLAIN.exec(rest);
    if (found?.[1] === undefined) return null;
    const shown = found[2] === undefined || this.options.includeUsage ? rest : rest.replace(NO_USAGE, '');
    return { written: this.ownPrefix + shown, text: found[1] };
  }

  /** A chunk on its way through. The first one carries the role. */
  middle(chunk: Chunk): string {
    const { raw, parsed } = chunk;
    const { usage } = parsed;
    if (chunk.mended || chunk === this.options.first) return this.written(chunk, parsed.choices);
    const keepsUsage = this.keepsUsage(chunk);
    if (keepsUsage && this.ownPrefix !== '' && raw.startsWith(this.upstreamPrefix)) {
      return this.ownPrefix + raw.slice(this.upstreamPrefix.length);
    }
    const written = this.written(chunk, parsed.choices);
    if (keepsUsage || usage === null) this.learn(keepsUsage ? raw : raw.replace(NO_USAGE, ''), written);
    return written;
  }

  /** A chunk that said that it ends the answer, and after which more came. */
  unfinished(chunk: Chunk): string {
    const choices = chunk.parsed.choices.map((choice) => ({ ...choice, finish_reason: null }));
    return this.written(chunk, choices);
  }

  /** The chunk with the finish reason: carries the tier, and the usage unless that comes in a chunk of its own. */
  finish(chunk: Chunk, usage: Record<string, unknown> | null, citations: string[]): string {
    return spliceObject(chunk.raw, {
      ...this.head,
      ...this.choicesOf(chunk, chunk.parsed.choices),
      ...(citations.length > 0 ? { citations: JSON.stringify(citations) } : {}),
      model_tier: JSON.stringify(this.options.tier),
      usage: usage === null ? null : JSON.stringify(usage),
    });
  }

  /** The chunk that only tells the usage (`stream_options.include_usage`). */
  usage(usage: Record<string, unknown>): string {
    return spliceObject('{}', { ...this.head, choices: '[]', usage: JSON.stringify(usage) });
  }

  /** A finish that stands alone: for an upstream that ended without one, or said more after it. */
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

  /** The usage waits for the last chunk; where that is one of its own, the others say `null` as the convention has it. */
  private keepsUsage({ parsed: { usage } }: Chunk): boolean {
    return usage === undefined || (this.options.includeUsage && usage === null);
  }

  /** The choices, where they are others than those that came. The first delta carries the role, whatever the upstream does. */
  private choicesOf(chunk: Chunk, choices: Choice[]): Record<string, string> {
    const lacksRole =
      chunk === this.options.first && !choices.every(({ delta }) => delta['role'] === 'assistant');
    if (lacksRole) return { choices: JSON.stringify(choices.map(withRole)) };
    return chunk.mended || choices !== chunk.parsed.choices ? { choices: JSON.stringify(choices) } : {};
  }

  /** Remembers the bytes before `"choices"`, where they are all that was changed. */
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
