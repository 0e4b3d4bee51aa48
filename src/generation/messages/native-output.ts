import { brokenAnswer, isFields, kindOfError, typeOfEvent, WHOLE } from '../../providers/index.js';
import type { NativeEvent } from '../../providers/index.js';
import type { Fields } from '../dialects/checks.js';
import type { EventOutput } from '../dialects/rounds.js';
import { inputOf } from './calls.js';
import type { RequestedToolCall } from '../dialects/calls.js';
import type { BegunText } from './chat-output.js';
import type { MessageLog } from './events.js';
import { blockFor, NativeBlock } from './native-block.js';
import { laterReport } from './usage.js';

export interface NativeOutputOptions {
  log: MessageLog;
  /** All blocks of the message, in order; blocks of this round are added. */
  content: Fields[];
  /** The function that replaces web search; null if there is none. */
  search: string | null;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
}

/** Longer events are parsed, because the regular expression needs stack for each character. */
const MAX_PLAIN = 8192;
/** The rest of most events: one delta's text. It matches exact JSON only, so a match needs no parser. */
const PLAIN = /^("(?:[\x20\x21\x23-\x5b\x5d-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")\} *\} *$/;

/** The block of the last delta, so that a similar next delta need not be parsed. */
interface Live {
  block: NativeBlock;
  /** The event's JSON before its text. */
  prefix: string;
  /** The same with our number of the block; null if it is not shown. */
  own: string | null;
}

/**
 * Passes on the events of an upstream with the dialect. It inserts missing events, which some clients need; all others stay unchanged.
 */
export class NativeOutput implements EventOutput {
  private readonly byIndex = new Map<number, NativeBlock>();
  private readonly blocks: NativeBlock[] = [];
  private live: Live | null = null;
  readonly searches: RequestedToolCall[] = [];
  hasCalls = false;
  /** The fields of the upstream's end: `stop_reason`, `stop_sequence` … */
  ending: Fields = {};
  usage: Fields | null = null;
  id: unknown = null;

  constructor(private readonly options: NativeOutputOptions) {}

  /** The upstream's stop reason; null if it has not sent one yet. */
  get reason(): string | null {
    const { stop_reason: reason } = this.ending;
    return typeof reason === 'string' ? reason : null;
  }

  get hasEnded(): boolean {
    return this.reason !== null;
  }

  /** The block that a chat can continue; null if the answer has more than the beginning of one text. */
  get begun(): BegunText | null {
    const [block, ...others] = this.blocks;
    if (block?.index == null || !block.isOpen || others.length > 0 || this.hasEnded) return null;
    const { type, text, citations } = block.whole();
    return type === 'text' && citations == null ? { index: block.index, text: String(text) } : null;
  }

  /** Blocks of this round, unchanged from the maker, for the next round. */
  get raw(): Fields[] {
    return this.blocks.map((block) => block.whole());
  }

  /** @returns whether the upstream has ended its answer. @throws UpstreamError if it failed */
  take(event: NativeEvent): boolean {
    if (this.plain(event.data)) return false;
    const parsed = parsedEvent(event);
    if (parsed === null) return false;
    if (event.name === WHOLE) return this.takeWhole(parsed);
    switch (parsed.type) {
      case 'error':
        throw brokenAnswer(`an error in its stream${kindOfError(parsed['error'] ?? parsed)}`);
      case 'message_start':
        this.begin(isFields(parsed['message']) ? parsed['message'] : {});
        return false;
      case 'content_block_start':
        this.start(parsed);
        return false;
      case 'content_block_delta':
        this.delta(parsed);
        return false;
      case 'content_block_stop':
        this.stop(this.byIndex.get(Number(parsed['index'])));
        return false;
      case 'message_delta':
        this.tell(parsed);
        return false;
      case 'message_stop':
        return true;
      default:
        this.options.log.pushUnknown(parsed);
        return false;
    }
  }

  /** Writes a whole answer. */
  takeWhole(message: Fields): boolean {
    const { content, usage, id, type: _t, role: _r, model: _m, ...ending } = message;
    this.usage = laterReport(this.usage, usage);
    this.id ??= id;
    this.ending = { ...this.ending, ...ending };
    for (const block of Array.isArray(content) ? content.filter(isFields) : []) this.wholeBlock(block);
    return true;
  }

  /** Closes the open blocks. */
  end(): void {
    this.live = null;
    for (const block of this.blocks) this.stop(block);
  }

  /** Passes on a text delta that is like the one before, without parsing it. */
  private plain(data: string): boolean {
    const { live } = this;
    if (live === null || data.length > MAX_PLAIN || !data.startsWith(live.prefix)) return false;
    const rest = data.slice(live.prefix.length);
    const literal = PLAIN.exec(rest)?.[1];
    if (literal === undefined) return false;
    this.options.deliver(literal);
    live.block.pieces.push(literal);
    if (live.own === live.prefix) this.options.log.pushWritten(data);
    else if (live.own !== null) this.options.log.pushWritten(live.own + rest);
    return true;
  }

