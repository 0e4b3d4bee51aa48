import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNameResolver } from '../../src/egress/index.js';
import type { NameResolver } from '../../src/egress/index.js';
import { eventually } from '../support/wait.js';

const NO_SUCH_NAME = 3;
const SERVER_FAILED = 2;
let server: Socket;
let folder: string;
let resolve: NameResolver;
/** Questions about `slow…`, kept without an answer. */
const held: (() => void)[] = [];

function nameOf(question: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; question[at]; at += (question[at] ?? 0) + 1)
    labels.push(question.subarray(at + 1, at + 1 + (question[at] ?? 0)).toString());
  return labels.join('.');
}

/** An answer with one IPv4 address, with none, or a refusal. */
function answerTo(question: Buffer, { code = 0, address = '' }): Buffer {
  const end = question.indexOf(0, 12) + 5;
  const isFour = question.readUInt16BE(end - 4) === 1;
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(0x8180 | code, 2);
  const records = address !== '' && isFour ? 1 : 0;
  [1, records, 0, 0].forEach((count, index) => head.writeUInt16BE(count, 4 + 2 * index));
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]);
  return Buffer.concat([head, question.subarray(12, end), ...(records === 1 ? [record] : [])]);
}

beforeAll(async () => {
  server = createSocket('udp4');
  server.on('message', (question, { port, address }) => {
    const name = nameOf(question);
    const say = (answer: Buffer): void => server.send(answer, port, address);
    if (name.startsWith('slow')) held.push(() => say(answerTo(question, { code: SERVER_FAILED })));
    else if (name.startsWith('quick')) say(answerTo(question, { address: '203.0.113.7' }));
    else say(answerTo(question, { code: NO_SUCH_NAME }));
  });
  await new Promise<void>((done) => server.bind(0, '127.0.0.1', done));
  folder = await mkdtemp(join(tmpdir(), 'penstock-names-'));
  const hostsFile = join(folder, 'hosts');
  await writeFile(
    hostsFile,
    '# mine\n198.51.100.9  Quick.example quick-too.example # both\n::2 quick-too.example\n',
  );
  resolve = createNameResolver({ servers: [`127.0.0.1:${server.address().port}`], hostsFile });
});

afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

const addressesOf = (name: string): Promise<string[]> =>
  new Promise((done, fail) => {
    resolve(name, { all: true }, (error, addresses) =>
      error === null ? done(addresses.map(({ address }) => address)) : fail(error),
    );
  });

test('names whose servers stay silent hold up no other name', async () => {
  let over = 0;
  const names = Array.from({ length: 40 }, (_, index) => `slow${index}.test`);
  const slow = names.map((name) => addressesOf(name).finally(() => (over += 1)));
  const failed = Promise.allSettled(slow);
  await eventually(() => held.length >= 80, { what: 'the questions about slow names' });
  expect(await addressesOf('quick.test')).toEqual(['203.0.113.7']);
  expect(await addressesOf('localhost')).toContain('127.0.0.1');
  expect(over).toBe(0);
  for (const answer of held) answer();
  for (const { status, ...rest } of await failed)
    expect({ status, ...rest }).toMatchObject({ status: 'rejected', reason: { code: 'ESERVFAIL' } });
});

test('the hosts file stands before the name servers, and the system behind them', async () => {
  expect(await addressesOf('QUICK.example')).toEqual(['198.51.100.9']);
  expect(await addressesOf('quick-too.example.')).toEqual(['198.51.100.9', '::2']);
  expect(await addressesOf('192.0.2.1')).toEqual(['192.0.2.1']);
  expect(await addressesOf('localhost')).toContain('127.0.0.1');
  await expect(addressesOf('nobody.invalid')).rejects.toMatchObject({ code: expect.stringMatching(/^E/) });
});
