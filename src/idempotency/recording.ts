import type { AnswerRecorder, JoinedAnswer } from './idempotency.types.js';

/**
 * An answer while it is being sent: every chunk is kept (up to a bound), so that a retry can join from the first byte.
 * Beyond the bound nothing is kept and nobody can join; readers that joined before end with an error.
 */
export class Recording implements AnswerRecorder {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #overflowed = false;
  #ended: 'no' | 'whole' | 'cut' = 'no';
  #wake: (() => void)[] = [];

  constructor(
    readonly status: number,
    readonly headers: Record<string, string>,
    private readonly maxBytes: number,
  ) {}

  write(chunk: Buffer | string): void {
    if (this.#overflowed || this.#ended !== 'no') return;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#bytes += bytes.length;
    if (this.#bytes > this.maxBytes) {
      this.#overflowed = true;
      this.#chunks = [];
    } else {
      this.#chunks.push(bytes);
    }
    this.#notify();
  }

  end(outcome: 'whole' | 'cut'): void {
    if (this.#ended === 'no') this.#ended = outcome;
    this.#notify();
  }

  /** Null where the answer outgrew the bound. */
  body(): Buffer | null {
    return this.#overflowed ? null : Buffer.concat(this.#chunks);
  }

  /** Null where the answer outgrew the bound. */
  join(): JoinedAnswer | null {
    if (this.#overflowed) return null;
    return { status: this.status, headers: this.headers, body: this.#read() };
  }

  async *#read(): AsyncGenerator<Buffer> {
    for (let next = 0; ;) {
      while (next < this.#chunks.length) yield this.#chunks[next++]!;
      if (this.#ended === 'whole') return;
      if (this.#overflowed || this.#ended === 'cut') throw new Error('the recorded answer was cut');
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
