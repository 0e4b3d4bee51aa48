import { brokenAnswer, isFailure, isFields, kindOfError, typeOfEvent, WHOLE } from '../../providers/index.js';
import type { NativeEvent } from '../../providers/index.js';
import type { RequestedToolCall } from '../dialects/calls.js';
import type { Fields } from '../dialects/checks.js';
import type { EventOutput } from '../dialects/rounds.js';
import type { BegunMessage } from './chat-output.js';
import type { EventLog } from './events.js';
import { NativeItem, parsedEvent } from './native-item.js';
import { writeWhole } from './native-whole.js';

export interface NativeOutputOptions {
  log: EventLog;
  /** All items of the response, in order; items of this round are added. */
  items: Fields[];
  /** The function that replaces web search; null if there is none. */
  search: string | null;
  /** A text that was delivered, as JSON. */
  deliver(literal: string): void;
  /** The ids of the first items if another process began them. */
  ids?: readonly string[] | undefined;
}

/** Longer events are parsed, because the regular expression needs stack for each character. */
const MAX_PLAIN = 8192;
const DELTA = '"delta":';
/** A text as JSON. */
const LITERAL = /"(?:[\x20\x21\x23-\x5b\x5d-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = '"sequence_number":';
const DIGITS = /\d+/y;

const RESPONSE = 'response.';
const BEGUN = new Set(['response.created', 'response.in_progress', 'response.queued']);
const ENDS = new Set(['response.completed', 'response.incomplete']);

/** The common JSON of an item's text deltas, so that a similar next delta need not be parsed. */
interface Live {
  item: NativeItem;
  type: string;
  /** The beginning of its events, if they have no number. */
  typeJson: string;
  itemJson: string;
  ownItemJson: string;
  placeJson: string;
}

/**
 * Passes on the events of an upstream with the dialect. It sets our ids and numbers, and inserts missing events, which some clients need; all
 * other fields stay unchanged.
 */
export class NativeOutput implements EventOutput {
  private readonly byIndex = new Map<number, NativeItem>();
  private live: Live | null = null;
  private last: NativeItem | null = null;
  /** Whether all events so far belong to the beginning of one text. */
  private isOneText = true;
  readonly searches: RequestedToolCall[] = [];
  /** Items of this round as their maker sent them, but without ids, for the next round. */
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

  /** The message that a chat can continue; null if the answer has more than the beginning of one text. */
  get begun(): BegunMessage | null {
    const { last, isOneText, hasEnded } = this;
    if (last?.index == null || !isOneText || hasEnded) return null;
    return { id: last.id, index: last.index, text: last.said() };
  }

  /** @returns whether the upstream has ended its answer. @throws UpstreamError if it failed */
  take(event: NativeEvent): boolean {
    if (this.plain(event)) return false;
    const parsed = parsedEvent(event);
    if (parsed === null) return false;
    if (event.name === WHOLE) return this.end(parsed);
    const type = typeof parsed['type'] === 'string' ? parsed['type'] : typeOfEvent(event);
    if (type === 'error' || event.name === 'error') throw failed(parsed['error'] ?? parsed);
    // Events outside the convention (such as keep-alives) are not passed on, because clients fail on them.
    const response = isFields(parsed['response']) ? parsed['response'] : {};
    this.tell(response);
    if (BEGUN.has(type) || !type.startsWith(RESPONSE)) return false;
    if (isFailure(type.slice(RESPONSE.length))) throw failed(response['error']);
    if (ENDS.has(type))
      return this.end(type === 'response.incomplete' ? { status: 'incomplete', ...response } : response);
    this.itemEvent({ ...parsed, type });
    return false;
  }

  private tell({ id, usage }: Fields): void {
    this.id ??= id;
    this.usage = usage ?? this.usage;
  }

  /** Passes on a text delta that is like the one before, without parsing it. */
  private plain({ name, data }: NativeEvent): boolean {
    const { live } = this;
    if (live === null || name !== live.type || data.length > MAX_PLAIN) return false;
    const at = data.indexOf(live.itemJson);
    const delta = after(data, DELTA, LITERAL);
    if (at === -1 || delta === null || !data.includes(live.placeJson)) return false;
    const own = data.slice(0, at) + live.ownItemJson + data.slice(at + live.itemJson.length);
    const written = aroundNumber(own, live.typeJson);
    if (written === null) return false;
    this.options.deliver(delta);
    live.item.pieces.push(delta);
    this.options.log.pushWritten(...written);
    return true;
  }

