import type { Model } from '../../models/models.types.js';
import {
  brokenAnswer,
  deliveredText,
  isFields,
  latestUsage,
  MergedMessage,
  parseChunk,
  findUsage,
  withPlainContent,
  withWholeCalls,
} from '../../providers/index.js';
import type { ChatAnswer, Chunk, NativeEvent } from '../../providers/index.js';
import { plainText } from '../chat/chunk.js';
import type { OpenAnswer } from '../chat/open.js';
import type { RequestedToolCall } from './calls.js';
import type { ChatOutput } from './chat-output.js';
import type { Fields } from './checks.js';
import type { OpenEvents } from './turn.js';

/** The maximum of rounds of an answer with searches. The model learns of the limit of searches long before it reaches this one. */
const MAX_ROUNDS = 7;

/** The end of a round. */
export interface RoundEnd {
  /** Its usage, with the names of chat or of the dialect. */
  reported: unknown;
  searches: readonly RequestedToolCall[];
  /** Whether the caller must run a tool. */
  hasCalls: boolean;
}

/** Whether a round's searches need another round. @param rounds so far */
export const needsAnotherRound = ({ searches, hasCalls }: RoundEnd, rounds: number): boolean =>
  searches.length > 0 && !hasCalls && rounds < MAX_ROUNDS;

/** A round of a streamed answer, from one upstream. */
export interface Round<E extends RoundEnd> {
  model: Model;
  /** Reads the next part and writes its events; false at the end. @throws UpstreamError */
  step(): Promise<boolean>;
  /** Closes all open parts. Call it once. */
  end(): E;
  /** Closes the open parts of an answer that broke off. */
  breakOff(): void;
  cancel(): void;
  /** The usage that its upstream reported so far, and the upstream's id of the answer. */
  upstreamReport(): { reported: unknown; id: unknown };
}

/** The result of a chat in one round. */
export interface ChatRoundResult {
  /** The finish reason of its upstream. */
  reason: unknown;
  /** The choice with that reason. */
  choice: Fields;
  reported: unknown;
  /** The complete message. */
  message(): Fields;
}

/** How a dialect writes a round of a chat. */
export interface ChatForm<O extends ChatOutput, E extends RoundEnd> {
  model: Model;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
  /** Whether a further round gets the message with its texts. */
  keepsTexts: boolean;
  /** The beginning of the message, if an upstream of the dialect delivered it. */
  begun?: string | undefined;
  /** @param message so far */
  output(message: () => Fields): O;
  /** Ends the round's output. */
  end(output: O, said: ChatRoundResult): E;
}

/** A round of an upstream with the chat convention. */
export class ChatRound<O extends ChatOutput, E extends RoundEnd> implements Round<E> {
  readonly model: Model;
  private readonly output: O;
  private readonly merged = new MergedMessage();
  private readonly early: Chunk[];
  private prefix = '';
  private reported: Fields | null;
  private reason: string | null = null;
  private last: Fields = {};

  constructor(
    private readonly open: OpenAnswer,
    private readonly form: ChatForm<O, E>,
  ) {
    this.model = form.model;
    this.early = [...open.first];
    this.reported = open.usage;
    this.output = form.output(() => this.merged.message());
    if (form.begun !== undefined) this.merged.take({ role: 'assistant', content: form.begun });
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
    this.form.deliver(literal);
    if (this.form.keepsTexts) this.merged.take({ content: JSON.parse(literal) });
    return true;
  };

  /** The answer may already be complete; then only its end was missing. */
  private readonly onBroken = (error: Error): boolean => {
    if (this.reason !== null) return false;
    throw error;
  };

  end(): E {
    const { reason, last: choice, reported } = this;
    return this.form.end(this.output, { reason, choice, reported, message: () => this.merged.message() });
  }

  breakOff(): void {
    this.output.end('incomplete');
  }

  cancel(): void {
    this.open.chunks.cancel();
  }

  upstreamReport() {
    return { reported: this.reported, id: this.open.id };
  }

  private closing(): boolean {
    const closing = this.reason === null ? this.open.calls.closing() : null;
    if (closing !== null) this.take(parseChunk(closing, this.open.calls));
    return false;
  }

  private take(chunk: Chunk): boolean {
    this.reported = latestUsage(this.reported, chunk.usage);
    const [choice] = chunk.parsed.choices;
    if (choice === undefined) return true;
    const text = deliveredText(chunk);
    if (text !== '') this.form.deliver(JSON.stringify(text));
    const { logprobs } = choice;
    this.merged.take(choice.delta);
    this.output.delta(choice.delta, isFields(logprobs) ? logprobs['content'] : null);
    if (choice.finish_reason != null) this.last = choice as unknown as Fields;
    this.reason = choice.finish_reason ?? this.reason;
    const at = chunk.raw.indexOf('"choices"');
    if (at !== -1) this.prefix = chunk.raw.slice(0, at);
    return true;
  }
}

/** Writes a chat's whole answer with the events of a stream. */
export function wholeChat<O extends ChatOutput, E extends RoundEnd>(
  { parsed }: ChatAnswer,
  form: Pick<ChatForm<O, E>, 'output' | 'end'>,
): E {
  const choice = isFields(parsed.choices[0]) ? parsed.choices[0] : {};
  const { message: given, logprobs, finish_reason: reason } = choice;
  const message = withWholeCalls(withPlainContent(isFields(given) ? given : {}));
  const output = form.output(() => message);
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as unknown[]) : [];
  const indexed = calls.filter(isFields).map((call, index) => ({ ...call, index }));
  output.delta({ ...message, tool_calls: indexed }, isFields(logprobs) ? logprobs['content'] : null);
  return form.end(output, { reason, choice, reported: findUsage(parsed), message: () => message });
}

/** Writes the events of an upstream with the dialect. */
export interface EventOutput {
  /** Whether the upstream has sent the end of its answer. */
  readonly hasEnded: boolean;
  /** The usage that the upstream reported so far, with the names of the dialect. */
  readonly usage: unknown;
  /** The upstream's own id of the answer, unchanged. */
  readonly id: unknown;
  /** @returns whether the upstream has ended its answer. @throws UpstreamError if it failed */
  take(event: NativeEvent): boolean;
  /** Closes the open parts of an answer that broke off. */
  breakOff?(): void;
}

/** A round of an upstream with the dialect. */
export class NativeRound<O extends EventOutput, E extends RoundEnd> implements Round<E> {
  private readonly early: NativeEvent[];
  private readonly output: O;

  constructor(
    private readonly open: OpenEvents,
    readonly model: Model,
    private readonly form: { output: O; end(output: O): E },
  ) {
    this.early = [...open.early];
    this.output = form.output;
  }

  step(): Promise<boolean> {
    const early = this.early.shift();
    if (early !== undefined) return Promise.resolve(early).then(this.onEvent);
    return this.open.events.next().then(this.onEvent, this.onBroken);
  }

  private readonly onEvent = (event: NativeEvent | null): boolean => {
    if (event !== null) return !this.output.take(event);
    if (!this.output.hasEnded) throw brokenAnswer('a stream without its end');
    return false;
  };

  /** The answer may already be complete; then only its last event was missing. */
  private readonly onBroken = (error: Error): boolean => {
    if (this.output.hasEnded) return false;
    throw error;
  };

  end(): E {
    return this.form.end(this.output);
  }

  breakOff(): void {
    this.output.breakOff?.();
  }

  cancel(): void {
    this.open.events.cancel();
  }

  upstreamReport() {
    return { reported: this.output.usage, id: this.output.id };
  }
}
