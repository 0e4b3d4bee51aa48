import type { Model } from '../../models/models.types.js';
import {
  brokenAnswer,
  deliveredText,
  finishReason,
  isFields,
  laterUsage,
  MergedMessage,
  parseChunk,
} from '../../providers/index.js';
import type { Chunk, NativeEvent } from '../../providers/index.js';
import { carriedOf } from '../carried-seal.js';
import { plainText } from '../chat/chunk.js';
import type { OpenAnswer } from '../chat/open.js';
import type { Fields } from '../dialects/checks.js';
import type { OpenEvents } from '../dialects/turn.js';
import type { AskedCall } from '../dialects/calls.js';
import { ChatOutput } from './chat-output.js';
import type { MessageLog } from './events.js';
import { NativeOutput } from './native-output.js';
import type { Added, MessageWork } from './work.js';

/** How a round ended. */
export interface RoundEnd {
  /** `stop_reason`, `stop_sequence`, and what an upstream of the dialect says besides. */
  ending: Fields;
  /** Its usage in the words of chat or of the dialect. */
  reported: unknown;
  searches: readonly AskedCall[];
  /** Whether the caller is to run something. */
  hasCalls: boolean;
  /** What a further round is given of it. */
  added(): Added;
}

/** One upstream's part of a streamed message. */
export interface Round {
  model: Model;
  /** Reads what comes next and writes its events; false at the end. @throws UpstreamError */
  step(): Promise<boolean>;
  /** Ends what is open. Once. */
  end(): RoundEnd;
  cancel(): void;
}

export interface RoundOptions {
  work: MessageWork;
  log: MessageLog;
  model: Model;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
}

/** The output of a chat as blocks, with its seals. */
export function chatOutputOf({ work, log, model }: RoundOptions, message: () => Fields): ChatOutput {
  const { orgId } = work.turn.call.principal;
  const { seal } = work.parts;
  return new ChatOutput({
    log,
    content: work.content,
    search: work.search,
    carried: () => carriedOf(model.id, message()),
    seal: (carried) => seal.seal(orgId, carried),
  });
}

/** The output of an upstream of the dialect. */
export function nativeOutputOf({ work, log, model, deliver }: RoundOptions): NativeOutput {
  const provider = work.providerOf(model);
  const searches = provider !== null && work.prepared.tools.native(provider).searches;
  return new NativeOutput({ log, content: work.content, search: searches ? work.search : null, deliver });
}

const REASONS = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
} as const;

/** What the end of a chat means for a message. @param choice the one that told it */
export function endingOf(
  { hasCalls, hasRefused }: ChatOutput,
  { said, choice, stops }: { said: unknown; choice: Fields; stops: readonly string[] },
): Fields {
  const word = REASONS[finishReason(said, hasCalls)];
  const reason =
    hasRefused && word === 'end_turn' ? 'refusal' : word === 'tool_use' && !hasCalls ? 'end_turn' : word;
  // Some upstreams tell which of the texts it was that ended the answer.
  const found = [choice['stop_reason'], choice['matched_stop']].find((text) =>
    stops.includes(text as string),
  );
  if (reason === 'end_turn' && found !== undefined)
    return { stop_reason: 'stop_sequence', stop_sequence: found };
  return { stop_reason: reason, stop_sequence: null };
}

/** What a chat's round is given again: what it said, and all that it asked for. */
export function chatAgain(message: Fields): Added {
  const { content, tool_calls: calls } = message;
  const asked = Array.isArray(calls) ? (calls as unknown[]).filter(isFields) : [];
  const native = asked.map(({ id, function: called }) => {
    const { name, arguments: said } = called as Fields;
    return { type: 'tool_use', id, name, input: parsedOr(said) };
  });
  const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
  return {
    chat: {
      ...message,
      role: 'assistant',
      content: typeof content === 'string' && content !== '' ? content : null,
    },
    native: [...text, ...native],
  };
}

function parsedOr(said: unknown): unknown {
  try {
    return JSON.parse(said as string) as unknown;
  } catch {
    return {};
  }
}

/** What a round of the dialect is given again: its blocks, and, should a chat go on from it, its words and calls. */
function nativeAgain(blocks: readonly Fields[]): Added {
  const calls = blocks.filter(({ type }) => type === 'tool_use');
  const texts = blocks.flatMap(({ type, text }) => (type === 'text' ? [text as string] : []));
  return {
    native: [...blocks],
    chat: {
      role: 'assistant',
      content: texts.length === 0 ? null : texts.join(''),
      tool_calls: calls.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input ?? {}) },
      })),
    },
  };
}

