import { ApiError } from '../../contract/errors.js';
import { CANCELLED } from '../../metering/index.js';
import type { OperationEnding } from '../../metering/index.js';
import type { TokenClasses } from '../../metering/metering.types.js';
import type { Model } from '../../models/models.types.js';
import {
  hasContent,
  deliveredText,
  finishReason,
  latestUsage,
  parseChunk,
  tokenClasses,
  UpstreamError,
} from '../../providers/index.js';
import type { ChatChunks, Chunk, StreamedCalls } from '../../providers/index.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import type { AdmittedChat } from './admission.js';
import type { ChatCaller } from './callers.js';
import { ChunkWriter } from './chunk.js';
import { answerOfFault, endingOf } from './settlement.js';
import type { StoreUncharged } from './uncharged-chat.js';
import type { ChatSettlement } from './settlement.js';
import { countDelivered } from './tokens.js';
import { interruptedClasses, chatUsage, answerTokens } from './usage.js';

/** A reader that reads nothing for this time counts as disconnected (decisions 6, "Upstreams"). */
const STALL_MS = 60_000;

export interface StreamOptions {
  chat: AdmittedChat;
  chunks: ChatChunks;
  /** The first chunk with choices, and, if that has no content, the first chunk with content. */
  first: readonly [Chunk, ...Chunk[]];
  /** The tool calls so far; later chunks are read with them. */
  calls: StreamedCalls;
  /** The usage that the chunks so far reported. */
  usage: Record<string, unknown> | null;
  /** The upstream's own id of the answer, unchanged. */
  id: unknown;
  /** The model that answers. */
  model: Model;
  caller: ChatCaller;
  /** Set if a retry may need the answer. */
  keepMade: StoreUncharged | null;
  settlement: ChatSettlement;
  tokenizer: Tokenizer;
}

const readerGone = (): ApiError => new ApiError('server_error', 'The reader has gone');

type Step = IteratorResult<string, undefined>;
const DONE: Step = { done: true, value: undefined };

/**
 * A streamed chat. It ends in exactly one of three ways, each with one settlement: finished (the last chunk follows the commit), failed at the
 * upstream, or its client disconnected. The last two are charged for the prompt and what was delivered.
 */
export class ChatStreamReader implements AsyncIterableIterator<string, undefined> {
  private readonly writer: ChunkWriter;
  /** Texts as JSON. */
  private readonly delivered: string[] = [];
  private readonly ready: string[] = [];
  /** All delivered texts, if a retry may need them. */
  private readonly written: string[] = [];
  /** Chunks that were read before the client began to read. */
  private readonly early: Chunk[];
  /** The chunk with the finish reason; it waits for the usage. */
  private held: Chunk | null = null;
  private reported: Record<string, unknown> | null;
  private finished = false;
  private isTallied = false;
  private ending: Promise<void> | null = null;
  private fault: ApiError | null = null;
  private waitingSince = performance.now();
  private readonly stall: NodeJS.Timeout;
  /** A function as listener, not `this`: Node wraps an object in a way that keeps the whole stream alive beyond minor garbage collections. */
  private readonly onAbort = (): void =>
    this.leave(
      this.options.caller.stopped ? new ApiError('server_error', 'The service is stopping') : readerGone(),
    );

  constructor(private readonly options: StreamOptions) {
    const { chat, first, model, caller } = options;
    const { includeUsage } = chat.request;
    this.writer = new ChunkWriter({ first: first[0], model: model.id, tier: chat.model.tier, includeUsage });
    this.early = [...first];
    this.reported = options.usage;
    this.stall = setInterval(() => this.checkStall(), STALL_MS / 4).unref();
    caller.addEventListener('abort', this.onAbort);
    if (caller.aborted) this.onAbort();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    this.waitingSince = Number.POSITIVE_INFINITY;
    const isUnderWay = this.early.length === 0 && this.held === null && this.fault === null && !this.finished;
    if (!isUnderWay || this.ready.length > 0) return this.step();
    return this.options.chunks.next().then(this.onRaw, this.onBroken);
  }

  /** The fast path: a text chunk arrives and is delivered without an async function in between. */
  private readonly onRaw = (raw: string | null): Step | Promise<Step> => {
    const written = raw === null ? null : this.plain(raw);
    return written === null ? this.step(raw) : this.handedOut(written);
  };

