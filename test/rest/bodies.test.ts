import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { waveOf } from '../support/audio.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => server?.close());

it('an unknown field’s name is told as far as it can be read, over REST and GraphQL', async () => {
  const name = 'n'.repeat(1_000_000);
  const { status, body } = await server.rest('POST', '/images/generations', {
    key,
    body: { prompt: 'x', [name]: 1 },
  });
  expect({ status, ...body }).toMatchObject({
    status: 400,
    code: 'invalid_request',
    param: name.slice(0, 200),
  });
  expect(body['error']).toMatch(/^Unknown parameter: n{1900,2000}$/);
  const torn = await server.rest('POST', '/images/generations', {
    key,
    headers: { 'content-type': 'application/json' },
    body: `{"${'😀'.repeat(100_000)}":"\\ud800"}`,
  });
  expect(torn).toMatchObject({ status: 400, body: { param: '😀'.repeat(200) } });
  const { errors } = await server.graphql(
    'mutation ($of: JSON!) { createMusic: generateMusic(input: { prompt: "x", modelInputs: $of }) { created } }',
    { key, variables: { of: { [name]: 1 } } },
  );
  expect(errors).toMatchObject([{ extensions: { httpStatus: 400 } }]);
  expect(errors[0]?.message.length).toBeLessThan(2001);
});

/** The status of a POST with these headers and bytes. */
function post(path: string, rest: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    socket.on('error', reject).on('close', () => resolve(received.slice(9, 12)));
    socket.write(
      `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n${rest}`,
    );
  });
}

it('a POST that may come without a body may also have one of no bytes, in chunks', async () => {
  const path = `/agents/${await makeAgent(server, key)}/duplicate`;
  const json = 'Content-Type: application/json\r\n';
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n';
  const name = '{"name":"x"}';
  expect(await post(path, 'Content-Length: 0\r\n\r\n')).toBe('200');
  expect(await post(path, `${chunked}0\r\n\r\n`)).toBe('200');
  expect(await post(path, `${json}${chunked}0\r\n\r\n`)).toBe('200');
  expect(await post(path, `${json}${chunked}c\r\n${name}\r\n0\r\n\r\n`)).toBe('200');
  expect(await post(path, `${chunked}c\r\n${name}\r\n0\r\n\r\n`)).toBe('415');
  expect(await post(path, `Content-Length: 12\r\n\r\n${name}`)).toBe('415');
  expect(await post(path, `Content-Encoding: gzip\r\n${chunked}0\r\n\r\n`)).toBe('415');
  expect(await post('/images/generations', `${chunked}0\r\n\r\n`)).toBe('415');
  expect(await post('/images/generations', `${json}${chunked}0\r\n\r\n`)).toBe('400');
});

it('a form whose file comes as upload and as text has it twice, in either order', async () => {
  const file = new Blob([new Uint8Array(waveOf(new Int16Array(48_000)))]);
  const notes = new Blob(['Notes.']);
  const agent = await makeAgent(server, key);
  const ask = async (path: string, parts: [string, string | Blob][]) => {
    const form = new FormData();
    for (const [name, value] of parts) form.append(name, value);
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(`${server.baseUrl}${path}`, { method: 'POST', headers, body: form });
    return [answer.status, ((await answer.json()) as { param?: string }).param];
  };
  const transcription = '/audio/transcriptions';
  expect(await ask(transcription, [['file', file]])).toEqual([200, undefined]);
  for (const [path, upload] of [
    [transcription, file],
    [`/agents/${agent}/knowledge`, notes],
  ] as const) {
    expect(
      await ask(path, [
        ['file', upload],
        ['file', 'x'],
      ]),
    ).toEqual([400, 'file']);
    expect(
      await ask(path, [
        ['file', 'x'],
        ['file', upload],
      ]),
    ).toEqual([400, 'file']);
  }
});
