import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { parseShallow } from '../../text/stored-json.js';
import { writeJson } from '../../text/write-json.js';
import { isFields } from '../convention/answer-text.js';
import type { NativeEvent, NativeEvents } from '../dialect.types.js';
import type { DialectWire } from './dialect-upstream.js';
import { isEndMarker } from './event-texts.js';
import { StreamExchange } from './stream-exchange.js';
import type { StreamTransport } from './stream-exchange.js';

/** How nearly every event's data begins. */
const TYPE_FIRST = /^\s*\{\s*"type"\s*:\s*"([^"\\]{1,100})"/;

const TYPE_BEGINS = '{"type":"';
const TYPE_AT = TYPE_BEGINS.length;

/** The type of an event, whose `event:` line some upstreams leave out; '' where it has none. */
export function typeOfEvent({ name, data }: NativeEvent): string {
  const found = TYPE_FIRST.exec(data)?.[1];
  if (found !== undefined) return found;
  if (name !== '') return name;
  try {
    const parsed = parseShallow(data);
    return isFields(parsed) && typeof parsed['type'] === 'string' ? parsed['type'] : '';
  } catch {
    return '';
  }
}

/** A streamed answer in a dialect: its events as they came. */
export class EventExchange extends StreamExchange<NativeEvent> implements NativeEvents {
  private readonly wire: DialectWire;
  /** The name of the latest event; it did not end the stream. */
  private last = '';

  constructor(
    signal: LightAbortSignal,
    { secrets, wire }: { secrets: readonly string[]; wire: DialectWire },
  ) {
    super(signal, secrets);
    this.wire = wire;
  }

  protected onEvent(given: string, name: string): void {
    if (isEndMarker(given)) return this.finish();
    // Line breaks are pretty printing: within JSON's strings none can stand.
    const event = { name, data: given.includes('\n') ? given.replaceAll('\n', ' ') : given };
    this.give(event);
    // Nearly every event has the name of the event before it.
    if (name !== this.last && this.wire.isLast(name)) return this.finish();
    this.last = name;
    // Nearly every event says its name once more.
    if (name !== '' && event.data.startsWith(name, TYPE_AT) && event.data.startsWith(TYPE_BEGINS)) return;
    if (this.wire.isLast(typeOfEvent(event))) this.finish();
  }

  /** As one event, which says by itself that it is the whole. */
  protected async onWhole(bytes: Buffer, transport: StreamTransport): Promise<boolean> {
    const parsed = await transport.readAnswer(bytes);
    if (!isFields(parsed) || !(this.wire.isWhole(parsed) || parsed['error'] != null)) return false;
    const data = String(await writeJson(parsed, transport.timeSlicer));
    this.give({ name: this.wire.isWhole(parsed) ? WHOLE : 'error', data });
    return true;
  }
}

/** The name of an event that is an answer in one piece, from an upstream that does not stream. */
export const WHOLE = 'whole';
