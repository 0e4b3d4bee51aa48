import type { ServerResponse } from 'node:http';
import { openSse } from '../../src/http/index.js';
import type { SseOptions } from '../../src/http/index.js';

export interface StreamWork {
  response: ServerResponse;
  events: AsyncIterable<unknown>;
  /** An event as it is written, `id:` and `data:` lines and the blank line; '' for nothing. */
  format(event: unknown): string | Promise<string>;
  /** What ends a stream that did not fail. */
  ending(): string;
  /** Masks and reports a failure after the first event: the event that tells it. */
  fail(fault: unknown): string;
  /** True: the events are taken to their end although the reader has gone (a recorded stream). */
  outlivesReader: boolean;
  options?: SseOptions;
}

/**
 * Carries events to a reader; a failure after the head is an event of its own and ends the stream without its ending.
 * @returns whether the events came to their end
 */
export async function carry({
  response,
  events,
  format,
  ending,
  fail,
  outlivesReader,
  options,
}: StreamWork): Promise<boolean> {
  const writer = openSse(response, options);
  const iterator = events[Symbol.asyncIterator]();
  // A source may have nothing to say for long: its end must not wait for its next event.
  const leave = () => {
    if (!outlivesReader) iterator.return?.().catch(() => undefined);
  };
  response.once('close', leave);
  try {
    for await (const event of { [Symbol.asyncIterator]: () => iterator }) {
      if (!writer.open && !outlivesReader) return false;
      const formatted = format(event);
      const text = typeof formatted === 'string' ? formatted : await formatted;
      const room = text === '' ? undefined : writer.write(text);
      if (room) await room;
    }
    if (!writer.open && !outlivesReader) return false;
    const last = ending();
    if (last !== '') await writer.write(last);
    return true;
  } catch (fault) {
    // Work that was aborted because its client left is not a failure, and nobody would read the error.
    if (!writer.open && !outlivesReader) return false;
    await writer.write(fail(fault));
    return false;
  } finally {
    response.off('close', leave);
    writer.end();
  }
}
