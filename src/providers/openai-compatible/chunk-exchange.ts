import type { Dispatcher } from 'undici';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { errorChunk } from '../convention/chunk.js';
import { isFaultName } from '../convention/faults.js';
import { mayTellUsage } from '../convention/usage.js';
import { UpstreamError } from '../providers.types.js';
import type { ChatChunks } from '../providers.types.js';
import { fromItsBeginning } from './answer-beginning.js';
import { saysEnd, SseParser } from './sse-parser.js';
import type { Transport } from './transport.js';
import { abortedError, brokenAnswer, errorOfConnection, errorOfStatus } from './upstream-errors.js';
import { chunkOfAnswer } from './whole-answer.js';

/** Chunks that may wait for the reader before the upstream is paused. */
const HIGH_WATER = 64;
const MAX_ERROR_BYTES = 64 * 1024;
/** How long a usage is waited for behind the end; nearly all upstreams close their answer with it. */
const CLOSING_MS = 200;
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
/** How JSON begins, and an event stream never does. */
const OPENINGS: ReadonlySet<number | undefined> = new Set([...Buffer.from('{[')]);

interface Waiter {
  resolve(chunk: string | null): void;
  reject(error: Error): void;
}

/**
 * One streamed answer: chunks wait in a bounded queue, the upstream is paused while it is full, and the connection is cut when the caller
 * goes. An object without closures, as one stands for each open stream.
 */
export class ChunkExchange implements Dispatcher.DispatchHandler, ChatChunks {
  private controller: Dispatcher.DispatchController | null = null;
  private readonly parser = new SseParser((data, name) =>
    this.event(isFaultName(name) ? errorChunk(data) : data),
  );
  private readonly queue: string[] = [];
  private taken = 0;
  private waiter: Waiter | null = null;
  private error: Error | null = null;
  private ended = false;
  private status = 0;
  private retryAfter: string | string[] | undefined;
  private errorBody = '';
  /** The latest chunk. */
  private last = '';
  /** Runs from the word that the stream is whole, where its usage may still come. */
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

  /** Sends the request and waits for the first chunk. @throws UpstreamError */
  async open(transport: Transport, path: string, body: string | Buffer): Promise<ChatChunks> {
    if (this.signal.aborted) this.fail(abortedError());
    else transport.dispatch(path, body, this);
    const first = await this.next();
    if (first === null) throw brokenAnswer('no chunk');
    this.queue.splice(0, this.taken);
    this.taken = 0;
    this.queue.unshift(first);
    return this;
  }

  next(): Promise<string | null> {
    const chunk = this.queue[this.taken];
    if (chunk !== undefined) return Promise.resolve(this.take(chunk));
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
    if (this.whole !== null) return this.endWhole(this.whole);
    this.parser.end();
    if (this.closing !== null) return this.finish();
    // A reader that has seen a finish reason may take this for the end; for all others the answer is cut off.
    this.fail(brokenAnswer('a stream without its end'));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.ended) return;
    if (this.closing !== null) return this.finish();
    this.fail(this.status >= 300 ? this.statusError() : errorOfConnection(error, this.status > 0));
  }

  private endWhole(parts: Buffer[]): void {
    const chunk = chunkOfAnswer(Buffer.concat(parts).toString('utf8'));
    if (chunk === null) return this.fail(brokenAnswer('no stream'));
    this.event(chunk);
    this.finish();
  }

  private event(data: string): void {
    if (this.ended) return;
    if (saysEnd(data)) return this.close();
    if (this.closing !== null && !mayTellUsage(data)) return;
    this.last = data;
    if (this.waiter) {
      const { resolve } = this.waiter;
      this.waiter = null;
      resolve(data);
    } else this.queue.push(data);
  }

  /** Whoever told no usage yet may still do so behind the end. */
  private close(): void {
    if (mayTellUsage(this.last)) this.finish();
    else this.closing ??= setTimeout(() => this.finish(), CLOSING_MS);
  }

  private take(chunk: string): string {
    this.taken++;
    if (this.taken === this.queue.length) {
      this.queue.length = 0;
      this.taken = 0;
      if (this.controller?.paused && !this.ended) this.controller.resume();
    }
    return chunk;
  }

  private finish(): void {
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
