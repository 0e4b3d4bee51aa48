import { StringDecoder } from 'node:string_decoder';

/** Longest event that is taken. */
const MAX_EVENT = 16 * 1024 * 1024;

/**
 * Reads the data of Server-Sent Events out of bytes, wherever the network cut them. Comments and ids are passed over.
 */
export class SseParser {
  private readonly decoder = new StringDecoder('utf8');
  /** An open line. It is put together and looked at again only when its end has come: a long one comes in very many pieces. */
  private rest = '';
  private data: string | null = null;
  /** The open event's name. */
  private name = '';
  private begun = false;
  /** A CR was the last character so far: it ended its line, and an LF that follows belongs to it. */
  private afterCr = false;

  /** @param onData gets each event's data, lines joined, and its name, which most have not. @throws RangeError where an event is too long */
  constructor(private readonly onData: (data: string, name: string) => void) {}

  push(bytes: Buffer): void {
    this.take(this.plainLines(this.decoder.write(bytes)));
  }

  /** The stream has ended: an event without its blank line counts. */
  end(): void {
    this.take(this.plainLines(this.decoder.end()));
    if (this.rest !== '') this.line(this.rest, 0, this.rest.length);
    this.rest = '';
    this.dispatch();
  }

  /** Every line's end as LF, without the mark that a stream may begin with. */
  private plainLines(piece: string): string {
    let text = piece;
    if (!this.begun && text !== '') {
      this.begun = true;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (text === '') return text;
    if (this.afterCr && text.startsWith('\n')) text = text.slice(1);
    this.afterCr = piece.endsWith('\r');
    return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  }

  private take(piece: string): void {
    const first = piece.indexOf('\n');
    if (first === -1) this.rest += piece;
    else {
      const text = this.rest + piece;
      let from = 0;
      for (let end = this.rest.length + first; end !== -1; end = text.indexOf('\n', from)) {
        this.line(text, from, end);
        from = end + 1;
      }
      this.rest = text.slice(from);
    }
    if (this.rest.length + (this.data?.length ?? 0) > MAX_EVENT) throw new RangeError('An event is too long');
  }

  private line(text: string, from: number, end: number): void {
    if (end === from) return this.dispatch();
    if (!text.startsWith('data', from)) {
      if (text.startsWith('event:', from)) this.name = text.slice(from + 6, end).trim();
      return;
    }
    if (text.charCodeAt(from + 4) !== 58 && end !== from + 4) return;
    const start = text.charCodeAt(from + 5) === 32 ? from + 6 : from + 5;
    const value = text.slice(Math.min(start, end), end);
    this.data = this.data === null ? value : `${this.data}\n${value}`;
  }

  private dispatch(): void {
    const { data, name } = this;
    this.data = null;
    this.name = '';
    if (data !== null) this.onData(data, name);
  }
}