  private begin({ content, usage, id, stop_reason: reason, stop_sequence: sequence }: Fields): void {
    this.id ??= id;
    this.usage = laterReport(this.usage, usage);
    if (reason != null) this.ending = { ...this.ending, stop_reason: reason, stop_sequence: sequence };
    // The beginning of an answer may have content, which must not be lost.
    if (Array.isArray(content) && this.blocks.length === 0)
      for (const block of content) if (isFields(block)) this.wholeBlock(block);
  }

  private tell({ delta, usage, type: _, ...others }: Fields): void {
    this.usage = laterReport(this.usage, usage);
    const told = Object.entries(isFields(delta) ? delta : {}).filter(([, value]) => value != null);
    this.ending = { ...this.ending, ...others, ...Object.fromEntries(told) };
  }

  private start({ index, content_block: given }: Fields): void {
    const known = this.byIndex.get(Number(index));
    // The block was announced twice; it continues.
    if (known?.isOpen && isFields(given) && known.isLike(given)) return;
    this.stop(known);
    this.add(Number(index), isFields(given) ? given : { type: 'text', text: '' });
  }

  private add(at: number, given: Fields): NativeBlock {
    const block = new NativeBlock(given);
    this.byIndex.set(at, block);
    this.blocks.push(block);
    const isSearch = given['type'] === 'tool_use' && given['name'] === this.options.search;
    if (given['type'] === 'tool_use' && !isSearch) this.hasCalls = true;
    if (!isSearch) {
      block.index = this.options.content.push(block.given) - 1;
      if (!this.options.log.isSilent)
        this.options.log.pushUnknown({
          type: 'content_block_start',
          index: block.index,
          content_block: block.given,
        });
    }
    if (!this.options.log.isSilent) for (const literal of block.begunTexts()) this.options.deliver(literal);
    return block;
  }

  private delta(event: Fields & { type: string }): void {
    const { delta } = event;
    if (!isFields(delta)) return;
    const at = Number(event['index']);
    let block = this.byIndex.get(at);
    if (block === undefined || !block.takes(delta)) {
      const given = blockFor(delta);
      // A tool call needs a name, and the other types of blocks are unknown.
      if (given === null) return;
      this.stop(block);
      block = this.add(at, given);
    }
    const literal = block.take(delta);
    if (literal !== null) this.options.deliver(literal);
    this.live = literal === null ? null : liveOf(block, at);
    if (block.index !== null) this.options.log.pushUnknown({ ...event, index: block.index });
  }

  private stop(block: NativeBlock | undefined): void {
    if (block === undefined || !block.isOpen) return;
    block.isOpen = false;
    if (this.live?.block === block) this.live = null;
    if (block.index === null) {
      const { id, name } = block.given as Record<string, string>;
      this.searches.push({ id: id ?? '', name: name ?? '', arguments: JSON.stringify(block.input()) });
      return;
    }
    this.options.content[block.index] = block.whole();
    this.options.log.push({ type: 'content_block_stop', index: block.index });
  }

  /** Writes a block that no event announced. */
  private wholeBlock(given: Fields): void {
    if (this.options.log.isSilent) return this.stop(this.add(this.byIndex.size, given));
    const { begun, deltas } = NativeBlock.split(given);
    const block = this.add(this.byIndex.size, begun);
    for (const delta of deltas) {
      const literal = block.take(delta);
      if (literal !== null) this.options.deliver(literal);
      if (block.index !== null)
        this.options.log.pushUnknown({ type: 'content_block_delta', index: block.index, delta });
    }
    this.stop(block);
  }
}

function liveOf(block: NativeBlock, at: number): Live {
  const { index, deltaBegins } = block;
  const prefixOf = (number: number): string =>
    `{"type":"content_block_delta","index":${number},"delta":${deltaBegins}`;
  return { block, prefix: prefixOf(at), own: index === null ? null : prefixOf(index) };
}

function parsedEvent(event: NativeEvent): (Fields & { type: string }) | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(event.data);
  } catch {
    return null;
  }
  if (!isFields(parsed)) return null;
  const { type: given, ...fields } = parsed;
  const type = event.name === 'error' ? 'error' : typeof given === 'string' ? given : typeOfEvent(event);
  return { type, ...fields };
}

/** All texts of a message's blocks, to count them. */
export function textsIn(content: readonly Fields[]): string[] {
  return content
    .flatMap(({ type, text, thinking, name, input }) =>
      type === 'tool_use' ? [name, JSON.stringify(input ?? inputOf(''))] : [text, thinking],
    )
    .filter((text): text is string => typeof text === 'string' && text !== '');
}
