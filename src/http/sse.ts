import type { ServerResponse } from 'node:http';
import { TextBuffer } from '../text/text-buffer.js';
import { untilDrained } from './until-drained.js';

/** A comment that keeps proxies from closing a quiet stream (decisions 6, "Chat"). */
const PING_INTERVAL_MS = 15_000;
/** A reader that accepts nothing for so long counts as gone (decisions 6, "Upstreams"). */
const STALL_TIMEOUT_MS = 60_000;

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

export interface SseOptions {
  pingIntervalMs?: number;
  stallTimeoutMs?: number;
  /** The reader has waited already: a comment goes out with the head. */
  pingAtOnce?: boolean;
  /** Default: those of events that begin here. */
  headers?: Record<string, string>;
  /**
   * Gets a copy of every event, for retries that join the stream (pings are each stream's own), and says whether it is kept: then the stream
   * does not wait for this reader, whose network may be gone, and who may be the very one that joins.
   */
  copy?: ((text: string) => boolean) | undefined;
}

/** One Server-Sent Events answer. */
export interface SseWriter {
  /** False once the reader has gone. */
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
 * Writes each text as one chunk of the transfer coding (RFC 9112, 7.1). Left to node:http a chunk is four writes that are gathered again, a
 * quarter of what an event costs. Where the answer is not chunked (HTTP/1.0) it goes out as it is.
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
 * What a reader has yet to get of a stream that does not wait for it. It is written as the reader takes it: in one go it would lie in the
 * connection, whose first sign of life is that all of it has gone.
 */
class Backlog {
  readonly #waiting = new TextBuffer();
  /** Until all is written, or there is nobody any more; null while nothing waits. */
  emptied: Promise<void> | null = null;

  constructor(
    private readonly frames: Framing,
    private readonly drained: () => Promise<boolean>,
  ) {}

  /** To be called where the connection takes no more at the moment, or something waits already. */
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
  // The head goes out with the first event where there is one at once, else alone.
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
