import type { Dispatcher } from 'undici';
import { joinBytes } from '../../text/join-bytes.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { UpstreamError } from '../providers.types.js';
import { fromItsBeginning } from './answer-beginning.js';
import { textsOfLines } from './event-texts.js';
import { SseParser } from './sse-parser.js';
import type { Transport } from './transport.js';
import { abortedError, brokenAnswer, errorOfConnection, errorOfStatus } from './upstream-errors.js';

/** Events that may wait for the reader before the upstream is paused. */
const HIGH_WATER = 64;
/** Items that are read before others have their turn. */
const IN_A_ROW = 16;
const MAX_ERROR_BYTES = 64 * 1024;
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
/** How JSON begins, and an event stream never does. */
const OPENINGS: ReadonlySet<number | undefined> = new Set([...Buffer.from('{[')]);
/** How long what belongs to an answer is waited for behind its end; nearly all upstreams close it with that. */
const CLOSING_MS = 200;

interface Waiter<T> {
  resolve(item: T | null): void;
  reject(error: Error): void;
}

/** The connections that a stream needs of its upstream. */
export type StreamTransport = Pick<Transport, 'dispatch' | 'timeSlicer' | 'readAnswer'>;

/** The request that opens a stream. */
export interface StreamRequest {
  path: string;
  /** Null: a GET. */
  body: string | Buffer | null;
  headers?: Readonly<Record<string, string>>;
}

/**
 * One streamed answer: its events wait in a bounded queue, the upstream is paused while it is full, and the connection is cut when the caller
 * goes. An object with few closures, as one stands for each open stream.
 */
