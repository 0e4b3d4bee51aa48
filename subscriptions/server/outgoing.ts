import type { Duplex } from 'node:stream';

const FINAL_TEXT = 0x81;
const MAX_HEAD_BYTES = 10;
const RESULT_END = 0x7d; // "}"
/** Up to this size, all that one turn of the event loop sends is written by one system call: a burst of events is one write. */
const TURN_BYTES = 32 * 1024;
/** A larger turn goes out from the bytes that all its readers share, instead of being copied. */
const LARGE_BYTES = 2 * TURN_BYTES;
const BENCH_BYTES = 128 * 1024;

/** What the connections of a server share: the ends of its turns, and the memory in which their frames are put together. */
export class Turn {
  #bench = Buffer.allocUnsafeSlow(BENCH_BYTES);
  #flushes: (() => void)[] = [];

  atEnd(flush: () => void): void {
    if (this.#flushes.push(flush) > 1) return;
    setImmediate(() => {
      const flushes = this.#flushes;
      this.#flushes = [];
      for (const one of flushes) one();
    });
  }

  /** At least `bytes` to write into, until {@link keep} or the next call. */
  bench(bytes: number): Buffer {
    return bytes <= BENCH_BYTES ? this.#bench : Buffer.allocUnsafeSlow(bytes);
  }

  /** The system did not take all that was written from the bench: it belongs to that write now. */
  keep(): void {
    this.#bench = Buffer.allocUnsafeSlow(BENCH_BYTES);
  }
}

/** The messages on their way to one WebSocket, as frames of text. Whole frames only, so that those which `ws` writes itself fall between. */
export class Outgoing {
  /** Since when the client has taken nothing although something waits for it; null where nothing waits. */
  waitingSince: number | null = null;
  /** Pairs: what begins a result's message, and the result, which a brace ends; or null and a whole message. */
  #parts: (Buffer | null)[] = [];
  #gathered = 0;
  #inTurn = false;
  #waiting: (() => void)[] = [];
  readonly #endTurn = (): void => {
    this.#inTurn = false;
    this.flush();
  };
  readonly #written = (): void => {
    this.#taken();
    for (const resolve of this.#waiting.splice(0)) resolve();
  };

  constructor(
    private readonly stream: Duplex,
    private readonly turn: Turn,
  ) {}

  /** Bytes that the client has not taken. */
  get bytes(): number {
    return this.#gathered + this.stream.writableLength;
  }

  /**
   * Gathers a message. Answers a promise only where the system has not taken what there was: so no more than a turn's bytes wait here for
   * a client that does not read, and the rest stays where it is shared.
   */
  push(head: Buffer | null, body: Buffer): Promise<void> | void {
    this.waitingSince ??= performance.now();
    this.#parts.push(head, body);
    this.#gathered += MAX_HEAD_BYTES + 1 + (head?.length ?? 0) + body.length;
    if (!this.#inTurn && this.stream.writableLength === 0) {
      this.#inTurn = true;
      this.turn.atEnd(this.#endTurn);
    }
    if (this.#inTurn && this.#gathered < TURN_BYTES) return;
    this.flush();
    if (this.stream.writableLength > 0) return new Promise((resolve) => this.#waiting.push(resolve));
  }

  flush(): void {
    const parts = this.#parts;
    if (parts.length === 0 || this.stream.destroyed) return;
    const bytes = this.#gathered;
    this.#parts = [];
    this.#gathered = 0;
    if (bytes > LARGE_BYTES) this.#writeShared(parts);
    else this.#writeCopied(parts, bytes);
    this.#taken();
  }

  #writeCopied(parts: (Buffer | null)[], bytes: number): void {
    const bench = this.turn.bench(bytes);
    let at = 0;
    for (let i = 0; i < parts.length; i += 2) {
      const [head, body] = [parts[i] ?? null, parts[i + 1] as Buffer];
      at = writeFrameHead(bench, at, lengthOf(head, body));
      if (head !== null) at += head.copy(bench, at);
      at += body.copy(bench, at);
      if (head !== null) bench[at++] = RESULT_END;
    }
    this.stream.write(bench.subarray(0, at), this.#written);
    if (this.stream.writableLength > 0) this.turn.keep();
  }

  #writeShared(parts: (Buffer | null)[]): void {
    this.stream.cork();
    for (let i = 0; i < parts.length; i += 2) {
      const [head, body] = [parts[i] ?? null, parts[i + 1] as Buffer];
      const frameHead = Buffer.allocUnsafe(MAX_HEAD_BYTES);
      this.stream.write(frameHead.subarray(0, writeFrameHead(frameHead, 0, lengthOf(head, body))));
      if (head !== null) this.stream.write(head);
      const isLast = i + 2 === parts.length;
      this.stream.write(body, isLast && head === null ? this.#written : undefined);
      if (head !== null) this.stream.write(BRACE, isLast ? this.#written : undefined);
    }
    this.stream.uncork();
  }

  #taken(): void {
    this.waitingSince = this.stream.writableLength > 0 ? performance.now() : null;
  }
}

const BRACE = Buffer.from([RESULT_END]);

function lengthOf(head: Buffer | null, body: Buffer): number {
  return head === null ? body.length : head.length + body.length + 1;
}

/** The head of a server's frame of text (RFC 6455, 5.2). Answers where its body begins. */
function writeFrameHead(bytes: Buffer, at: number, length: number): number {
  bytes[at] = FINAL_TEXT;
  if (length < 126) {
    bytes[at + 1] = length;
    return at + 2;
  }
  if (length < 65_536) {
    bytes[at + 1] = 126;
    return bytes.writeUInt16BE(length, at + 2);
  }
  bytes[at + 1] = 127;
  return bytes.writeBigUInt64BE(BigInt(length), at + 2);
}
