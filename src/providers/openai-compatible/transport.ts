import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { timeSlicer, type TimeSlicer } from '../../collections/time-slicer.js';
import { withoutEnding } from '../../text/characters.js';
import { joinBytes } from '../../text/join-bytes.js';
import { readJson } from '../../text/read-json.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { currentTraceparent } from '../../telemetry/index.js';
import { UpstreamError } from '../providers.types.js';
import { DecodedAnswer } from './decoded.js';
import {
  abortedError,
  brokenAnswer,
  errorOfConnection,
  errorOfStatus,
  unreadableFile,
} from './upstream-errors.js';

/** Limits of one provider's connections (decisions 6, "Upstreams"). */
export interface UpstreamTimeouts {
  connectMs: number;
  firstByteMs: number;
  chunkMs: number;
  /** Of work that is ordered and asked about (videos, music, edits of some providers), from the order to the end. */
  generationMs: number;
  /** Between two questions about it. */
  pollMs: number;
}

export interface TransportOptions {
  /** Without a trailing slash. */
  baseUrl: string;
  headers: Record<string, string>;
  timeouts: Pick<UpstreamTimeouts, 'connectMs' | 'firstByteMs' | 'chunkMs'>;
  /** Values that must never show in an error's message. */
  secrets: readonly string[];
}

export interface PostOptions {
  signal: LightAbortSignal | undefined;
  /** The idempotency key: an upstream that supports it answers a repeated request with its first answer. */
  idempotencyKey?: string | undefined;
  /** The `Accept` header, if the wanted answer is not JSON. */
  accept?: string;
  /** Gets the bytes of a 2xx answer as they come. */
  onBytes?: ((bytes: Buffer) => void) | undefined;
  /** Further headers of this request alone. */
  headers?: Readonly<Record<string, string>>;
}

/** The handler of an answer's events. */
interface Handling {
  handler: Dispatcher.DispatchHandler;
  /** Further headers of this request alone. */
  headers?: Readonly<Record<string, string>> | undefined;
}

/** Longest JSON answer that is read. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Without `accept-encoding` any encoding is accepted (RFC 9110, 12.5.3), and some providers refuse requests without `user-agent`. */
const OWN_HEADERS = { 'accept-encoding': 'identity', 'user-agent': 'Penstock' };

/**
 * One provider's HTTP connections: kept alive, one request at a time on each, as many as there are calls in flight.
 * This and the search adapters are the only outbound requests outside `egress/`: their addresses come from the operator's configuration.
 */
export class Transport {
  private readonly pool: Pool;
  private readonly basePath: string;
  /** Of the base address: some want a version in each request's query. */
  private readonly query: string;
  private readonly headers: string[];
  /** The names of the operator's headers, in lower case. */
  private readonly named: ReadonlySet<string>;
  readonly secrets: readonly string[];
  /** Writes long bodies and reads long answers in time slices. */
  readonly timeSlicer = timeSlicer;
  /** Of the upstream's base address. */
  readonly origin: string;

  constructor(private readonly options: TransportOptions) {
    const url = new URL(options.baseUrl);
    this.basePath = withoutEnding(url.pathname, '/');
    this.query = url.search;
    this.secrets = options.secrets;
    this.headers = Object.entries({
      ...OWN_HEADERS,
      'content-type': 'application/json',
      ...options.headers,
    }).flat();
    this.named = new Set(Object.keys(options.headers).map((name) => name.toLowerCase()));
    this.origin = url.origin;
    this.pool = new Pool(url.origin, {
      pipelining: 1,
      connect: { timeout: options.timeouts.connectMs },
      keepAliveTimeout: 30_000,
      headersTimeout: options.timeouts.firstByteMs,
      bodyTimeout: options.timeouts.chunkMs,
    });
  }

  /** Sends a JSON body (or none: GET) and hands the answer to `handler` as it comes. */
  dispatch(
    path: string,
    body: string | Buffer | null,
    { handler, headers: more = NO_HEADERS }: Handling,
  ): void {
    const traceparent = currentTraceparent();
    const own = more === NO_HEADERS ? this.headers : [...this.headers, ...this.missingHeaders(more)];
    const headers = traceparent === null ? own : [...own, 'traceparent', traceparent];
    this.pool.dispatch(
      { path: this.pathOf(path), method: body === null ? 'GET' : 'POST', headers, body },
      new DecodedAnswer(handler),
    );
  }

  /** Parses an answer; a long one in slices. @throws UpstreamError if it is not JSON */
  async readAnswer(bytes: Buffer): Promise<unknown> {
    try {
      return await readJson(bytes, this.timeSlicer);
    } catch {
      throw brokenAnswer('broken JSON');
    }
  }

  /**
   * POST of a JSON body, or of another one with its content type; then the whole answer as bytes.
   * @throws UpstreamError for anything but a 2xx answer
   */
  postForBytes(
    path: string,
    body: string | Buffer | { bytes: Buffer; contentType: string },
    { signal, idempotencyKey, accept, onBytes, headers: more = NO_HEADERS }: PostOptions,
  ): Promise<Buffer> {
    if (signal?.aborted) return Promise.reject(abortedError());
    return new Promise((resolve, reject) => {
      const keyed = idempotencyKey !== undefined;
      const exchange = new WholeExchange({
        resolve,
        reject,
        signal,
        secrets: this.secrets,
        keyed,
        timeSlicer: this.timeSlicer,
        onBytes,
      });
      const isJson = typeof body === 'string' || Buffer.isBuffer(body);
      if (isJson && !keyed && accept === undefined)
        return this.dispatch(path, body, { handler: exchange, headers: more });
      const whole = isJson ? { bytes: body, contentType: 'application/json' } : body;
      const headers = this.headersWith(whole.contentType);
      headers.push(...this.missingHeaders(more));
      if (keyed) headers.push('idempotency-key', idempotencyKey);
      if (accept !== undefined) headers.push('accept', accept);
      const traceparent = currentTraceparent();
      if (traceparent !== null) headers.push('traceparent', traceparent);
      const answer = new DecodedAnswer(exchange);
      this.pool.dispatch({ path: this.pathOf(path), method: 'POST', headers, body: whole.bytes }, answer);
    });
  }

