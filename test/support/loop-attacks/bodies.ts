import { connect } from 'node:net';
import { MB, rest, type Attack, type Attacker, type Told } from './attack.js';

const CHAT_TAIL = ',"messages":[{"role":"user","content":"Hi"}],"max_tokens":5}';

/** JSON that takes long to parse, in bodies that a route accepts; the JSON is in an unknown field. */
const JSON_FORMS: readonly (readonly [string, () => string])[] = [
  ['a string of 17 million é', () => `"${'é'.repeat(17_000_000)}"`],
  ['5 million escapes', () => `"${String.raw`\u00e9`.repeat(5_000_000)}"`],
  ['15 million escapes of two characters', () => `"${String.raw`\n`.repeat(15_000_000)}"`],
  ['a string of 8 million emoji', () => `"${'\u{1f469}'.repeat(8_000_000)}"`],
  ['900,000 {}', () => `[${'{},'.repeat(899_999)}{}]`],
  ['900,000 []', () => `[${'[],'.repeat(899_999)}[]]`],
  ['900,000 empty texts', () => `[${'"",'.repeat(899_999)}""]`],
  ['900,000 numbers', () => `[${'-1.5e-7,'.repeat(899_999)}1]`],
  ['199,000 objects of a member each', () => `[${'{"a":1},'.repeat(198_999)}{}]`],
  ['199,000 names, each another, in ten objects', () => tenObjects(19_900)],
  ['19,000 whole numbers as names, far apart', () => `{${names(19_000, (at) => String(at * 104_729))}}`],
  ['a number of 1 MB', () => '7'.repeat(MB)],
  ['30,000 numbers of 999 digits', () => `[${`${'7'.repeat(999)},`.repeat(29_999)}1]`],
  ['a name of 30 MB', () => `{"${'k'.repeat(30 * MB)}":1}`],
  ['a name of 5 million escapes', () => `{"${String.raw`\u00e9`.repeat(5_000_000)}":1}`],
  ['30 names of 1 MB', () => `{${names(30, (at) => `${at}${'k'.repeat(MB)}`)}}`],
  ['499 levels', () => `${'['.repeat(498)}${']'.repeat(498)}`],
  ['499 levels, 2,000 times', () => `[${`${'['.repeat(400)}${']'.repeat(400)},`.repeat(1_999)}1]`],
  ['600 levels', () => `${'['.repeat(600)}${']'.repeat(600)}`],
  ['30 MB of blanks', () => `${' \n'.repeat(15 * MB)}1`],
  ['30 MB of blanks and brackets', () => `[${'[ ],\n'.repeat(900_000)}1]`],
  ['a lone surrogate after 30 MB', () => String.raw`"${'a'.repeat(30 * MB)}\ud800"`],
  ['no end', () => `"${'a'.repeat(30 * MB)}`],
  ['no end, of brackets', () => '['.repeat(30 * MB)],
];

const names = (count: number, name: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => `"${name(at)}":1`).join(',');

const tenObjects = (each: number): string =>
  `[${Array.from({ length: 10 }, (_, part) => `{${names(each, (at) => `n${part}_${at}`)}}`).join(',')}]`;

const jsonAttacks = (): Attack[] =>
  JSON_FORMS.flatMap(([form, value]) => [
    {
      field: 'chat with a field',
      form,
      send: (attacker) => chatText(`{"unknown":${value()}${CHAT_TAIL}`)(attacker),
    },
    {
      field: 'chat prediction',
      form,
      send: (attacker) => chatText(`{"prediction":${value()}${CHAT_TAIL}`)(attacker),
    },
    { field: 'chat messages', form, send: (attacker) => chatText(`{"messages":${value()}}`)(attacker) },
    {
      field: 'edit with a field',
      form,
      send: (attacker) =>
        rest('POST', '/images/edits?async=true', `{"image":${value()},"operation":"denoise"}`)(attacker),
    },
  ]);

const chatText = (text: string) => rest('POST', '/chat/completions', text);

/** A body with its own content type, to a path that accepts files. */
const formOf =
  (path: string, contentType: string, body: () => string | Buffer) =>
  async ({ server, key }: Attacker): Promise<Told> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': contentType };
    const given = body();
    const answer = await server.raw(`/api/v1${path}`, { method: 'POST', headers, body: given });
    const told = (await answer.body.json().catch(() => ({}))) as { error?: string };
    return { status: answer.statusCode, error: told.error };
  };

