import type { Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import { createDecoder, isEncoded } from './decoder.js';
import { EgressError } from './egress.types.js';
import type { OutboundAnswer } from './egress.types.js';

interface Head {
  url: string;
  status: number;
  received: RawHeaders;
}

/** What a bounded exchange came to. Most callers never look at the headers. */
class BoundedAnswer implements OutboundAnswer {
  constructor(
    private readonly head: Head,
    readonly body: Buffer,
    readonly truncated: boolean,
  ) {}

  get url(): string {
    return this.head.url;
  }

  get status(): number {
    return this.head.status;
  }

  get headers(): Record<string, string> {
    return flattenHeaders(this.head.received);
  }
}

export interface BoundedOptions {
  /** The address that is asked. */
  url: string;
  maxBytes: number;
  /** A longer, slower or broken body: an answer that is cut, or a fault. */
  cut: boolean;
  /** From the start to the status line and headers, connecting included. */
  headersTimeoutMs: number;
  /** From the headers to the end of the body. */
  bodyTimeoutMs: number;
  /** For the whole, as performance.now() tells time. */
  deadline: number;
  signal: AbortSignal | undefined;
  /** False: the answer is complete with its headers (a redirect that is followed). */
  wantsBody(status: number, headers: RawHeaders): boolean;
}

const NOT_NEEDED = new EgressError('aborted', 'Aborted');

export type RawHeaders = Record<string, string | string[] | undefined>;

const encodingOf = (headers: RawHeaders): string | undefined => headers['content-encoding']?.toString();

/** Headers of a body that its encoding was taken off. */
function withoutEncoding({
  'content-encoding': _,
  'content-length': __,
  ...headers
}: RawHeaders): RawHeaders {
  return headers;
}

/** Lower-case names; repeated ones joined by `, `. */
export function flattenHeaders(headers: RawHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    flat[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
  }
  return flat;
}

/**
 * Reads one answer whole within its limits: one timer, no stream and no abort signal of its own, because webhooks pay for each of
 * those on every delivery. A connection whose answer did not come to its end is destroyed, never reused: nobody would read what still comes.
 */
export class BoundedExchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | null = null;
  private decoder: Transform | null = null;
  private head: Head | null = null;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  /** Bytes came, and all of them did. */
  private begunBody = false;
  private endedBody = false;
  private done = false;
  private timer: NodeJS.Timeout;
  private waiting: NodeJS.Timeout | undefined;
  private begun: (() => void) | null = null;
  /** Not `this` as the listener: Node wraps an object so that the whole exchange outlives minor collections. */
  private readonly onAbort = (): void => this.fail(this.options.signal?.reason);

  constructor(
    private readonly options: BoundedOptions,
    private readonly settle: { resolve(answer: OutboundAnswer): void; reject(error: unknown): void },
  ) {
    this.timer = this.arm(options.headersTimeoutMs);
    options.signal?.addEventListener('abort', this.onAbort);
    if (options.signal?.aborted) this.onAbort();
  }

  /** No connection is free for it yet. */
  get waits(): boolean {
    return this.controller === null && !this.done;
  }

  /** Where no connection is free for that long, it is dispatched elsewhere too: where it starts first, it is sent. */
  otherwiseAfter(ms: number, dispatch: () => void): void {
    this.waiting = setTimeout(dispatch, ms);
  }

  /** Called once it waits no more: it is sent, or over. */
  onStart(listener: () => void): void {
    this.begun = listener;
  }

  /** Nothing was sent yet: what is thrown lets go of the request, and leaves its connection to the next. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.done || this.controller !== null) throw NOT_NEEDED;
    this.controller = controller;
    clearTimeout(this.waiting);
    this.leave();
  }

  private leave(): void {
    const { begun } = this;
    this.begun = null;
    begun?.();
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: RawHeaders): void {
    if (status < 200 || this.done) return;
    this.head = { url: this.options.url, status, received: headers };
    clearTimeout(this.timer);
    if (!this.options.wantsBody(status, headers)) return this.finish(true);
    const encoding = encodingOf(headers);
    if (isEncoded(encoding)) this.decoder = this.openDecoder(encoding);
    this.timer = this.arm(this.options.bodyTimeoutMs);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.begunBody = true;
    if (this.decoder === null) return this.take(chunk);
    if (this.done || this.decoder.write(chunk)) return;
    controller.pause();
    this.decoder.once('drain', () => controller.resume());
  }

  private openDecoder(encoding: string): Transform | null {
    const decoder = createDecoder(encoding);
    decoder?.on('data', (chunk: Buffer) => this.take(chunk));
    // Also where the server goes on behind what it packed.
    decoder?.on('end', () => this.finish(false));
    decoder?.on('error', (error: Error) => {
      // Off what was unpacked until then, the encoding is.
      if (this.size === 0) this.decoder = null;
      if (this.options.cut) this.finish(true);
      else this.fail(new EgressError('connect', 'The body is in a broken encoding', error));
    });
    return decoder;
  }

  private take(chunk: Buffer): void {
    if (this.done) return;
    const room = this.options.maxBytes - this.size;
    this.size += chunk.length;
    if (chunk.length <= room) return void this.chunks.push(chunk);
    this.chunks.push(chunk.subarray(0, room));
    if (this.options.cut) this.finish(true);
    else this.fail(new EgressError('too_large', 'The body is too large'));
  }

  onResponseEnd(): void {
    this.endedBody = true;
    // An empty body is that in each encoding.
    if (this.decoder === null || !this.begunBody) this.finish(false);
    else this.decoder.end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (error === NOT_NEEDED) return;
    if (this.head !== null && this.options.cut) this.finish(true);
    else this.fail(error);
  }

  private arm(ms: number): NodeJS.Timeout {
    const left = Math.max(0, Math.min(ms, this.options.deadline - performance.now()));
    return setTimeout(() => {
      if (this.head !== null && this.options.cut) this.finish(true);
      else this.fail(new EgressError('timeout', this.head !== null ? 'The body took too long' : 'Timed out'));
    }, left);
  }

  private finish(truncated: boolean): void {
    const { head, chunks } = this;
    if (head === null) return this.fail(new EgressError('connect', 'No answer'));
    if (!this.end()) return;
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    const received = this.decoder === null ? head.received : withoutEncoding(head.received);
    this.settle.resolve(
      new BoundedAnswer(received === head.received ? head : { ...head, received }, body, truncated),
    );
  }

  private fail(error: unknown): void {
    if (this.end()) this.settle.reject(error);
  }

  /** @returns false where it had ended already */
  private end(): boolean {
    if (this.done) return false;
    this.done = true;
    clearTimeout(this.timer);
    clearTimeout(this.waiting);
    this.leave();
    this.options.signal?.removeEventListener('abort', this.onAbort);
    this.decoder?.destroy();
    if (!this.endedBody) this.controller?.abort(new EgressError('aborted', 'Cut'));
    return true;
  }
}
