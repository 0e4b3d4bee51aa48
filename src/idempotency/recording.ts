import type { AnswerRecorder, JoinedAnswer, RecordedHead } from './idempotency.types.js';

/**
 * An answer while it is being sent: every chunk is kept (up to a bound), so that a retry can join from the first byte.
 * Beyond the bound nothing is kept and nobody can join; readers that joined before are told so in the words of the answer's kind.
 */
export class Recording implements AnswerRecorder {
  #chunks: Buffer[] = [];
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
    const bytes = Buffer.from(chunk);
    this.#bytes += bytes.length;
    if (this.#bytes > this.maxBytes) {
      this.#overflowed = true;
      this.#chunks = [];
    } else {
      this.#chunks.push(bytes);
    }
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
    return this.#overflowed ? null : Buffer.concat(this.#chunks);
  }

  /** Null where the answer outgrew the bound. */
  join(): JoinedAnswer | null {
    if (this.#overflowed) return null;
    const { status, headers } = this.head;
    return { status, headers, body: this.#read() };
  }

  async *#read(): AsyncGenerator<Buffer> {
    for (let next = 0; ;) {
      while (next < this.#chunks.length) yield this.#chunks[next++]!;
      if (this.#overflowed) {
        yield Buffer.from(this.head.lost);
        return;
      }
      if (this.#ended) return;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
