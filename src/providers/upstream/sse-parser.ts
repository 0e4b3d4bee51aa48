import { StringDecoder } from 'node:string_decoder';

/** Longest event that is taken. */
const MAX_EVENT = 16 * 1024 * 1024;

/**
 * Reads the data of Server-Sent Events out of bytes, wherever the network cut them. Comments, event names and ids are passed over.
 */
export class SseParser {
  private readonly decoder = new StringDecoder('utf8');
  private rest = '';
  private data: string | null = null;

  /** @param onData gets each event's data, lines joined. @throws RangeError where an event is too long */
  constructor(private readonly onData: (data: string) => void) {}

  push(bytes: Buffer): void {
    let text = this.rest + this.decoder.write(bytes);
    // A lone CR is a line's end too, but one at the very end may be half of CRLF.
    if (text.includes('\r')) {
      const open = text.endsWith('\r');
      text = `${(open ? text.slice(0, -1) : text).replace(/\r\n?/g, '\n')}${open ? '\r' : ''}`;
    }
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.line(text, from, end);
      from = end + 1;
    }
    this.rest = from === 0 ? text : text.slice(from);
    if (this.rest.length + (this.data?.length ?? 0) > MAX_EVENT) throw new RangeError('An event is too long');
  }

  /** The stream has ended: an event without its blank line counts. */
  end(): void {
    this.rest += this.decoder.end();
    if (this.rest !== '') this.line(this.rest, 0, this.rest.replace(/\r$/, '').length);
    this.rest = '';
    this.dispatch();
  }

  private line(text: string, from: number, end: number): void {
    if (end === from) return this.dispatch();
    if (!text.startsWith('data', from)) return;
    if (text.charCodeAt(from + 4) !== 58 && end !== from + 4) return;
    const start = text.charCodeAt(from + 5) === 32 ? from + 6 : from + 5;
    const value = text.slice(Math.min(start, end), end);
    this.data = this.data === null ? value : `${this.data}\n${value}`;
  }

  private dispatch(): void {
    if (this.data === null) return;
    const data = this.data;
    this.data = null;
    this.onData(data);
  }
}
