/**
 * Many subscribers in one process: opens sockets, subscribes on each, and counts items. It has a channel: it accepts
 * `{subscribe: {port, headers, count, query, variables}}` and `{expect: n}`, and sends `{open: true}` when every socket has its
 * subscription acknowledged, and `{reached: n}` when it has counted n items in total. Frames are only counted, so that reading them
 * costs as little as possible.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export interface SubscribeOrder {
  port: number;
  count: number;
  payload: Record<string, unknown>;
  query: string;
  variables: Record<string, unknown>;
}

let counted = 0;
let expected = Number.POSITIVE_INFINITY;

function count(frames: number): void {
  counted += frames;
  if (counted < expected) return;
  expected = Number.POSITIVE_INFINITY;
  process.send?.({ reached: counted });
}

/** A client's text frame, masked with zeros. */
function frame(text: string): Buffer {
  const body = Buffer.from(text);
  const head =
    body.length < 126
      ? Buffer.from([0x81, 0x80 | body.length, 0, 0, 0, 0])
      : Buffer.from([0x81, 0xfe, body.length >> 8, body.length & 255, 0, 0, 0, 0]);
  return Buffer.concat([head, body]);
}

/** Walks the frames of one socket; calls back for each whole message of text. */
class Frames {
  private rest: Buffer = Buffer.alloc(0);

  constructor(
    private readonly onMessage: (start: Buffer) => void,
    private readonly onPing: () => void,
  ) {}

  take(chunk: Buffer): void {
    let data = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    for (;;) {
      const [head, length] = sizeOf(data);
      if (data.length < head + length || head === 0) break;
      const first = data[0] ?? 0;
      const [final, opcode] = [(first & 0x80) !== 0, first & 0x0f];
      if (final && opcode <= 2) this.onMessage(data.subarray(head, head + 24));
      if (opcode === 9) this.onPing();
      if (opcode === 8) throw new Error(`closed: ${data.subarray(head + 2, head + length).toString()}`);
      data = data.subarray(head + length);
    }
    this.rest = data;
  }
}

/** Bytes of a frame's header and of its body; 0 if the header has not arrived yet. */
function sizeOf(data: Buffer): [head: number, body: number] {
  if (data.length < 2) return [0, 0];
  const short = (data[1] ?? 0) & 0x7f;
  if (short < 126) return [2, short];
  if (short === 126) return data.length < 4 ? [0, 0] : [4, data.readUInt16BE(2)];
  return data.length < 10 ? [0, 0] : [10, Number(data.readBigUInt64BE(2))];
}

async function open(order: SubscribeOrder): Promise<void> {
  const socket: Socket = connect(order.port, '127.0.0.1');
  socket.setNoDelay(true);
  socket.write(
    `GET /graphql HTTP/1.1\r\nhost: 127.0.0.1:${order.port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
      `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n` +
      `sec-websocket-protocol: graphql-transport-ws\r\n\r\n`,
  );
  const subscribe = {
    id: 's',
    type: 'subscribe',
    payload: { query: order.query, variables: order.variables },
  };
  /** Both servers end connections that do not answer. */
  const pong = (): void => void socket.write(Buffer.from([0x8a, 0x80, 0, 0, 0, 0]));
  await new Promise<void>((resolve, reject) => {
    const frames = new Frames((start) => {
      if (start.includes('connection_ack')) {
        socket.write(frame(JSON.stringify(subscribe)));
        resolve();
      } else count(1);
    }, pong);
    let upgraded = false;
    socket.on('data', (chunk: Buffer) => {
      if (upgraded) return frames.take(chunk);
      const end = chunk.indexOf('\r\n\r\n');
      if (!chunk.toString('latin1').startsWith('HTTP/1.1 101') || end < 0)
        return reject(new Error(String(chunk)));
      upgraded = true;
      socket.write(frame(JSON.stringify({ type: 'connection_init', payload: order.payload })));
      if (end + 4 < chunk.length) frames.take(chunk.subarray(end + 4));
    });
    socket.on('error', reject);
  });
}

async function openAll(order: SubscribeOrder): Promise<void> {
  for (let opened = 0; opened < order.count; opened += 50)
    await Promise.all(Array.from({ length: Math.min(50, order.count - opened) }, () => open(order)));
  process.send?.({ open: true });
}

process.on('message', (message: { subscribe?: SubscribeOrder; expect?: number }) => {
  if (message.subscribe) void openAll(message.subscribe);
  if (message.expect !== undefined) {
    expected = counted + message.expect;
    process.send?.({ expecting: true });
  }
});
process.on('disconnect', () => process.exit(0));
