import { TextBuffer } from '../text/text-buffer.js';
import type { AnswerRecorder, JoinedAnswer, RecordedHead } from './idempotency.types.js';

/**
 * Records an answer while it is being sent, up to a size limit, so that a retry can join from the first byte. Over the limit nothing is stored
 * and nobody can join; clients that joined before get an error event in the answer's format.
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

  /** Also called for an answer that failed: its last bytes say so. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Null if the answer is over the size limit. */
  body(): Buffer | null {
    const { blocks, open } = this.#text;
    return this.#overflowed ? null : Buffer.concat([...blocks, Buffer.from(open)]);
  }

  /** Null if the answer is over the size limit. */
  join(): JoinedAnswer | null {
    if (this.#overflowed) return null;
    const { status, headers } = this.head;
    return { status, headers, body: this.#read() };
  }

  async *#read(): AsyncGenerator<string> {
    // How much of the open block has been read already.
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
