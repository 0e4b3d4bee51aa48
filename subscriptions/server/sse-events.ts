import type { ServerResponse } from 'node:http';
import { untilDrained } from '../../src/http/index.js';

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

const STALL_TIMEOUT_MS = 60_000;
const EVENT_END = Buffer.from('\n\n');

/** @param place the event's id */
export function eventOf(name: 'next' | 'complete', data: Buffer, place?: string): Buffer {
  const id = place === undefined ? '' : `id: ${place}\n`;
  return Buffer.concat([Buffer.from(`${id}event: ${name}\ndata: `), data, EVENT_END]);
}

/** A reader that accepts nothing for a minute counts as gone (decisions 6). */
export async function room(response: ServerResponse): Promise<void> {
  const timer = setTimeout(() => response.destroy(), STALL_TIMEOUT_MS);
  await untilDrained(response);
  clearTimeout(timer);
}
