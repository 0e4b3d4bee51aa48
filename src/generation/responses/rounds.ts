import type { Model } from '../../models/models.types.js';
import {
  brokenAnswer,
  deliveredText,
  isFields,
  laterUsage,
  MergedMessage,
  parseChunk,
} from '../../providers/index.js';
import type { Chunk, NativeEvent } from '../../providers/index.js';
import { carriedOf } from '../carried-seal.js';
import { plainText } from '../chat/chunk.js';
import type { OpenAnswer } from '../chat/open.js';
import type { OpenEvents } from '../dialects/turn.js';
import { ChatOutput } from './chat-output.js';
import type { AskedCall } from '../dialects/calls.js';
import type { Fields } from '../dialects/checks.js';
import type { EventLog } from './events.js';
import { NativeOutput } from './native-output.js';
import type { Ended } from './object.js';
import { itemId } from './request.js';
import type { ResponseWork } from './work.js';

/** How a round ended. */
export interface RoundEnd {
  ended: Ended;
  /** Its usage in the words of chat or of the dialect. */
  reported: unknown;
  searches: readonly AskedCall[];
  /** Whether the caller is to run something. */
  hasCalls: boolean;
  /** What a further round is given of it. */
  items: Fields[];
  /** The upstream's own object, where it speaks the dialect. */
  final: Fields | null;
}

/** One upstream's part of a streamed response. */
export interface Round {
  model: Model;
  /** Reads what comes next and writes its events; false at the end. @throws UpstreamError */
  step(): Promise<boolean>;
  /** Ends what is open. Once. */
  end(): RoundEnd;
  /** Closes what is open of an answer that broke off. */
  breakOff(): void;
  cancel(): void;
}

export interface RoundOptions {
  work: ResponseWork;
  log: EventLog;
  model: Model;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
}

/** The output of a chat as items, with its seals. */
export function chatOutputOf({ work, log, model }: RoundOptions, message: () => Fields): ChatOutput {
  const { orgId } = work.turn.call.principal;
  const { seal } = work.parts;
  return new ChatOutput({
    log,
    items: work.items,
    custom: work.prepared.tools.custom,
    search: work.search,
    carried: () => carriedOf(model.id, message()),
    seal: (carried) => seal.seal(orgId, carried),
  });
}

/** What the reason of a chat's end means for a response. */
export function endedOf(reason: string | null): Ended {
  if (reason === 'length') return { status: 'incomplete', reason: 'max_output_tokens' };
  return reason === 'content_filter' ? { status: 'incomplete', reason } : { status: 'completed' };
}

/** A call of our own search as an item, which its caller is not shown. */
const searchItem = ({ id, name, arguments: said }: AskedCall): Fields => ({
  id: itemId('function_call'),
  type: 'function_call',
  call_id: id,
  name,
  arguments: said,
});

/** What a chat's round is given again: its items, and its searches as the calls that they were. */
export function itemsAgain(items: readonly Fields[], searches: readonly AskedCall[]): Fields[] {
  return [...items, ...searches.map(searchItem)];
}

export class ChatRound implements Round {
  readonly model: Model;
  private readonly output: ChatOutput;
  private readonly merged = new MergedMessage();
  private readonly early: Chunk[];
  private readonly firstItem: number;
  private prefix = '';
  private reported: Fields | null;
  private reason: string | null = null;

  constructor(
    private readonly open: OpenAnswer,
    private readonly options: RoundOptions,
  ) {
    this.model = options.model;
    this.early = [...open.first];
    this.reported = open.usage;
    this.firstItem = options.work.items.length;
    this.output = chatOutputOf(options, () => this.merged.message());
  }

  async step(): Promise<boolean> {
    const early = this.early.shift();
    if (early !== undefined) return this.take(early);
    let raw: string | null;
    try {
      raw = await this.open.chunks.next();
    } catch (error) {
      // The answer was whole already; only its end was missing.
      if (this.reason !== null) return false;
      throw error;
    }
    if (raw === null) return this.closing();
    const literal = plainText(raw, this.prefix);
    if (literal !== null && (literal === '""' || this.output.plain(literal))) {
      this.options.deliver(literal);
      return true;
    }
    return this.take(parseChunk(raw, this.open.calls));
  }

  end(): RoundEnd {
    const { work } = this.options;
    const ended = endedOf(this.reason);
    this.output.end(ended.status === 'completed' ? 'completed' : 'incomplete');
    const { searches, hasCalls } = this.output;
    const items = itemsAgain(work.items.slice(this.firstItem), searches);
    return { ended, reported: this.reported, searches, hasCalls, items, final: null };
  }

  breakOff(): void {
    this.output.end('incomplete');
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
    const { logprobs } = choice;
    this.merged.take(choice.delta);
    this.output.delta(choice.delta, isFields(logprobs) ? logprobs['content'] : null);
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
    { work, log, model, deliver }: RoundOptions,
  ) {
    this.model = model;
    this.early = [...open.early];
    const provider = work.providerOf(model);
    const searches = provider !== null && work.prepared.tools.native(provider).searches;
    this.output = new NativeOutput({
      log,
      items: work.items,
      search: searches ? work.search : null,
      deliver,
    });
  }

  async step(): Promise<boolean> {
    const event = this.early.shift() ?? (await this.open.events.next());
    if (event === null) throw brokenAnswer('a stream without its end');
    return !this.output.take(event);
  }

  end(): RoundEnd {
    return nativeEnd(this.output);
  }

  breakOff(): void {
    // Its items stand as far as their maker ended them.
  }

  cancel(): void {
    this.open.events.cancel();
  }
}

export function nativeEnd({ final, searches, hasCalls, raw }: NativeOutput): RoundEnd {
  const { status, incomplete_details: details, usage } = final ?? {};
  const reason = isFields(details) ? details['reason'] : undefined;
  const ended: Ended =
    status === 'incomplete'
      ? { status, reason: reason === 'content_filter' ? reason : 'max_output_tokens' }
      : { status: 'completed' };
  return { ended, reported: usage, searches, hasCalls, items: raw, final };
}
