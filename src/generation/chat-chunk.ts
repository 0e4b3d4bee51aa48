import { brokenAnswer, spliceObject } from '../providers/index.js';
import { finishReason, missingHead } from './chat-answer.js';

type Fields = Record<string, unknown>;

interface Choice extends Fields {
  delta: Fields;
  finish_reason: unknown;
}

/** One parsed chunk of an upstream. */
export interface Chunk {
  raw: string;
  parsed: Fields & { choices: Choice[] };
  /** The chunk that ends the answer. */
  finishes: boolean;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws UpstreamError for what is not a chunk of the convention, an upstream's error in its stream included */
export function parseChunk(raw: string): Chunk {
  let parsed: unknown;
  try {
    parsed = JSON.parse(raw);
  } catch {
    throw brokenAnswer('a chunk of broken JSON');
  }
  if (!isFields(parsed) || parsed['error'] != null) throw brokenAnswer('an error in its stream');
  if (!Array.isArray(parsed['choices'])) throw brokenAnswer('a chunk without choices');
  const choices = parsed['choices'] as Fields[];
  let finishes = false;
  for (const choice of choices) {
    if (!isFields(choice) || (choice['delta'] != null && !isFields(choice['delta'])))
      throw brokenAnswer('a broken choice');
    finishes ||= choice['finish_reason'] != null;
  }
  return { raw, parsed: parsed as Chunk['parsed'], finishes };
}

/** The text that a chunk delivers: content, tool arguments, and reasoning where an upstream shows it. */
export function deliveredText(chunk: Chunk): string {
  let text = '';
  for (const { delta } of chunk.parsed.choices) {
    if (delta == null) continue;
    if (typeof delta['content'] === 'string') text += delta['content'];
    if (typeof delta['reasoning_content'] === 'string') text += delta['reasoning_content'];
    if (Array.isArray(delta['tool_calls'])) {
      for (const call of delta['tool_calls'] as { function?: { name?: string; arguments?: string } }[]) {
        text += `${call?.function?.name ?? ''}${call?.function?.arguments ?? ''}`;
      }
    }
  }
  return text;
}

/** What most chunks are from `"choices"` on: one delta of text. Exact JSON, so that what matches needs no parser. */
const PLAIN =
  /^"choices":\[\{"index":0,"delta":\{"content":("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")\}(?:,"logprobs":null)?,"finish_reason":null\}\](,"usage":null)?\}$/u;
/** Longer chunks are parsed: a pattern that goes over a text character by character needs room for each. */
const MAX_PLAIN = 8192;
const NO_USAGE = ',"usage":null';

/**
 * Writes an upstream's chunks as the caller gets them. Most chunks of a stream begin with the same bytes (id, object, created, model):
 * once those were spliced, the others cost one comparison, and those that only bring text are not even parsed.
 */
export class ChunkWriter {
  private readonly head: Record<string, string>;
  private upstreamPrefix = '';
  private ownPrefix = '';

  constructor(
    private readonly options: { first: Chunk; model: string; tier: string; includeUsage: boolean },
  ) {
    const model = JSON.stringify(options.model);
    this.head = { ...missingHead(options.first.parsed, 'chat.completion.chunk'), model };
  }

  /** The id of the completion. */
  get id(): string {
    return this.head['id'] === undefined
      ? String(this.options.first.parsed['id'])
      : (JSON.parse(this.head['id']) as string);
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
    const keepsUsage =
      parsed['usage'] === undefined || (this.options.includeUsage && parsed['usage'] === null);
    if (keepsUsage && this.ownPrefix !== '' && raw.startsWith(this.upstreamPrefix)) {
      return this.ownPrefix + raw.slice(this.upstreamPrefix.length);
    }
    const edits: Record<string, string | null> = { ...this.head, ...(keepsUsage ? {} : { usage: null }) };
    if (chunk === this.options.first) return spliceObject(raw, { ...edits, ...withRole(chunk) });
    const written = spliceObject(raw, edits);
    if (keepsUsage) this.learn(raw, written);
    else if (parsed['usage'] === null) this.learn(raw.replace(NO_USAGE, ''), written);
    return written;
  }

  /** The chunk with the finish reason: carries the tier, and the usage unless that comes in a chunk of its own. */
  finish(chunk: Chunk, usage: Record<string, unknown> | null, citations: string[]): string {
    const choices = chunk.parsed.choices.map((choice) =>
      choice.finish_reason == null
        ? choice
        : { ...choice, finish_reason: finishReason(choice.finish_reason) },
    );
    const same = choices.every(
      (choice, index) => choice.finish_reason === chunk.parsed.choices[index]?.finish_reason,
    );
    return spliceObject(chunk.raw, {
      ...this.head,
      ...(chunk === this.options.first ? withRole(chunk) : {}),
      ...(same ? {} : { choices: JSON.stringify(choices) }),
      ...(citations.length > 0 ? { citations: JSON.stringify(citations) } : {}),
      model_tier: JSON.stringify(this.options.tier),
      usage: usage === null ? null : JSON.stringify(usage),
    });
  }

  /** The chunk that only tells the usage (`stream_options.include_usage`). */
  usage(usage: Record<string, unknown>): string {
    const { first, model } = this.options;
    const created =
      this.head['created'] === undefined ? first.parsed['created'] : Number(this.head['created']);
    return JSON.stringify({
      id: this.id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: [],
      usage,
    });
  }

  /** A finish for an upstream that ended without one. */
  missingFinish(): Chunk {
    const { first } = this.options;
    const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }];
    const { id, object, created, model } = first.parsed;
    return parseChunk(JSON.stringify({ id, object, created, model, choices }));
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

/** The first delta carries the role, whatever the upstream does. */
function withRole(chunk: Chunk): Record<string, string> {
  const { choices } = chunk.parsed;
  if (choices.every((choice) => choice.delta?.['role'] === 'assistant')) return {};
  return {
    choices: JSON.stringify(
      choices.map((choice) => ({ ...choice, delta: { ...choice.delta, role: 'assistant' } })),
    ),
  };
}
