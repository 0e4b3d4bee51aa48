import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { openSse, type SseOptions } from '../../src/http/sse.js';
import { sendEvents } from '../../rest-compat/shared/stream.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server whose one answer is written by `work`, and a client socket that has asked for it. */
async function answering(work: (response: ServerResponse) => void): Promise<Socket> {
  const server = createServer((_request, response) => work(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  closers.push(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return socket;
}

function textUntil(socket: Socket, mark: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (part: Buffer) => {
      text += part.toString();
      if (text.includes(mark)) resolve(text);
    });
  });
}

async function* endless(state: { taken: number; ended: boolean }): AsyncGenerator<string> {
  try {
    for (;;) {
      state.taken++;
      yield 'x'.repeat(64 * 1024);
      await Promise.resolve();
    }
  } finally {
    state.ended = true;
  }
}

const fail = (): string => 'data: {"error":"Generation failed","code":"server_error"}\n\n';

/** A stream that is kept for retries. */
const recorded = (response: ServerResponse, events: AsyncIterable<string>, options: SseOptions) =>
  sendEvents({ response, events, format: String, ending: () => 'end', fail, outlivesReader: true, options });

describe('a stream of Server-Sent Events', () => {
  it('sends its head at once and a comment while it is quiet', async () => {
    const socket = await answering((response) => openSse(response, { pingIntervalMs: 20 }));
    const text = await textUntil(socket, ': ping\n\n');
    expect(text).toContain('text/event-stream');
  });

  it('holds its source back while the reader does not read, then gives it up', async () => {
    const state = { taken: 0, ended: false };
    const carried = new Promise<boolean>((resolve) => {
      void answering((response) => {
        const work = {
          response,
          events: endless(state),
          format: String,
          ending: () => '',
          fail,
          outlivesReader: false,
        };
        void sendEvents({ ...work, options: { stallTimeoutMs: 200 } }).then(resolve);
      }).then((socket) => socket.pause());
    });
    expect(await carried).toBe(false);
    expect(state.ended).toBe(true);
    expect(state.taken).toBeLessThan(1000);
  });

  it('ends its source when the reader goes', async () => {
    const state = { taken: 0, ended: false };
    let tell: (whole: boolean) => void = () => undefined;
    const carried = new Promise<boolean>((resolve) => (tell = resolve));
    const socket = await answering((response) => {
      void sendEvents({
        response,
        events: endless(state),
        format: String,
        ending: () => '',
        fail,
        outlivesReader: false,
      }).then(tell);
    });
    await textUntil(socket, 'xxx');
    socket.destroy();
    expect(await carried).toBe(false);
    expect(state.ended).toBe(true);
  });

  it('ends a source that has nothing to say when its reader goes', async () => {
    let tell: (whole: boolean) => void = () => undefined;
    const carried = new Promise<boolean>((resolve) => (tell = resolve));
    let end: (step: IteratorResult<string>) => void = () => undefined;
    const silent: AsyncIterableIterator<string> = {
      next: () => new Promise((resolve) => (end = resolve)),
      async return() {
        end({ done: true, value: undefined });
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => silent,
    };
    const socket = await answering((response) => {
      void sendEvents({
        response,
        events: silent,
        format: String,
        ending: () => '',
        fail,
        outlivesReader: false,
      }).then(tell);
    });
    await textUntil(socket, 'event-stream');
    socket.destroy();
    expect(await carried).toBe(false);
  });

  it('that is recorded is taken to its end without its reader', async () => {
    const copied: string[] = [];
    let tell: (whole: boolean) => void = () => undefined;
    const carried = new Promise<boolean>((resolve) => (tell = resolve));
    let release: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (release = resolve));
    async function* events() {
      yield 'one';
      await gone;
      yield 'two';
    }
    const socket = await answering((response) => {
      response.once('close', release);
      void recorded(response, events(), { copy: (text) => copied.push(text) > 0 }).then(tell);
    });
    await textUntil(socket, 'one');
    socket.destroy();
    expect(await carried).toBe(true);
    expect(copied).toEqual(['one', 'two', 'end']);
  });

  it('that is recorded reaches a reader who is slow but reads, whole and in order', async () => {
    const count = 400;
    async function* events() {
      for (let index = 0; index < count; index++) yield `${index}:${'x'.repeat(64 * 1024)};`;
    }
    const socket = await answering((response) => {
      void recorded(response, events(), { copy: () => true, stallTimeoutMs: 5000 });
    });
    const parts: Buffer[] = [];
    for await (const part of socket as AsyncIterable<Buffer>) {
      parts.push(part);
      if (part.subarray(-7).toString() === '\r\n0\r\n\r\n') break;
      await sleep(8);
    }
    const text = Buffer.concat(parts).toString();
    const numbers = [...text.matchAll(/(\d+):x/g)].map(([, number]) => Number(number));
    expect(numbers).toEqual(Array.from({ length: count }, (_, index) => index));
    expect(text).toContain('end\r\n0\r\n');
  });

  it('tells a failure as an event and has no ending', async () => {
    async function* events() {
      yield 'data: 1\n\n';
      throw new Error('inside');
    }
    const socket = await answering((response) => {
      void sendEvents({
        response,
        events: events(),
        format: String,
        ending: () => 'data: [DONE]\n\n',
        fail,
        outlivesReader: false,
      });
    });
    const text = await textUntil(socket, '\r\n0\r\n');
    expect(text).toContain('data: {"error":"Generation failed","code":"server_error"}\n\n');
    expect(text).not.toContain('DONE');
    expect(text).not.toContain('inside');
  });
});