  private itemEvent(event: Fields & { type: string }): void {
    const { type } = event;
    this.isOneText &&= isOfOneText(event);
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

  /** Takes a delta of an item that is not shown, such as a call of our own search. */
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
    // Only index 0 is compared as text: no other number begins with 0, but 10 begins with 1.
    if (place !== undefined && event[place] !== 0) return;
    this.live = {
      item,
      type: type as string,
      typeJson: `{"type":${JSON.stringify(type)},`,
      itemJson: `"item_id":${JSON.stringify(upId)}`,
      ownItemJson: `"item_id":${JSON.stringify(item.id)}`,
      placeJson: place === undefined ? '"delta":' : `"${place}":0`,
    };
  }

  /** Finds the item of an event. If the item was not announced, it is announced here. */
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
    const index = this.place(item);
    items[index] = { ...item.given, id: item.id };
    log.pushUnknown({
      type: 'response.output_item.added',
      output_index: index,
      item: { ...item.given, id: item.id },
    });
  }

  /** Adds an item to the response. @returns its index */
  private place(item: NativeItem): number {
    const { items, ids } = this.options;
    item.index = items.push({}) - 1;
    item.id = ids?.[item.index] ?? item.id;
    return item.index;
  }

  private done(item: NativeItem, { item: given, ...event }: Fields): void {
    if (item.isDone) return;
    item.isDone = true;
    const whole = item.whole(isFields(given) ? given : null);
    const { log } = this.options;
    if (item.pieces.length === 0 && !log.isSilent) this.deliverWhole(whole);
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
    if (log.isSilent) return;
    log.pushUnknown({
      ...event,
      type: 'response.output_item.done',
      output_index: item.index,
      item: own,
    });
  }

  /** Counts the texts of an item without deltas as delivered. */
  private deliverWhole(item: Fields): void {
    for (const text of textsIn(item)) this.options.deliver(JSON.stringify(text));
  }

  /** Takes the upstream's complete answer: closes the open items, and writes the items that had no events. @throws UpstreamError if it was not finished */
  end(response: Fields): boolean {
    if (isFailure(response['status'])) throw failed(response['error']);
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

  /** Closes the items that their maker did not end, as incomplete. */
  breakOff(): void {
    this.live = null;
    for (const item of this.byIndex.values())
      if (!item.isDone) this.done(item, { item: { status: 'incomplete' } });
  }

  /** Writes an item that no event announced. */
  private whole(given: Fields): void {
    const item = NativeItem.announced({ type: '', item: given });
    this.byIndex.set(this.byIndex.size, item);
    const isSearch = given['type'] === 'function_call' && given['name'] === this.options.search;
    if (!isSearch) {
      const { log } = this.options;
      const index = this.place(item);
      if (!log.isSilent) writeWhole({ ...given, id: item.id }, { index, log });
    }
    this.done(item, { item: given });
  }
}

/** Whether an event belongs to the first text of a response whose first item is a message. */
function isOfOneText({ type, item, output_index: index = 0, content_index: part = 0 }: Fields): boolean {
  if (index !== 0 || part !== 0) return false;
  if (type === 'response.output_item.added') return isFields(item) && item['type'] === 'message';
  return type === 'response.content_part.added' || type === 'response.output_text.delta';
}

/** The value of a field in an event's JSON; null if the value has another form. @param form sticky */
function after(data: string, field: string, form: RegExp): string | null {
  const at = data.indexOf(field);
  if (at === -1) return null;
  form.lastIndex = at + field.length;
  return form.exec(data)?.[0] ?? null;
}

/** Splits an event's JSON into the text before its number and the text after it. An event without a number gets it after its type. Null if that is impossible. */
function aroundNumber(data: string, typeJson: string): [string, string] | null {
  const at = data.indexOf(NUMBER);
  if (at === -1)
    return data.startsWith(typeJson) ? [typeJson + NUMBER, `,${data.slice(typeJson.length)}`] : null;
  const number = after(data, NUMBER, DIGITS);
  const begin = at + NUMBER.length;
  return number === null ? null : [data.slice(0, begin), data.slice(begin + number.length)];
}

function failed(error: unknown) {
  return brokenAnswer(`an error in its stream${kindOfError(error)}`);
}

/** All texts of an item, to count them. */
export function textsIn(item: Fields): string[] {
  const parts = [item['content'], item['summary']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  const said = parts.flatMap((part) => (isFields(part) ? [part['text'], part['refusal']] : []));
  return [...said, item['name'], item['arguments'], item['input']].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  );
}
