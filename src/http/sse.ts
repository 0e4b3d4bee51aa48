import type { ServerResponse } from 'node:http';
import { TextBuffer } from '../text/text-buffer.js';
import { untilDrained } from './until-drained.js';

/** Interval of the comments that keep proxies from closing an idle stream (decisions 6, "Chat"). */
const PING_INTERVAL_MS = 15_000;
/** A client that reads nothing for this long counts as disconnected (decisions 6, "Upstreams"). */
const STALL_TIMEOUT_MS = 60_000;

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

export interface SseOptions {
  pingIntervalMs?: number;
  stallTimeoutMs?: number;
  /** Sends a comment together with the headers, because the client has already waited. */
  pingAtOnce?: boolean;
  /** Default: the headers of an event stream. */
  headers?: Record<string, string>;
  /**
   * Gets a copy of every event (not of pings), for retries that join the stream. Returns whether the copy is kept. While copies are kept, the
   * stream does not wait for this client: its connection may be lost, and it may return as the retry.
   */
  copy?: ((text: string) => boolean) | undefined;
}

/** One Server-Sent Events answer. */
export interface SseWriter {
  /** False once the client has disconnected. */
  readonly open: boolean;
  /** Writes event text as it is; resolves when there is room for more. */
  write(text: string): Promise<void> | void;
  end(): void;
}

interface Framing {
  /** @returns whether there is room for more */
  write(text: string): boolean;
  end(): void;
}

/**
 * Writes each text as one chunk of the chunked transfer coding (RFC 9112, 7.1). node:http makes four writes of a chunk and joins them again,
 * which is a quarter of an event's CPU time. An answer that is not chunked (HTTP/1.0) is written as it is.
 */
function framed(response: ServerResponse): Framing {
  if (!response.chunkedEncoding)
    return { write: (text) => response.write(text), end: () => void response.end() };
  response.chunkedEncoding = false;
  return {
    write: (text) => response.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`),
    end: () => void response.end('0\r\n\r\n'),
  };
}

/**
 * Text that a stream has produced and its client has not read yet. It is written piece by piece: if all of it were in the socket at once, the
 * stall timer would see no progress until all of it was sent.
 */
class Backlog {
  readonly #waiting = new TextBuffer();
  /** Resolves when all is written or the client has disconnected; null while nothing waits. */
  emptied: Promise<void> | null = null;

  constructor(
    private readonly frames: Framing,
    private readonly drained: () => Promise<boolean>,
  ) {}

  /** Call it while the socket's buffer is full, or while earlier text still waits. */
  push(text: string): void {
    this.#waiting.push(text);
    this.emptied ??= this.#empty();
  }

  async #empty(): Promise<void> {
    let isOpen = await this.drained();
    for (let text = this.#waiting.shift(); isOpen && text !== null; text = this.#waiting.shift())
      if (!this.frames.write(text)) isOpen = await this.drained();
    this.emptied = null;
  }
}

/** Sends the head and writes events with backpressure; a stalled reader's connection is destroyed. */
export function openSse(response: ServerResponse, options: SseOptions = {}): SseWriter {
  const {
    pingIntervalMs = PING_INTERVAL_MS,
    stallTimeoutMs = STALL_TIMEOUT_MS,
    headers = SSE_HEADERS,
    copy,
  } = options;
  let written = false;
  response.writeHead(200, headers);
  const frames = framed(response);
  if (options.pingAtOnce === true) frames.write(': ping\n\n');
  // The headers go out together with the first event if it comes in the same turn, else alone.
  setImmediate(() => {
    if (!written && !response.destroyed) response.flushHeaders();
  });
  const ping = setInterval(() => {
    if (!response.writableNeedDrain) frames.write(': ping\n\n');
  }, pingIntervalMs);
  ping.unref();
  response.once('close', () => clearInterval(ping));

  async function drained(): Promise<boolean> {
    const stalled = setTimeout(() => response.destroy(), stallTimeoutMs);
    await untilDrained(response);
    clearTimeout(stalled);
    return !response.destroyed;
  }
  const backlog = new Backlog(frames, drained);

  return {
    get open() {
      return !response.destroyed;
    },
    write(text) {
      written = true;
      const isKept = copy?.(text) === true;
      if (response.destroyed) return undefined;
      if (backlog.emptied !== null) backlog.push(text);
      else if (frames.write(text)) return undefined;
      else backlog.push('');
      return isKept ? undefined : (backlog.emptied ?? undefined);
    },
    end() {
      clearInterval(ping);
      if (backlog.emptied === null) frames.end();
      else void backlog.emptied.then(() => frames.end());
    },
  };
}
