import { brokenAnswer, isFields, kindOfError, typeOfEvent, WHOLE } from '../../providers/index.js';
import type { NativeEvent } from '../../providers/index.js';
import type { AskedCall } from '../dialects/calls.js';
import type { Fields } from '../dialects/checks.js';
import type { EventOutput } from '../dialects/rounds.js';
import type { EventLog } from './events.js';
import { NativeItem, parsedEvent } from './native-item.js';
import { writeWhole } from './native-whole.js';

export interface NativeOutputOptions {
  log: EventLog;
  /** All items of the response, in order; items of this round are added. */
  items: Fields[];
  /** The function that stands for web search; null where none does. */
  search: string | null;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
}

/** Longer events are parsed: a pattern that goes over a text character by character needs room for each. */
const MAX_PLAIN = 8192;
const DELTA = '"delta":';
/** A text as JSON. */
const LITERAL = /^"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/u;
const SEQUENCE = /"sequence_number":(\d+)/;

const BEGUN = new Set(['response.created', 'response.in_progress', 'response.queued']);
const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled']);

/** What the deltas of an item have in common, so that the next one need not be parsed. */
interface Live {
  item: NativeItem;
  type: string;
  itemJson: string;
  ownItemJson: string;
  placeJson: string;
}

/**
 * Passes the events of an upstream that speaks the dialect: with our ids and numbers, what is missing between them put in, so that every client
 * can follow, and all else as it came.
 */
export class NativeOutput implements EventOutput {
  private readonly byIndex = new Map<number, NativeItem>();
  private live: Live | null = null;
  private last: NativeItem | null = null;
  readonly searches: AskedCall[] = [];
  /** Items of this round as their maker gave them, for a further round. */
  readonly raw: Fields[] = [];
  hasCalls = false;
  /** The upstream's own object at the end; null before. */
  final: Fields | null = null;
  usage: unknown = null;
  id: unknown = null;

  constructor(private readonly options: NativeOutputOptions) {}

  get hasEnded(): boolean {
    return this.final !== null;
  }

  /** @returns whether the upstream has ended its answer. @throws UpstreamError where it failed */
  take(event: NativeEvent): boolean {
    if (this.plain(event)) return false;
    const parsed = parsedEvent(event);
    if (parsed === null) return false;
    if (event.name === WHOLE) return this.end(parsed);
    const type = typeof parsed['type'] === 'string' ? parsed['type'] : typeOfEvent(event);
    if (type === 'error' || event.name === 'error') throw failed(parsed['error'] ?? parsed);
    // What is no event of the convention (signs of life) would end its clients.
    const response = isFields(parsed['response']) ? parsed['response'] : {};
    this.tell(response);
    if (BEGUN.has(type) || !type.startsWith('response.')) return false;
    if (ENDS.has(type)) {
      if (type === 'response.failed') throw failed(response['error']);
      return this.end(type === 'response.incomplete' ? { status: 'incomplete', ...response } : response);
    }
    this.itemEvent({ ...parsed, type });
    return false;
  }

  private tell({ id, usage }: Fields): void {
    this.id ??= id;
    this.usage = usage ?? this.usage;
  }

  /** A delta of text like the one before it: passed without being parsed. */
  private plain({ name, data }: NativeEvent): boolean {
    const { live } = this;
    if (live === null || name !== live.type || data.length > MAX_PLAIN) return false;
    if (!data.includes(live.itemJson) || !data.includes(live.placeJson)) return false;
    const at = data.indexOf(DELTA);
    const delta = at === -1 ? undefined : LITERAL.exec(data.slice(at + DELTA.length))?.[0];
    const sequence = SEQUENCE.exec(data);
    if (delta === undefined || sequence === null) return false;
    this.options.deliver(delta);
    live.item.pieces.push(delta);
    const own = data.replace(live.itemJson, live.ownItemJson);
    this.options.log.pushWritten(...around(own, sequence[0]));
    return true;
  }

  private itemEvent(event: Fields & { type: string }): void {
    const { type } = event;
    if (!('output_index' in event) && !('item_id' in event) && !isFields(event['item']))
      return this.options.log.pushUnknown(event);
    const item = this.itemOf(event);
    if (type === 'response.output_item.added') return;
    if (type === 'response.output_item.done') return this.done(item, event);
    if (item.index === null || item.isDone) return this.hidden(item, event);
    if (!item.ensurePart(event, this.options.log)) return;
    const { delta } = event;
    const own = { ...event, item_id: item.id, output_index: item.index };
    if (typeof delta === 'string' && !type.endsWith('audio.delta')) {
      const literal = JSON.stringify(delta);
      this.options.deliver(literal);
      item.pieces.push(literal);
      this.learn(item, event);
    }
    this.options.log.pushUnknown(own);
  }

