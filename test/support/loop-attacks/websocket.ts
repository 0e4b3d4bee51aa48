import type { Socket } from 'node:net';
import { longTexts } from '../hostile-texts.js';
import { openRawWebSocket } from '../raw-ws.js';
import { each, some, type Attack, type Attacker, type Body, type Told } from './attack.js';

/** An operation in a WebSocket message that is sent many times at once. */
const message =
  (payload: Body, times = 20) =>
  async ({ server, key }: Attacker): Promise<Told> => {
    const ws = await openRawWebSocket(`${server.origin.replace('http', 'ws')}/graphql`);
    ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
    await ws.next('connection_ack');
    for (let id = 0; id < times; id++) ws.send({ id: String(id), type: 'subscribe', payload });
    ws.send({ type: 'ping' });
    const end = await Promise.race([ws.next('pong'), ws.closed]);
    ws.socket.close();
    return { status: 200, error: 'reason' in end ? String(end['reason']) : undefined };
  };

export function webSocketAttacks(): Attack[] {
  return [
    ...each('websocket query', some(longTexts(200_000)), (text: string) => message({ query: `{ ${text} }` })),
    ...each('websocket variables', some(longTexts(80_000)), (text: string) =>
      message({ query: '{ __typename }', variables: { text } }),
    ),
    {
      field: 'websocket variables',
      form: '9,000 members',
      send: message({
        query: '{ __typename }',
        variables: Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`v${at}`, at])),
      }),
    },
    {
      field: 'websocket variables',
      form: '80,000 lists',
      send: message({ query: '{ __typename }', variables: { a: Array.from({ length: 80_000 }, () => []) } }),
    },
    {
      field: 'websocket embeddings',
      form: '2,048 of 4,096',
      send: untilComplete({
        query:
          'mutation ($input: CreateEmbeddingsInput!) { createEmbeddings(input: $input) { data { embedding } } }',
        variables: {
          input: { input: Array.from({ length: 2048 }, (_, at) => `text ${at}`), dimensions: 4096 },
        },
      }),
    },
    ...frames(),
  ];
}

/** One operation; waits for its whole answer. */
const untilComplete =
  (payload: Body) =>
  async ({ server, key }: Attacker): Promise<Told> => {
    const ws = await openRawWebSocket(`${server.origin.replace('http', 'ws')}/graphql`);
    ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
    await ws.next('connection_ack');
    ws.send({ id: '1', type: 'subscribe', payload });
    const end = await Promise.race([ws.next('complete'), ws.next('error'), ws.closed]);
    ws.socket.close();
    return {
      status: 200,
      error: 'payload' in end ? JSON.stringify(end['payload']).slice(0, 200) : undefined,
    };
  };

/** The bits of a final frame and of a mask. */
const BIT = 0x80;
/** A client's frame, with a mask of zeros. */
function frame(text: string, opcode = 1, fin = true): Buffer {
  const body = Buffer.from(text);
  const first = (fin ? BIT : 0) | opcode;
  const head =
    body.length < 126
      ? [first, BIT | body.length]
      : [first, BIT | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((bits) => (body.length >>> bits) & 255)];
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), body]);
}

/** Sends these bytes on an authenticated connection, or instead of the authentication. */
const says =
  (bytes: () => Buffer, isOpen = true) =>
  async ({ server, key }: Attacker): Promise<Told> => {
    const ws = await openRawWebSocket(`${server.origin.replace('http', 'ws')}/graphql`);
    ws.socket.on('error', () => undefined);
    if (isOpen) {
      ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
      await ws.next('connection_ack');
    }
    const stream = (ws.socket as unknown as { _socket: Socket })._socket;
    stream.write(bytes());
    stream.write(frame('{"type":"complete","id":"none"}'));
    stream.write(frame('', 8));
    const { code } = await ws.closed;
    return { status: 200, error: `closed with ${code}` };
  };

const repeated = (piece: Buffer, times: number): Buffer =>
  Buffer.concat(Array.from({ length: times }, () => piece));
const ping = frame('{"type":"ping"}');
const MB = 1_048_576;
const open = (id: number): string =>
  JSON.stringify({
    type: 'subscribe',
    id: String(id),
    payload: { query: 'subscription { jobUpdates { type } }' },
  });

const frames = (): Attack[] =>
  (
    [
      ['100,000 messages', () => repeated(ping, 100_000)],
      ['100,000 pings of the protocol below', () => repeated(frame('', 9), 100_000)],
      ['100,000 pings with content', () => repeated(frame('a'.repeat(125), 9), 100_000)],
      ['100,000 pongs of the protocol below', () => repeated(frame('', 10), 100_000)],
      [
        'a message in 100,000 frames',
        () =>
          Buffer.concat([
            frame('{', 1, false),
            repeated(frame(' ', 0, false), 100_000),
            frame('"type":"ping"}', 0),
          ]),
      ],
      [
        'a message in 1,000,000 empty frames',
        () =>
          Buffer.concat([
            frame('{', 1, false),
            repeated(frame('', 0, false), 1_000_000),
            frame('"type":"ping"}', 0),
          ]),
      ],
      ['100,000 completes', () => repeated(frame('{"type":"complete","id":"a"}'), 100_000)],
      ['1,500 subscriptions', () => Buffer.concat(Array.from({ length: 1500 }, (_, at) => frame(open(at))))],
      [
        '20,000 subscriptions that are completed',
        () =>
          Buffer.concat(
            Array.from({ length: 20_000 }, () =>
              Buffer.concat([frame(open(1)), frame('{"type":"complete","id":"1"}')]),
            ),
          ),
      ],
      [
        'a ping with 250 KB',
        () => repeated(frame(`{"type":"ping","payload":{"a":"${'a'.repeat(250_000)}"}}`), 50),
      ],
      ['a message of 1 MB', () => frame(`{"type":"ping","payload":{"a":"${'a'.repeat(MB)}"}}`)],
      ['an id of 250 KB', () => repeated(frame(`{"type":"complete","id":"${'a'.repeat(250_000)}"}`), 20)],
    ] as const
  )
    .map(([form, bytes]): Attack => ({
      field: 'websocket frames',
      form,
      send: (attacker) => says(bytes)(attacker),
    }))
    .concat(
      (
        [
          [
            '250 KB of escapes',
            () =>
              frame(
                `{"type":"connection_init","payload":{"authorization":"${String.raw`\u00e9`.repeat(40_000)}"}}`,
              ),
          ],
          [
            '80,000 lists',
            () => frame(`{"type":"connection_init","payload":{"a":[${'[],'.repeat(80_000)}1]}}`),
          ],
          ['100,000 messages', () => repeated(ping, 100_000)],
          [
            '50,000 levels',
            () => frame(`{"type":"connection_init","payload":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
          ],
        ] as const
      ).map(([form, bytes]): Attack => ({
        field: 'websocket before its key',
        form,
        send: (attacker) => says(bytes, false)(attacker),
      })),
    );