export abstract class StreamExchange<T> implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | null = null;
  protected transport: StreamTransport | null = null;
  private readonly parser = new SseParser((data, name) => {
    if (!this.ended) this.onEvent(data, name);
  });
  private readonly queue: T[] = [];
  private taken = 0;
  /** Items that were read without a wait. */
  private inARow = 0;
  private waiter: Waiter<T> | null = null;
  private error: Error | null = null;
  private ended = false;
  private status = 0;
  private retryAfter: string | string[] | undefined;
  private errorBody = '';
  /** Runs from the word that the stream is whole, where something may still come. */
  private closing: NodeJS.Timeout | null = null;
  /** Bytes so far. */
  private size = 0;
  /** The parts of an answer in one piece; null where it is a stream, as it should be. */
  private whole: Buffer[] | null = null;
  /** Not `this` as the listener: Node wraps an object so that the whole exchange outlives minor collections. */
  private readonly onAbort = (): void => this.cancel();

  constructor(
    private readonly signal: LightAbortSignal,
    private readonly secrets: readonly string[],
  ) {
    signal.addEventListener('abort', this.onAbort);
  }

  /** An event of the stream; it calls {@link give} or {@link finish}. */
  protected abstract onEvent(data: string, name: string): void;
  /** Parses an answer that came in one piece, a long one in slices; false if it is no such answer. @throws UpstreamError */
  protected abstract onWhole(bytes: Buffer, transport: StreamTransport): Promise<boolean>;

  /** Sends the request and waits for the first event. @throws UpstreamError */
  async open(transport: StreamTransport, { path, body, headers }: StreamRequest): Promise<this> {
    if (this.signal.aborted) this.fail(abortedError());
    else {
      this.transport = transport;
      transport.dispatch(path, body, { handler: this, headers });
    }
    const first = await this.next();
    if (first === null) throw brokenAnswer('no chunk');
    this.queue.splice(0, this.taken);
    this.taken = 0;
    this.queue.unshift(first);
    return this;
  }

  next(): Promise<T | null> {
    const item = this.queue[this.taken];
    if (item !== undefined) {
      // Thousands of events may arrive at once: reading them all without a pause would block the event loop.
      if (++this.inARow < IN_A_ROW) return Promise.resolve(this.take(item));
      this.inARow = 0;
      return new Promise((resolve) => void setImmediate(resolve)).then(() => this.next());
    }
    this.inARow = 0;
    if (this.error) return Promise.reject(this.error);
    if (this.ended) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
    });
  }

  cancel(): void {
    if (!this.ended) this.fail(abortedError());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.error) controller.abort(this.error);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.status = status;
    this.retryAfter = headers['retry-after'];
  }

  onResponseData(controller: Dispatcher.DispatchController, given: Buffer): void {
    if (this.status >= 300) {
      if (this.errorBody.length < MAX_ERROR_BYTES) this.errorBody += given.toString('utf8');
      else this.fail(this.statusError());
      return;
    }
    if (this.ended) return;
    const bytes = this.size === 0 ? fromItsBeginning(given) : given;
    if (this.size === 0 && OPENINGS.has(bytes[0])) this.whole = [];
    this.size += bytes.length;
    if (this.whole !== null) {
      if (this.size > MAX_WHOLE_BYTES) this.fail(brokenAnswer('more than can be read'));
      else this.whole.push(bytes);
      return;
    }
    try {
      this.parser.push(bytes);
    } catch (error) {
      this.fail(error instanceof UpstreamError ? error : brokenAnswer('an event that is too long'));
    }
    if (this.queue.length - this.taken >= HIGH_WATER) controller.pause();
  }

  onResponseEnd(): void {
    if (this.status >= 300) return this.fail(this.statusError());
    if (this.ended) return;
    // It reports its own failure to its reader.
    if (this.whole !== null) return void this.endWhole(this.whole);
    this.parser.end();
    this.endEvents();
  }

  private endEvents(): void {
    if (this.ended) return;
    if (this.closing !== null) return this.finish();
    // A reader that has seen a finish reason may take this for the end; for all others the answer is cut off.
    this.fail(brokenAnswer('a stream without its end'));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.ended) return;
    if (this.closing !== null) return this.finish();
    this.fail(this.status >= 300 ? this.statusError() : errorOfConnection(error, this.status > 0));
  }

  private async endWhole(parts: Buffer[]): Promise<void> {
    this.whole = null;
    try {
      const transport = this.transport as StreamTransport;
      const bytes = await joinBytes(parts, transport.timeSlicer);
      const lines = textsOfLines(bytes);
      if (lines !== null) {
        for (const line of lines) if (!this.ended) this.onEvent(line, '');
        return this.endEvents();
      }
      const isAnswer = await this.onWhole(bytes, transport);
      if (isAnswer) this.finish();
      else this.fail(brokenAnswer('no stream'));
    } catch (error) {
      this.fail(error instanceof UpstreamError ? error : brokenAnswer('no stream', error));
    }
  }

  /** Hands an item to the reader. */
  protected give(item: T): void {
    if (this.ended) return;
    if (this.waiter) {
      const { resolve } = this.waiter;
      this.waiter = null;
      resolve(item);
    } else this.queue.push(item);
  }

  /** The stream says that it is whole, but something that belongs to it may still come. */
  protected finishSoon(): void {
    if (!this.ended) this.closing ??= setTimeout(() => this.finish(), CLOSING_MS);
  }

  protected get isClosing(): boolean {
    return this.closing !== null;
  }

  private take(item: T): T {
    this.taken++;
    if (this.taken === this.queue.length) {
      this.queue.length = 0;
      this.taken = 0;
      if (this.controller?.paused && !this.ended) this.controller.resume();
    }
    return item;
  }

  /** The stream has ended; later data is ignored. */
  protected finish(): void {
    if (this.ended) return;
    this.ended = true;
    if (this.closing !== null) clearTimeout(this.closing);
    this.signal.removeEventListener('abort', this.onAbort);
    this.waiter?.resolve(null);
    this.waiter = null;
    if (this.controller?.paused) this.controller.resume();
    this.controller = null;
  }

  private fail(error: Error): void {
    if (this.ended) return;
    this.ended = true;
    if (this.closing !== null) clearTimeout(this.closing);
    this.error = error;
    this.signal.removeEventListener('abort', this.onAbort);
    this.waiter?.reject(error);
    this.waiter = null;
    this.controller?.abort(error);
  }

  private statusError(): Error {
    return errorOfStatus({
      status: this.status,
      body: this.errorBody,
      retryAfter: this.retryAfter,
      secrets: this.secrets,
    });
  }
}