const MULTIPART = 'multipart/form-data; boundary=bound';
const part = (head: string, value: string): string =>
  `--bound\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
const file = (content: string, head = 'name="file"; filename="a.wav"'): string =>
  `${part(head, content)}--bound--\r\n`;

const FORMS: readonly (readonly [string, () => string])[] = [
  ['100,000 parts', () => part('name="a"', '').repeat(100_000)],
  ['100 fields of 60 KB', () => part('name="a[]"', 'a'.repeat(60_000)).repeat(100)],
  ['a file of what looks like boundaries', () => file('\r\n--boun'.repeat(2 * MB))],
  ['a file of half boundaries', () => file('\r\n--'.repeat(4 * MB))],
  ['a file of line breaks', () => file('\r\n'.repeat(8 * MB))],
  ['a file of carriage returns', () => file('\r'.repeat(16 * MB))],
  ['a head of 10 MB', () => `--bound\r\n${'x-a: b\r\n'.repeat(MB)}\r\n\r\n--bound--\r\n`],
  ['a head of one line of 10 MB', () => `--bound\r\nx-a: ${'b'.repeat(10 * MB)}\r\n\r\n\r\n--bound--\r\n`],
  ['a file name of 10 MB', () => file('a', `name="file"; filename="${'a'.repeat(10 * MB)}"`)],
  ['a file name of percents', () => file('a', `name="file"; filename*=utf-8''${'%c3%a9'.repeat(2500)}`)],
  ['a preamble of 16 MB', () => `${'a'.repeat(16 * MB)}\r\n${file('a')}`],
];

const formAttacks = (): Attack[] => [
  ...FORMS.map(([form, body]) => ({
    field: 'transcription form',
    form,
    send: formOf('/audio/transcriptions?async=true', MULTIPART, body),
  })),
  ...FORMS.map(([form, body]) => ({
    field: 'knowledge form',
    form,
    send: (attacker: Attacker) => formOf(`/agents/${attacker.agentId}/knowledge`, MULTIPART, body)(attacker),
  })),
  {
    field: 'transcription form',
    form: 'a boundary of 30 KB',
    send: formOf('/audio/transcriptions', `multipart/form-data; boundary=${'-'.repeat(30_000)}`, () =>
      '\r\n'.concat('-'.repeat(8 * MB)),
    ),
  },
  {
    field: 'form-encoded body',
    form: '30 MB of fields',
    send: formOf('/chat/completions', 'application/x-www-form-urlencoded', () => 'a=b&'.repeat(7 * MB)),
  },
];

/** An unchanged request header, over a separate connection. */
const head =
  (lines: () => string) =>
  ({ server, key }: Attacker): Promise<Told> =>
    new Promise((resolve, reject) => {
      const socket = connect(server.port, '127.0.0.1').on('error', reject);
      let said = '';
      socket.on('data', (piece) => (said += String(piece)));
      socket.on('close', () => resolve({ status: Number(/^HTTP\/1.1 (\d+)/.exec(said)?.[1] ?? 0) }));
      const [first = '', ...others] = lines().split('\n');
      const own = ['host: a', `authorization: Bearer ${key}`, 'connection: close'];
      socket.write(`${[first, ...own, ...others].join('\r\n')}\r\n\r\n`);
    });

const many = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');

const headAttacks = (): Attack[] => [
  {
    field: 'headers',
    form: '2,500, each another',
    send: head(() => `GET /api/v1/models HTTP/1.1\n${many(2500, (at) => `x-${at}: a`)}`),
  },
  {
    field: 'headers',
    form: '2,500 of one name',
    send: head(() => `GET /api/v1/models HTTP/1.1\n${many(2500, () => 'accept: a')}`),
  },
  {
    field: 'headers',
    form: 'cookies of 30 KB',
    send: head(() => `GET /graphql?query={penstockVersion{api}} HTTP/1.1\ncookie: ${'a=b; '.repeat(6000)}`),
  },
  ...['x-client-name', 'x-service-client', 'user-agent', 'traceparent', 'accept-language', 'origin'].map(
    (name) => ({
      field: name,
      form: '30 KB of é',
      send: head(() => `GET /api/v1/models HTTP/1.1\n${name}: ${'é'.repeat(15_000)}`),
    }),
  ),
  {
    field: 'address',
    form: '30 KB of slashes',
    send: head(() => `GET /api/v1/${'/'.repeat(30_000)}models HTTP/1.1`),
  },
  {
    field: 'address',
    form: '30 KB of %',
    send: head(() => `GET /api/v1/jobs?cursor=${'%e2%82'.repeat(5_000)} HTTP/1.1`),
  },
  {
    field: 'address',
    form: '10,000 fields',
    send: head(() => `GET /api/v1/jobs?${'&a=%61'.repeat(5_000)} HTTP/1.1`),
  },
  {
    field: 'address',
    form: 'a document of 30 KB',
    send: head(() => `GET /graphql?query={${'a%20'.repeat(7_000)}} HTTP/1.1`),
  },
  {
    field: 'address',
    form: 'variables of 10,000 lists',
    send: head(
      () => `GET /graphql?query={penstockVersion{api}}&variables={"a":[${'[],'.repeat(9_000)}1]} HTTP/1.1`,
    ),
  },
];

/** A frame of bare AAC, behind which its readers look for the next one. */
const FRAME = Buffer.from(`fff15080021ffc${'00'.repeat(9)}`, 'hex');
const SOUNDS: readonly (readonly [string, Buffer])[] = [
  ['bytes that begin a frame', Buffer.alloc(16 * MB, 0xff)],
  ['heads of frames that lead nowhere', Buffer.alloc(16 * MB, FRAME.subarray(0, 4))],
  ['frames without sound', Buffer.alloc(16 * MB, Buffer.from('fff1508000fffc', 'hex'))],
];

const soundAttacks = (): Attack[] =>
  SOUNDS.flatMap(([form, bytes]) =>
    [bytes, Buffer.concat([FRAME, bytes])].map((file, at) => ({
      field: 'transcription file',
      form: at === 0 ? form : `a frame, then ${form}`,
      send: rest('POST', '/audio/transcriptions?async=true', { file: file.toString('base64') }),
    })),
  );

/** Bodies, forms and headers of requests that are hostile by their form, not by their values. */
export const bodyAttacks = (): Attack[] => [
  ...jsonAttacks(),
  ...formAttacks(),
  ...soundAttacks(),
  ...headAttacks(),
];
