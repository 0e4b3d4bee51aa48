import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Outgoing, Turn } from '../../subscriptions/server/outgoing.js';
import { eventually, seededRandom } from '../support/wait.js';

const READERS = 12;
const PING = Buffer.from([0x89, 0x00]);
const HEAD = Buffer.from('{"payload":');

let server: Server;
const open: Socket[] = [];
beforeAll(async () => {
  server = createServer((socket) => open.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  for (const socket of open) socket.destroy();
  server.close();
});

/** Both ends of a connection whose reader reads nothing yet. */
async function connection(): Promise<{ writer: Socket; reader: Socket }> {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const reader = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).pause();
  open.push(reader);
  const [writer] = await accepted;
  return { writer, reader };
}

/** The texts of the frames of text; throws for what is no whole frame of a server. */
function textsOf(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const code = bytes[at];
    const short = bytes[at + 1] ?? 0;
    const [length, start] =
      short < 126
        ? [short, at + 2]
        : short === 126
          ? [bytes.readUInt16BE(at + 2), at + 4]
          : [bytes.readUInt32BE(at + 6), at + 10];
    if (code === 0x81) texts.push(bytes.toString('latin1', start, start + length));
    else if (code !== 0x89) throw new Error(`no frame begins at ${at}`);
    at = start + length;
  }
  return texts;
}

test.each([
  { what: 'short', most: 300, messages: 30_000 },
  { what: 'long', most: 20_000, messages: 1_000 },
])(
  'readers that stop for a while get every $what message afterwards, whole and in order',
  async ({ most, messages }) => {
    const turn = new Turn();
    const random = seededRandom(3);
    let sent = 0;
    const readers = [];
    for (let index = 0; index < READERS; index += 1) {
      const { writer, reader } = await connection();
      const outgoing = new Outgoing(writer, turn);
      const texts: string[] = [];
      const parts: Buffer[] = [];
      reader.on('data', (part: Buffer) => parts.push(part)).pause();
      const write = async () => {
        for (let message = 0; message < messages; message += 1) {
          const text = String.fromCharCode(65 + index).repeat(1 + random() * most) + message;
          const isWhole = message % 3 === 0;
          texts.push(isWhole ? text : `${HEAD.toString()}${text}}`);
          await outgoing.push(isWhole ? null : HEAD, Buffer.from(text));
          // As `ws` writes it: past what is gathered.
          if (message % 50 === 0) writer.write(PING);
          sent += 1;
        }
        outgoing.flush();
      };
      readers.push({ reader, parts, texts, written: write() });
    }
    // Until nobody's messages are taken any more.
    let before = -1;
    await eventually(() => before === (before = sent) && sent > 0, { everyMs: 300 });
    expect(sent).toBeLessThan(READERS * messages);
    for (const { reader } of readers) reader.resume();
    await Promise.all(readers.map(({ written }) => written));
    for (const { parts, texts } of readers) {
      const wanted = texts.join('\n');
      await eventually(() => textsOf(Buffer.concat(parts)).join('\n') === wanted, { everyMs: 300 });
    }
  },
);
