import { setTimeout as sleep } from 'node:timers/promises';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCuttable } from '../support/cuttable.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { spawnPenstock } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

// Each test has a process of its own. They wait at the same time, most of all for the product's own time limits.
let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation();
});
afterAll(() => installation.close());

/** A body that never ends. */
async function* dribble() {
  yield '--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
  for (;;) {
    await sleep(200);
    yield 'x';
  }
}

interface LedgerRow {
  state: string;
  tokens: number;
}

test.concurrent('a stop that cannot wait for a chat, or for a body, any longer tells its caller, charges what a stream delivered, and nothing for an answer that never began', async () => {
  const server = await spawnPenstock(installation);
  const { key, orgId } = await installation.createOrg();
  const ask = (directive: string, more: object = {}) => ({
    key,
    body: { messages: [{ role: 'user', content: `Hello @sandbox${directive}` }], ...more },
  });
  const stream = await server.events(
    'POST',
    '/chat/completions',
    ask('{"tokens":2000,"chunk_ms":50}', { stream: true }),
  );
  const keyed = server.rest('POST', '/chat/completions', {
    ...ask('{"delay_ms":60000}'),
    headers: { 'idempotency-key': 'cut' },
  });
  const { body: agent } = await server.rest<{ id: string }>('POST', '/agents', {
    key,
    body: { name: 'Reader', system_prompt: 'x' },
  });
  const uploading = request(`${server.origin}/api/v1/agents/${agent.id}/knowledge`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': '100000',
    },
    body: Readable.from(dribble()),
  });
  const waiting = server.rest('POST', '/chat/completions', ask('{"delay_ms":60000}'));
  await stream.events.next();
  const incoming = () => readdir(join(installation.dataDir, 'files', 'incoming'));
  await eventually(async () => (await incoming()).length === 1);
  const ended = server.signal('SIGTERM');
  const said: string[] = [];
  for await (const { data } of stream.events) said.push(data);
  expect(said.length).toBeGreaterThan(10);
  expect(JSON.parse(said.at(-1) ?? '')).toMatchObject({ code: 'server_error' });
  for (const answer of [await waiting, await keyed]) {
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(answer.headers['retry-after']).toBe('1');
  }
  const { statusCode, headers } = await uploading;
  expect([statusCode, headers['retry-after'], headers['connection']]).toEqual([503, '1', 'close']);
  expect(await ended).toBe(0);
  expect(await incoming()).toEqual([]);
  const rows = await installation.sql<LedgerRow>(
    `SELECT state, charged[2]::int AS tokens FROM usage_ledger WHERE org_id = $1 AND kind = 'chat' ORDER BY state`,
    [orgId],
  );
  expect(rows.map(({ state }) => state)).toEqual(['released', 'released', 'settled']);
  expect(rows[2]?.tokens).toBeGreaterThan(said.length / 2);
  await server.close();
}, 90_000);

test.concurrent('a chat over WebSocket that is under way when the process is stopped ends whole', async () => {
  const server = await spawnPenstock(installation);
  const { key } = await installation.createOrg();
  const query = `subscription { chatCompletion(input: {
    messages: [{ role: user, content: "Hello @sandbox{\\"tokens\\":30,\\"chunk_ms\\":100}" }]
  }) { choices { finishReason } } }`;
  const chunks = server
    .ws(key)
    .iterate<{ chatCompletion: { choices: { finishReason: string | null }[] } }>({ query });
  await chunks.next();
  const ended = server.signal('SIGTERM');
  let last: string | null | undefined;
  for await (const { data, errors } of chunks) {
    expect(errors).toBeUndefined();
    last = data?.chatCompletion.choices[0]?.finishReason ?? last;
  }
  expect(last).toBe('stop');
  expect(await ended).toBe(0);
  await server.close();
}, 60_000);

test.concurrent('a caller who hangs up is no fault of the service: its log tells of none', async () => {
  const server = await spawnPenstock(installation);
  const { key, orgId } = await installation.createOrg();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const content = 'Hello @sandbox{"delay_ms":30000,"tokens":5}';
  const query = `mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { id } }`;
  const variables = { input: { messages: [{ role: 'user', content }] } };
  for (const [path, body] of [
    ['/api/v1/chat/completions', { messages: [{ role: 'user', content }] }],
    ['/api/v1/chat/completions', { stream: true, messages: [{ role: 'user', content }] }],
    ['/graphql', { query, variables }],
  ] as const) {
    const signal = AbortSignal.timeout(500);
    const asked = fetch(server.origin + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal,
    });
    await expect(asked).rejects.toThrow();
  }
  const states = () =>
    installation.sql<{ state: string }>(
      `SELECT state FROM usage_ledger WHERE org_id = $1 AND kind = 'chat'`,
      [orgId],
    );
  await eventually(async () => {
    const rows = await states();
    return rows.length === 3 && rows.every(({ state }) => state === 'settled');
  });
  expect(await server.signal('SIGTERM')).toBe(0);
  expect(server.output()).not.toContain('"level":50');
  await server.close();
}, 60_000);

test.concurrent('a stop without PostgreSQL cuts a stream with an error event, and ends in time', async () => {
  const { key } = await installation.createOrg();
  const own = await createCuttable(installation.databaseUrl);
  const stopping = await spawnPenstock(installation, { role: 'api', env: { DATABASE_URL: own.url } });
  const { events } = await stopping.events('POST', '/chat/completions', {
    key,
    body: { stream: true, messages: [{ role: 'user', content: '@sandbox{"tokens":1000,"chunk_ms":50}' }] },
  });
  await events.next();
  own.cut();
  const ended = stopping.signal('SIGTERM');
  let last = '';
  for await (const { data } of events) last = data;
  expect(JSON.parse(last)).toMatchObject({ code: 'server_error' });
  expect(await ended).not.toBeNull();
  await stopping.close();
  await own.close();
}, 90_000);