  /** What the operator's headers do not say already. */
  private missingHeaders(more: Readonly<Record<string, string>>): string[] {
    const headers: string[] = [];
    for (const name in more) if (!this.named.has(name)) headers.push(name, more[name] ?? '');
    return headers;
  }

  private pathOf(path: string): string {
    const query = path.includes('?') ? this.query.replace('?', '&') : this.query;
    return `${this.basePath}${path}${query}`;
  }

  private headersWith(contentType: string): string[] {
    const { 'content-type': _, ...others } = { ...OWN_HEADERS, 'content-type': '', ...this.options.headers };
    return Object.entries({ ...others, 'content-type': contentType }).flat();
  }

  /** GET of a path of the same origin (the base path does not count), as bytes. @throws UpstreamError */
  async getBytes(
    path: string,
    { maxBytes, signal }: { maxBytes: number; signal: AbortSignal | undefined },
  ): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let size = 0;
    let status: number;
    try {
      const answer = await this.pool.request({
        path,
        method: 'GET',
        headers: this.headers,
        signal: signal ?? null,
      });
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxBytes) throw brokenAnswer('more than can be read');
        chunks.push(chunk);
      }
      status = answer.statusCode;
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      if (signal?.aborted) throw abortedError();
      throw errorOfConnection(error instanceof Error ? error : new Error(String(error)), false);
    }
    if (status === 200) return await joinBytes(chunks, this.timeSlicer);
    throw unreadableFile(status);
  }

  /** The status that a request without a body is answered with; the rest of the answer is left. @throws UpstreamError where none comes */
  async statusOf(
    path: string,
    signal: AbortSignal,
    method: 'GET' | 'POST' | 'DELETE' = 'GET',
  ): Promise<number> {
    try {
      const { statusCode, body } = await this.pool.request({
        path: this.pathOf(path),
        method,
        headers: this.headers,
        signal,
      });
      body.on('error', () => undefined).destroy();
      return statusCode;
    } catch (error) {
      if (signal.aborted) throw abortedError();
      throw errorOfConnection(error instanceof Error ? error : new Error(String(error)), false);
    }
  }

  /** Waits for no one: open exchanges fail. */
  close(): Promise<void> {
    return this.pool.destroy();
  }

  /** Lets open exchanges end, then closes (a reload put another provider in this one's place). */
  retire(): Promise<void> {
    return this.pool.close();
  }
}

/** An answer's text, without the byte order mark that some put before their JSON. */
export function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

interface WholeExchangeOptions {
  resolve(bytes: Buffer | Promise<Buffer>): void;
  reject(error: Error): void;
  signal: LightAbortSignal | undefined;
  secrets: readonly string[];
  keyed: boolean;
  timeSlicer: TimeSlicer;
  onBytes: PostOptions['onBytes'];
}

/** Reads one answer whole. One object with one closure: it stands on the hot path. */
class WholeExchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | null = null;
  private status = 0;
  private retryAfter: string | string[] | undefined;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  /** Not `this` as the listener: Node wraps an object so that the whole exchange outlives minor collections. */
  private readonly onAbort = (): void => this.fail(abortedError());

  constructor(private readonly options: WholeExchangeOptions) {
    options.signal?.addEventListener('abort', this.onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.options.signal?.aborted) controller.abort(abortedError());
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

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.size += chunk.length;
    if (this.status >= 300) {
      if (this.size <= MAX_ERROR_BYTES) this.chunks.push(chunk);
      else if (this.size > MAX_ERROR_BYTES * 16) this.fail(this.statusError(this.text()));
      return;
    }
    if (this.size > MAX_ANSWER_BYTES) this.fail(brokenAnswer('more than can be read'));
    else {
      this.chunks.push(chunk);
      this.options.onBytes?.(chunk);
    }
  }

  onResponseEnd(): void {
    this.finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.options.signal?.removeEventListener('abort', this.onAbort);
    this.options.reject(
      this.status >= 300 ? this.statusError(this.text()) : errorOfConnection(error, this.status > 0),
    );
  }

  /** Of a refusal, which is short. */
  private text(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }

  private finish(): void {
    this.controller = null;
    this.options.signal?.removeEventListener('abort', this.onAbort);
    if (this.status >= 200 && this.status < 300)
      this.options.resolve(
        this.chunks.length === 1 ? this.chunks[0]! : joinBytes(this.chunks, this.options.timeSlicer),
      );
    else this.options.reject(this.statusError(this.text()));
  }

  private statusError(body: string): Error {
    return errorOfStatus({
      status: this.status,
      body,
      retryAfter: this.retryAfter,
      secrets: this.options.secrets,
      keyed: this.options.keyed,
    });
  }

  private fail(error: Error): void {
    this.options.signal?.removeEventListener('abort', this.onAbort);
    this.options.reject(error);
    this.controller?.abort(error);
  }
}
