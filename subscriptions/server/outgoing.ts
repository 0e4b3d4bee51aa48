import type { Duplex } from 'node:stream';

const FINAL_TEXT = 0x81;
const MAX_HEAD_BYTES = 10;
const RESULT_END = 0x7d; // "}"
/** Up to this size, all that one turn of the event loop sends is written by one system call: a burst of events is one write. */
const TURN_BYTES = 32 * 1024;
/** A larger turn goes out from the bytes that all its readers share, instead of being copied. */
const LARGE_BYTES = 2 * TURN_BYTES;
/** So does a turn of messages of this size on average: what a stalled client holds is then shared as well. */
const LARGE_MESSAGE_BYTES = 4 * 1024;
const BUFFER_BYTES = 128 * 1024;

/** What the connections of a server share: the ends of its turns, and the memory in which their frames are put together. */
export class Turn {
  #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  /** Before it, the buffer belongs to writes that the system has not taken whole. */
  #start = 0;
  #flushes: (() => void)[] = [];

  atEnd(flush: () => void): void {
    if (this.#flushes.push(flush) > 1) return;
    setImmediate(() => {
      const flushes = this.#flushes;
      this.#flushes = [];
      for (const one of flushes) one();
    });
  }

  /** Memory for `bytes`, until {@link keep} or the next call. */
  buffer(bytes: number): Buffer {
    if (this.#start + bytes > BUFFER_BYTES) {
      this.#buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
      this.#start = 0;
    }
    return this.#buffer.subarray(this.#start, this.#start + bytes);
  }

  /** The system did not take all of what was written: these bytes of the buffer belong to that write now. */
  keep(bytes: number): void {
    this.#start += bytes;
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
  /** Something was written, and {@link #written} was not called for it yet. */
  #isWriting = false;
  readonly #endTurn = (): void => {
    this.#inTurn = false;
    if (!this.#isFull()) this.flush();
  };
  readonly #written = (): void => {
    this.#isWriting = false;
    this.#taken();
    if (!this.#inTurn) this.flush();
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
    if (!this.#isFull()) this.flush();
    if (this.stream.writableLength > 0) return new Promise((resolve) => this.#waiting.push(resolve));
  }

  flush(): void {
    const parts = this.#parts;
    if (parts.length === 0 || this.stream.destroyed) return;
    const bytes = this.#gathered;
    this.#parts = [];
    this.#gathered = 0;
    this.#isWriting = true;
    const isLarge = bytes > LARGE_BYTES || bytes >= (parts.length / 2) * LARGE_MESSAGE_BYTES;
    if (isLarge) this.#writeShared(parts);
    else this.#writeCopied(parts, bytes);
    this.#taken();
  }

  /** The system has not taken what was written: more is written after that, and until then it is only referred to. */
  #isFull(): boolean {
    return this.#isWriting && this.stream.writableLength > 0;
  }

  #writeCopied(parts: (Buffer | null)[], bytes: number): void {
    const buffer = this.turn.buffer(bytes);
    let at = 0;
    for (let i = 0; i < parts.length; i += 2) {
      const [head, body] = [parts[i] ?? null, parts[i + 1] as Buffer];
      at = writeFrameHead(buffer, at, lengthOf(head, body));
      if (head !== null) at += head.copy(buffer, at);
      at += body.copy(buffer, at);
      if (head !== null) buffer[at++] = RESULT_END;
    }
    this.stream.write(buffer.subarray(0, at), this.#written);
    if (this.stream.writableLength > 0) this.turn.keep(at);
  }

  #writeShared(parts: (Buffer | null)[]): void {
    this.stream.cork();
    for (let i = 0; i < parts.length; i += 2) {
      const [head, body] = [parts[i] ?? null, parts[i + 1] as Buffer];
      const begin = Buffer.allocUnsafe(MAX_HEAD_BYTES + (head?.length ?? 0));
      let at = writeFrameHead(begin, 0, lengthOf(head, body));
      if (head !== null) at += head.copy(begin, at);
      this.stream.write(begin.subarray(0, at));
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