  /** What a model asks our own search for is not shown. */
  private hidden(item: NativeItem, { delta }: Fields): void {
    if (typeof delta !== 'string' || item.isDone) return;
    const literal = JSON.stringify(delta);
    this.options.deliver(literal);
    item.pieces.push(literal);
  }

  private learn(item: NativeItem, { type, item_id: upId, output_index: index, ...event }: Fields): void {
    this.live = null;
    if (typeof upId !== 'string' || index !== item.index) return;
    const place = ['content_index', 'summary_index'].find((name) => name in event);
    // A number that begins with 0 is 0: no other place is taken for it.
    if (place !== undefined && event[place] !== 0) return;
    this.live = {
      item,
      type: type as string,
      itemJson: `"item_id":${JSON.stringify(upId)}`,
      ownItemJson: `"item_id":${JSON.stringify(item.id)}`,
      placeJson: place === undefined ? '"delta":' : `"${place}":0`,
    };
  }

  /** The item that an event belongs to; one that was not announced is announced now. */
  private itemOf(event: Fields & { type: string }): NativeItem {
    const { output_index: given, item_id: upId } = event;
    const index = Number.isSafeInteger(given) ? (given as number) : null;
    const known =
      index === null
        ? ([...this.byIndex.values()].find((item) => item.upId === upId) ??
          (isFields(event['item']) ? null : this.last))
        : this.byIndex.get(index);
    if (known != null) return known;
    const item = NativeItem.announced(event);
    this.byIndex.set(index ?? this.byIndex.size, item);
    this.last = item;
    this.show(item);
    return item;
  }

  private show(item: NativeItem): void {
    const { items, log, search } = this.options;
    if (item.given['type'] === 'function_call' && search !== null && item.given['name'] === search) return;
    item.index = items.push({ ...item.given, id: item.id }) - 1;
    log.pushUnknown({
      type: 'response.output_item.added',
      output_index: item.index,
      item: { ...item.given, id: item.id },
    });
  }

  private done(item: NativeItem, { item: given, ...event }: Fields): void {
    if (item.isDone) return;
    item.isDone = true;
    const whole = item.whole(isFields(given) ? given : null);
    if (item.pieces.length === 0) this.deliverWhole(whole);
    const { id: _, ...raw } = whole;
    this.raw.push(raw);
    if (item.index === null) {
      const { call_id: id, name, arguments: said } = whole as Record<string, string>;
      this.searches.push({ id: id ?? '', name: name ?? '', arguments: said ?? '' });
      return;
    }
    if (/^(?:function|custom_tool|computer|local_shell|shell|apply_patch)_call$/.test(String(whole['type'])))
      this.hasCalls = true;
    const own = { ...whole, id: item.id };
    this.options.items[item.index] = own;
    this.options.log.pushUnknown({
      ...event,
      type: 'response.output_item.done',
      output_index: item.index,
      item: own,
    });
  }

  /** What came without deltas is delivered all the same. */
  private deliverWhole(item: Fields): void {
    for (const text of textsIn(item)) this.options.deliver(JSON.stringify(text));
  }

  /** The upstream's whole answer. */
  end(response: Fields): boolean {
    this.live = null;
    this.final = response;
    const output = Array.isArray(response['output']) ? response['output'].filter(isFields) : [];
    const isIncomplete = response['status'] === 'incomplete';
    for (const [at, item] of this.byIndex)
      if (!item.isDone)
        this.done(item, { item: output[at] ?? (isIncomplete ? { status: 'incomplete' } : null) });
    for (const given of output.slice(this.byIndex.size)) this.whole(given);
    return true;
  }

  /** An item of which no event told. */
  private whole(given: Fields): void {
    const item = NativeItem.announced({ type: '', item: given });
    this.byIndex.set(this.byIndex.size, item);
    const isSearch = given['type'] === 'function_call' && given['name'] === this.options.search;
    if (!isSearch) {
      item.index = this.options.items.push({}) - 1;
      writeWhole({ ...given, id: item.id }, { index: item.index, log: this.options.log });
    }
    this.done(item, { item: given });
  }
}

/** The text before a number's digits, and that after them. */
function around(data: string, found: string): [string, string] {
  const at = data.indexOf(found);
  return [data.slice(0, at) + '"sequence_number":', data.slice(at + found.length)];
}

function failed(error: unknown) {
  return brokenAnswer(`an error in its stream${kindOfError(error)}`);
}

/** Every text of an item, to count it. */
export function textsIn(item: Fields): string[] {
  const parts = [item['content'], item['summary']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  const said = parts.flatMap((part) => (isFields(part) ? [part['text'], part['refusal']] : []));
  return [...said, item['name'], item['arguments'], item['input']].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  );
}