export function nativeEnd(output: NativeOutput): RoundEnd {
  output.end();
  const { ending, usage, searches, hasCalls } = output;
  const reason = output.reason ?? (hasCalls ? 'tool_use' : 'end_turn');
  return {
    ending: { stop_sequence: null, ...ending, stop_reason: reason },
    reported: usage,
    searches,
    hasCalls,
    added: () => nativeAgain(output.raw),
  };
}

export class ChatRound implements Round {
  readonly model: Model;
  private readonly output: ChatOutput;
  private readonly merged = new MergedMessage();
  private readonly early: Chunk[];
  private prefix = '';
  private reported: Fields | null;
  private reason: string | null = null;
  private last: Fields = {};

  constructor(
    private readonly open: OpenAnswer,
    private readonly options: RoundOptions,
  ) {
    this.model = options.model;
    this.early = [...open.first];
    this.reported = open.usage;
    this.output = chatOutputOf(options, () => this.merged.message());
  }

  step(): Promise<boolean> {
    const early = this.early.shift();
    if (early !== undefined) return Promise.resolve(early).then((chunk) => this.take(chunk));
    return this.open.chunks.next().then(this.onRaw, this.onBroken);
  }

  private readonly onRaw = (raw: string | null): boolean => {
    if (raw === null) return this.closing();
    const literal = plainText(raw, this.prefix);
    if (literal === null || (literal !== '""' && !this.output.plain(literal)))
      return this.take(parseChunk(raw, this.open.calls));
    this.options.deliver(literal);
    if (this.options.work.search !== null) this.merged.take({ content: JSON.parse(literal) });
    return true;
  };

  /** The answer may have been whole already; only its end was missing then. */
  private readonly onBroken = (error: Error): boolean => {
    if (this.reason !== null) return false;
    throw error;
  };

  end(): RoundEnd {
    this.output.end();
    const { searches, hasCalls } = this.output;
    const { stops } = this.options.work.prepared.request;
    const ending = endingOf(this.output, { said: this.reason, choice: this.last, stops });
    const added = (): Added => chatAgain(this.merged.message());
    return { ending, reported: this.reported, searches, hasCalls, added };
  }

  cancel(): void {
    this.open.chunks.cancel();
  }

  private closing(): boolean {
    const closing = this.reason === null ? this.open.calls.closing() : null;
    if (closing !== null) this.take(parseChunk(closing, this.open.calls));
    return false;
  }

  private take(chunk: Chunk): boolean {
    this.reported = laterUsage(this.reported, chunk.usage);
    const [choice] = chunk.parsed.choices;
    if (choice === undefined) return true;
    const text = deliveredText(chunk);
    if (text !== '') this.options.deliver(JSON.stringify(text));
    this.merged.take(choice.delta);
    this.output.delta(choice.delta);
    if (choice.finish_reason != null) this.last = choice as unknown as Fields;
    this.reason = choice.finish_reason ?? this.reason;
    const at = chunk.raw.indexOf('"choices"');
    if (at !== -1) this.prefix = chunk.raw.slice(0, at);
    return true;
  }
}

export class NativeRound implements Round {
  readonly model: Model;
  private readonly output: NativeOutput;
  private readonly early: NativeEvent[];

  constructor(
    private readonly open: OpenEvents,
    options: RoundOptions,
  ) {
    this.model = options.model;
    this.early = [...open.early];
    this.output = nativeOutputOf(options);
  }

  step(): Promise<boolean> {
    const early = this.early.shift();
    if (early !== undefined) return Promise.resolve(early).then(this.onEvent);
    return this.open.events.next().then(this.onEvent, this.onBroken);
  }

  private readonly onEvent = (event: NativeEvent | null): boolean => {
    if (event !== null) return !this.output.take(event);
    if (this.output.reason === null) throw brokenAnswer('a stream without its end');
    return false;
  };

  /** The answer may have been whole already; only its last event was missing then. */
  private readonly onBroken = (error: Error): boolean => {
    if (this.output.reason !== null) return false;
    throw error;
  };

  end(): RoundEnd {
    return nativeEnd(this.output);
  }

  cancel(): void {
    this.open.events.cancel();
  }
}
