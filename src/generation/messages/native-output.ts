import { brokenAnswer, isFields, kindOfError, typeOfEvent, WHOLE } from '../../providers/index.js';
import type { NativeEvent } from '../../providers/index.js';
import type { Fields } from '../dialects/checks.js';
import type { EventOutput } from '../dialects/rounds.js';
import { inputOf } from './calls.js';
import type { AskedCall } from '../dialects/calls.js';
import type { MessageLog } from './events.js';
import { blockFor, NativeBlock } from './native-block.js';
import { laterReport } from './usage.js';

export interface NativeOutputOptions {
  log: MessageLog;
  /** All blocks of the message, in order; those of this round are added. */
  content: Fields[];
  /** The function that stands for web search; null where none does. */
  search: string | null;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
}

/** Longer events are parsed: a pattern that goes over a text character by character needs room for each. */
const MAX_PLAIN = 8192;
/** What follows in most events: one delta's text. Exact JSON, so that what matches needs no parser. */
const PLAIN = /^("(?:[\x20\x21\x23-\x5b\x5d-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")\} *\} *$/;

/** Where the last delta went, so that the next one like it need not be parsed. */
interface Live {
  block: NativeBlock;
  /** What such an event is up to its text. */
  prefix: string;
  /** The same with the block's own number; null: it is not shown. */
  own: string | null;
}

/**
 * Passes the events of an upstream that speaks the dialect: what is missing between them put in, so that every client can follow, and all
 * else as it came.
 */
export class NativeOutput implements EventOutput {
  private readonly byIndex = new Map<number, NativeBlock>();
  private readonly blocks: NativeBlock[] = [];
  private live: Live | null = null;
  readonly searches: AskedCall[] = [];
  hasCalls = false;
  /** What the upstream said of the end: `stop_reason`, `stop_sequence` … */
  ending: Fields = {};
  usage: Fields | null = null;
  id: unknown = null;

  constructor(private readonly options: NativeOutputOptions) {}

  /** Why the upstream stopped; null: it did not say so yet. */
  get reason(): string | null {
    const { stop_reason: reason } = this.ending;
    return typeof reason === 'string' ? reason : null;
  }

  get hasEnded(): boolean {
    return this.reason !== null;
  }

  /** Blocks of this round as their maker gave them, for a further round. */
  get raw(): Fields[] {
    return this.blocks.map((block) => block.whole());
  }

  /** @returns whether the upstream has ended its answer. @throws UpstreamError where it failed */
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

  /** An answer in one piece. */
  takeWhole(message: Fields): boolean {
    const { content, usage, id, type: _t, role: _r, model: _m, ...ending } = message;
    this.usage = laterReport(this.usage, usage);
    this.id ??= id;
    this.ending = { ...this.ending, ...ending };
    for (const block of Array.isArray(content) ? content.filter(isFields) : []) this.wholeBlock(block);
    return true;
  }

  /** Closes what is open. */
  end(): void {
    this.live = null;
    for (const block of this.blocks) this.stop(block);
  }

  /** A delta of text like the one before it: passed without being parsed. */
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
    // Nothing of an answer that stands at its beginning may be lost.
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
    // Said twice: the block goes on.
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
      this.options.log.pushUnknown({
        type: 'content_block_start',
        index: block.index,
        content_block: block.given,
      });
    }
    for (const literal of block.begunTexts()) this.options.deliver(literal);
    return block;
  }

  private delta(event: Fields & { type: string }): void {
    const { delta } = event;
    if (!isFields(delta)) return;
    const at = Number(event['index']);
    let block = this.byIndex.get(at);
    if (block === undefined || !block.takes(delta)) {
      const given = blockFor(delta);
      // Without its name a call is none, and no other block knows what this is.
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

  /** A block of which no other event tells. */
  private wholeBlock(given: Fields): void {
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

/** Every text of a message's blocks, to count it. */
export function textsIn(content: readonly Fields[]): string[] {
  return content
    .flatMap(({ type, text, thinking, name, input }) =>
      type === 'tool_use' ? [name, JSON.stringify(input ?? inputOf(''))] : [text, thinking],
    )
    .filter((text): text is string => typeof text === 'string' && text !== '');
}