  private readonly onBroken = async (error: unknown): Promise<never> => {
    throw await this.failed(error);
  };

  /** @param raw the upstream's last chunk, if it was already read and contains more than text */
  private async step(raw?: string | null): Promise<Step> {
    return this.handedOut(this.ready.shift() ?? (await this.advance(raw)));
  }

  private handedOut(value: string | null): Step {
    this.waitingSince = performance.now();
    if (value !== null && this.options.keepMade !== null) this.written.push(value);
    return value === null ? DONE : { done: false, value };
  }

  async return(): Promise<Step> {
    if (this.options.chat.call.idempotencyKey !== null) this.finishAlone();
    else this.leave(null);
    await this.ending;
    return DONE;
  }

  /** The next chunk to deliver, or null at the end. @throws ApiError */
  private async advance(given?: string | null): Promise<string | null> {
    let raw = given;
    while (!this.finished) {
      if (raw === undefined && this.fault) return await this.afterEnding();
      let chunk: Chunk | string | null;
      try {
        chunk =
          raw === undefined ? await this.pull() : raw === null ? null : parseChunk(raw, this.options.calls);
        raw = undefined;
        if (typeof chunk === 'object' && chunk !== null) this.take(chunk);
      } catch (error) {
        if (!this.held || this.ending) throw await this.failed(error);
        // The answer was already complete; only its end was missing.
        chunk = null;
      }
      if (chunk === null) return await this.end();
      if (typeof chunk === 'string') return chunk;
      const out = this.ready.shift();
      if (out !== undefined) return out;
    }
    return null;
  }

  /** The next chunk, or null at the end. A chunk with only text is returned already rewritten. */
  private async pull(): Promise<Chunk | string | null> {
    const early = this.early.shift();
    if (early !== undefined) return early;
    const raw = await this.options.chunks.next();
    return raw === null ? null : (this.plain(raw) ?? parseChunk(raw, this.options.calls));
  }

  /** A chunk with only text, rewritten. */
  private plain(raw: string): string | null {
    const plain = this.held ? null : this.writer.plain(raw);
    if (plain === null) return null;
    if (plain.text !== '""') this.delivered.push(plain.text);
    return plain.written;
  }

  /**
   * Prepares a chunk for delivery. A chunk with a finish reason is held back: for the usage, and because some upstreams send a reason with every
   * chunk.
   */
  private take(chunk: Chunk): void {
    if (chunk.usage !== null) this.reported = latestUsage(this.reported, chunk.usage);
    if (chunk.parsed.choices.length === 0) return;
    const text = deliveredText(chunk);
    if (text !== '') this.delivered.push(JSON.stringify(text));
    if (this.held) this.takeAfterFinish(chunk, this.held);
    else if (chunk.finishes) this.held = chunk;
    else this.ready.push(this.writer.middle(chunk));
  }

  /** Delivers a held chunk after which more came, so that an early finish reason loses nothing. */
  private takeAfterFinish(chunk: Chunk, held: Chunk): void {
    if (!hasContent(chunk)) return;
    if (hasContent(held)) this.ready.push(this.writer.unfinished(held));
    if (chunk.finishes) {
      this.held = chunk;
      return;
    }
    this.ready.push(this.writer.middle(chunk));
    this.held = this.writer.bareFinish(this.reasonOf(held.parsed.choices[0]?.finish_reason));
  }

  private reasonOf(told: string | null | undefined): string {
    return finishReason(told, this.options.calls.has(0));
  }

  /** After the upstream's end: charges, then delivers the last chunks. */
  private async end(): Promise<string | null> {
    const closing = this.held ? null : this.options.calls.closing();
    if (closing !== null) this.take(parseChunk(closing, this.options.calls));
    if (!this.held && this.delivered.length === 0)
      throw await this.failed(new Error('The upstream ended without an answer'));
    const finish = this.held ?? this.writer.bareFinish(this.reasonOf('stop'));
    if (this.ending) return await this.afterEnding();
    const usage = await this.settled(finish);
    if (usage === null) return await this.afterEnding();
    this.finished = true;
    const [last, ...more] = this.lastTexts(finish, usage);
    this.ready.push(...more);
    return last;
  }

