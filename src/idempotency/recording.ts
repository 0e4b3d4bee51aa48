import { TextBuffer } from '../text/text-buffer.js';
import type { AnswerRecorder, JoinedAnswer, RecordedHead } from './idempotency.types.js';

/**
 * An answer while it is being sent: every chunk is kept (up to a bound), so that a retry can join from the first byte.
 * Beyond the bound nothing is kept and nobody can join; readers that joined before are told so in the words of the answer's kind.
 */
export class Recording implements AnswerRecorder {
  #text = new TextBuffer();
  #bytes = 0;
  #overflowed = false;
  #ended = false;
  #wake: (() => void)[] = [];

  constructor(
    private readonly head: RecordedHead,
    private readonly maxBytes: number,
  ) {}

  write(chunk: string): boolean {
    if (this.#overflowed || this.#ended) return false;
    this.#bytes += Buffer.byteLength(chunk);
    this.#overflowed = this.#bytes > this.maxBytes;
    if (this.#overflowed) this.#text = new TextBuffer();
    else this.#text.push(chunk);
    this.#notify();
    return !this.#overflowed;
  }

  /** Also of an answer that broke off: its last bytes say so. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Null where the answer outgrew the bound. */
  body(): Buffer | null {
    const { blocks, open } = this.#text;
    return this.#overflowed ? null : Buffer.concat([...blocks, Buffer.from(open)]);
  }

  /** Null where the answer outgrew the bound. */
  join(): JoinedAnswer | null {
    if (this.#overflowed) return null;
    const { status, headers } = this.head;
    return { status, headers, body: this.#read() };
  }

  async *#read(): AsyncGenerator<string> {
    // How much of the block that comes next was read while it was open.
    for (let next = 0, chars = 0, bytes = 0; ;) {
      const { blocks, open } = this.#text;
      const block = blocks[next];
      if (block !== undefined) {
        next += 1;
        const rest = block.subarray(bytes);
        chars = bytes = 0;
        if (rest.length > 0) yield rest.toString();
      } else if (open.length > chars) {
        const more = open.slice(chars);
        chars = open.length;
        bytes += Buffer.byteLength(more);
        yield more;
      } else if (this.#overflowed) {
        yield this.head.lost;
        return;
      } else if (this.#ended) return;
      else await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
