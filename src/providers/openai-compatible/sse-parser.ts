import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import type { EventSourceParser } from 'eventsource-parser';
import { textsOfEvent } from './event-texts.js';

/** Longest event that is taken, in characters. */
const MAX_EVENT = 16 * 1024 * 1024;

/** Reads Server-Sent Events out of bytes, wherever the network cut them. Comments, ids and unknown fields are passed over. */
export class SseParser {
  private readonly decoder = new StringDecoder('utf8');
  private readonly parser: EventSourceParser;
  private begun = false;
  private tooLong = false;

  /** @param onData gets each event's data, lines joined, and its name, which most have not */
  constructor(onData: (data: string, name: string) => void) {
    this.parser = createParser({
      maxBufferSize: MAX_EVENT,
      onEvent({ data, event = '' }) {
        for (const text of textsOfEvent(data)) onData(text, event.trim());
      },
      onError: ({ type }) => {
        this.tooLong ||= type === 'max-buffer-size-exceeded';
      },
    });
  }

  /** @throws RangeError where an event is too long */
  push(bytes: Buffer): void {
    this.feed(this.decoder.write(bytes));
  }

  /** The stream has ended: an event without its blank line counts. */
  end(): void {
    this.feed(`${this.decoder.end()}\n\n`);
  }

  /** The byte order mark that a stream may begin with is skipped here: the package knows it as bytes only. */
  private feed(text: string): void {
    const marked = !this.begun && text.charCodeAt(0) === 0xfeff;
    this.begun ||= text !== '';
    this.parser.feed(marked ? text.slice(1) : text);
    if (this.tooLong) throw new RangeError('An event is too long');
  }
}