  /** The chunk with the finish reason, followed by the usage chunk if there is one. */
  private lastTexts(finish: Chunk, usage: Record<string, unknown>): [string, ...string[]] {
    const { citations, request } = this.options.chat;
    if (!request.includeUsage) return [this.writer.finish(finish, usage, citations)];
    return [this.writer.finish(finish, null, citations), this.writer.usage(usage)];
  }

  private async afterEnding(): Promise<null> {
    await this.ending;
    throw this.fault ?? new ApiError('server_error', 'Generation failed');
  }

  /** Charges the whole answer; null if the stream has ended in another way meanwhile. */
  private async settled(finish: Chunk): Promise<Record<string, unknown> | null> {
    const { chat, settlement, model, keepMade } = this.options;
    const tokens = await answerTokens(this.reported, {
      prompt: chat.promptTokens,
      completion: () => this.deliveredTokens(),
      generated: () => this.delivered.length > 0,
    });
    if (this.ending) return null;
    this.tally(tokenClasses(tokens, this.reported));
    if (keepMade !== null) {
      const texts = [...this.written, ...this.lastTexts(finish, {})];
      const { reported } = this;
      const priced = texts.length - 1;
      await keepMade(chat.operationId, { texts, priced, tokens, reported, model: chat.model.id }).catch(
        async (lost: unknown) => {
          throw await this.failed(lost, true);
        },
      );
    }
    if (this.ending) return null;
    let usage: Record<string, unknown> | null = null;
    this.ending = settlement
      .finish(chat, tokens, { messageId: this.writer.id, model: model.id, unseen: keepMade !== null })
      .then((settled) => {
        usage = chatUsage({ tokens, reported: this.reported, settlement: settled, model: chat.model });
      });
    this.release();
    await this.ending;
    return usage;
  }

  private async chargeDelivered(ending: OperationEnding): Promise<void> {
    const { chat, settlement } = this.options;
    const delivered = await this.deliveredTokens();
    this.tally(interruptedClasses(this.reported, { prompt: chat.promptTokens, delivered }));
    await settlement.charge(chat, delivered, ending);
  }

  /** Counts only once: an answer that could not be stored was already counted. */
  private tally(tokens: TokenClasses): void {
    if (this.isTallied) return;
    this.isTallied = true;
    const { chat, model, id: upstreamId } = this.options;
    chat.tally.answers({ model, tokens, upstreamId });
  }

  private async deliveredTokens(): Promise<number> {
    return await countDelivered(this.delivered, this.options.tokenizer);
  }

  /** For a failed upstream: charges what was delivered. Also used if another process has taken over the key. */
  private async failed(error: unknown, isFree = this.delivered.length === 0): Promise<ApiError> {
    if (!this.ending) {
      const { chat, model, settlement } = this.options;
      if (!isFree || error instanceof UpstreamError) settlement.logInterrupted(error, model);
      this.fault = answerOfFault(error);
      this.release();
      this.options.chunks.cancel();
      this.ending = isFree
        ? settlement.fail(chat, error).then(() => undefined)
        : this.chargeDelivered(endingOf(error));
    }
    await this.ending;
    return this.fault ?? answerOfFault(error);
  }

  /** The client disconnected: cancels the upstream's work and charges what was delivered. */
  private leave(fault: ApiError | null): void {
    if (this.ending) return;
    this.fault = fault ?? readerGone();
    this.release();
    this.ending = this.chargeDelivered(
      this.options.caller.stopped ? { status: 'failed', errorCode: this.fault.code } : CANCELLED,
    );
    // Nobody may be waiting for this promise; `next` and `return` still get its failure.
    this.ending.catch(() => undefined);
    this.options.chunks.cancel();
  }

  /** A call with an Idempotency-Key continues without its reader, is charged completely, and can be replayed. */
  private finishAlone(): void {
    const drain = async (): Promise<void> => {
      while (!(await this.next()).done);
    };
    if (!this.finished) drain().catch(() => undefined);
  }

  private checkStall(): void {
    if (this.options.chat.call.idempotencyKey !== null || performance.now() - this.waitingSince < STALL_MS)
      return;
    this.leave(new ApiError('server_error', 'The reader was too slow'));
  }

  private release(): void {
    clearInterval(this.stall);
    this.options.caller.removeEventListener('abort', this.onAbort);
    this.options.caller.leave();
  }
}
