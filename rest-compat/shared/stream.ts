import type { ServerResponse } from 'node:http';
import { openSse } from '../../src/http/index.js';
import type { SseOptions } from '../../src/http/index.js';

export interface StreamWork {
  response: ServerResponse;
  events: AsyncIterable<unknown>;
  /** Writes an event: `id:` and `data:` lines and the blank line; '' for nothing. */
  format(event: unknown): string | Promise<string>;
  /** The end of a successful stream. */
  ending(): string;
  /** Masks and logs a failure after the first event. Returns its event. */
  fail(fault: unknown): string;
  /** True: the events are read to their end even without a reader (a recorded stream). */
  outlivesReader: boolean;
  options?: SseOptions;
}

/**
 * Sends events to a reader. A failure after the headers is an event of its own, and the normal end is not sent.
 * @returns whether all events were sent
 */
export async function sendEvents({
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
  // A source may be silent for a long time, so ending the stream must not wait for its next event.
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
