import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server.close());

let keys = 0;
const fresh = () => ({ 'idempotency-key': `key ${(keys += 1)}` });
const chat = (text: string) => ({ messages: [{ role: 'user', content: text }] });
const used = async (key: string, bucket: string) => {
  const { body } = await server.rest<{ quotas: Record<string, { used: number }> }>('GET', '/quota', { key });
  return body.quotas[bucket]?.used;
};

test('a retry joins a stream that is still being written', async () => {
  const { key } = await server.createOrg();
  const headers = fresh();
  const body = { ...chat('Hello @sandbox{"tokens":30,"chunk_ms":30}'), stream: true };
  const open = () => server.events('POST', '/chat/completions', { key, body, headers });
  const read = async (stream: Awaited<ReturnType<typeof open>>) => {
    const data: string[] = [];
    for await (const event of stream.events) data.push(event.data);
    return data;
  };
  const first = await open();
  const second = await open();
  const [one, two] = await Promise.all([read(first), read(second)]);
  expect(one.at(-1)).toBe('[DONE]');
  expect(two).toEqual(one);
});

test('a retry that joins a quiet stream gets its comments too, so that proxies do not close it', async () => {
  const { key } = await server.createOrg();
  const headers = { ...fresh(), authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ ...chat('@sandbox{"tokens":2,"chunk_ms":16000}'), stream: true });
  const open = () => fetch(`${server.origin}/api/v1/chat/completions`, { method: 'POST', headers, body });
  const first = await open();
  const joined = await open();
  expect(joined.headers.get('idempotent-replayed')).toBe('true');
  await Promise.all(
    [first, joined].map(async ({ body: parts }) => {
      let text = '';
      for await (const part of parts!) {
        text += Buffer.from(part).toString();
        if (text.includes(': ping\n\n')) return;
      }
      expect.fail(`no comment in ${text}`);
    }),
  );
}, 30_000);

test('a retry does not wait for a first caller whose network is gone', async () => {
  const { key } = await server.createOrg();
  const headers = { ...fresh(), authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const more = { stream: true, max_tokens: 60_000 };
  const body = JSON.stringify({ ...chat('@sandbox{"tokens":28000}'), ...more });
  const gone = await server.raw('/api/v1/chat/completions', { method: 'POST', headers, body });
  gone.body.on('error', () => undefined);
  gone.body.pause();
  const joined = await fetch(`${server.origin}/api/v1/chat/completions`, { method: 'POST', headers, body });
  expect(joined.headers.get('idempotent-replayed')).toBe('true');
  expect(await joined.text()).toMatch(/data: \[DONE\]\n\n$/);
  gone.body.destroy();
}, 30_000);

test('a chat whose client leaves goes on, is charged, and is replayed whole', async () => {
  const { key } = await server.createOrg();
  const headers = fresh();
  const body = { ...chat('Hello @sandbox{"tokens":20,"chunk_ms":20}'), stream: true };
  const { events } = await server.events('POST', '/chat/completions', { key, body, headers });
  await events.next();
  await events.return(undefined);
  const replay = await server.events('POST', '/chat/completions', { key, body, headers });
  const data: string[] = [];
  for await (const event of replay.events) data.push(event.data);
  expect(data.at(-1)).toBe('[DONE]');
  expect(data).toHaveLength(23);
  expect(await used(key, 'credits')).toBe(1);
});
