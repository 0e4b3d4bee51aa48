import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => server?.close());

interface Chunk {
  object: string;
  choices: { delta: { role?: string; content?: string }; finish_reason: string | null }[];
  usage?: { credits_used: number };
  model_tier?: string;
}

const messages = [{ role: 'user', content: 'Hello. @sandbox{"tokens":8}' }];

async function textsOf(events: AsyncIterable<{ data: string }>): Promise<string[]> {
  const all: string[] = [];
  for await (const event of events) all.push(event.data);
  return all;
}

async function collect(path: string, body: object, headers: Record<string, string> = {}) {
  const { status, events } = await server.events('POST', path, { key, body, headers });
  return { status, all: await textsOf(events) };
}

/** What comes on one connection after these bytes, until the other side ends it. */
function exchange(sent: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    socket.on('error', reject).on('close', () => resolve(received));
    socket.write(sent);
  });
}

function streamRequest(version: string, headers: string): string {
  const body = JSON.stringify({ messages, stream: true });
  return (
    `POST /api/v1/chat/completions HTTP/${version}\r\nHost: penstock\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body}`
  );
}

/** The content of chunks of the transfer coding. @throws Error where one's length is not what it says */
function unframed(coded: string): { content: string; rest: string } {
  let [content, rest] = ['', Buffer.from(coded)];
  for (;;) {
    const line = rest.indexOf('\r\n');
    const length = Number.parseInt(rest.subarray(0, line).toString(), 16);
    const end = line + 2 + length;
    if (rest.subarray(end, end + 2).toString() !== '\r\n') throw new Error('a chunk of another length');
    content += rest.subarray(line + 2, end).toString();
    rest = rest.subarray(end + 2);
    if (length === 0) return { content, rest: rest.toString() };
  }
}

const afterHead = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4);

describe('a chat stream over REST', () => {
  it.each([
    ['the body', '/chat/completions', { messages, stream: true }],
    ['the query', '/chat/completions?stream=true', { messages }],
  ])('is asked for in %s, and ends with [DONE]', async (_where, path, body) => {
    const { status, all } = await collect(path, body);
    expect(status).toBe(200);
    expect(all.at(-1)).toBe('[DONE]');
    const chunks = all.slice(0, -1).map((text) => JSON.parse(text) as Chunk);
    expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk')).toBe(true);
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
    const last = chunks.at(-1);
    expect(last?.choices[0]?.finish_reason).toBeTruthy();
    expect(last?.usage?.credits_used).toBe(1);
    expect(last?.model_tier).toBe('basic');
  });

  it('that fails after its first chunk ends with an error and no [DONE]', async () => {
    const failing = [
      { role: 'user', content: '@sandbox{"tokens":20,"fail":"broken","fail_after_tokens":5}' },
    ];
    const { status, all } = await collect('/chat/completions', { messages: failing, stream: true });
    expect(status).toBe(200);
    expect(all).not.toContain('[DONE]');
    expect(JSON.parse(all.at(-1)!)).toMatchObject({ code: 'server_error' });
  });

  it.each([
    ['no messages', '/chat/completions', { messages: [], stream: true }, 'messages'],
    [
      'a stream field that is no boolean',
      '/chat/completions?stream=true',
      { messages, stream: {} },
      'stream',
    ],
  ])('that is refused for %s is JSON with its status', async (_why, path, body, param) => {
    const answer = await server.rest('POST', path, { key, body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', param } });
    expect(answer.headers['content-type']).toContain('application/json');
  });

  it.each([
    ['before its first word', '"delay_ms":1500,', 300],
    ['in the middle of it', '', 600],
  ])('ends within a second when its key is revoked %s', async (_when, first, afterMs) => {
    const { orgId } = await server.createOrg();
    const own = await server.createKey(orgId);
    const content = `Hello @sandbox{${first}"tokens":100,"chunk_ms":100}`;
    const body = { messages: [{ role: 'user', content }], stream: true };
    const startedAt = performance.now();
    const asked = server.events('POST', '/chat/completions', { key: own.key, body });
    await sleep(afterMs);
    await server.cli('key', 'revoke', '--id', own.id);
    const read = async () => {
      for await (const { data } of (await asked).events) expect(data).not.toBe('[DONE]');
    };
    await read().catch((error: Error) => expect(error.name).not.toBe('AssertionError'));
    expect(performance.now() - startedAt).toBeLessThan(3500);
  });

  it('is chunked for HTTP/1.1, and the connection then takes the next request', async () => {
    const both = streamRequest('1.1', '') + streamRequest('1.1', 'Connection: close\r\n');
    const first = unframed(afterHead(await exchange(both)));
    expect(first.content).toMatch(/^data: .*\n\ndata: \[DONE\]\n\n$/s);
    expect(first.rest).toMatch(/^HTTP\/1\.1 200 /);
    const second = unframed(afterHead(first.rest));
    expect(second.content).toMatch(/^data: .*\n\ndata: \[DONE\]\n\n$/s);
    expect(second.rest).toBe('');
  });

  it('comes without a transfer coding for HTTP/1.0', async () => {
    const answer = await exchange(streamRequest('1.0', ''));
    expect(answer.toLowerCase()).not.toContain('transfer-encoding');
    expect(afterHead(answer)).toMatch(/^data: .*\n\ndata: \[DONE\]\n\n$/s);
  });

  it('carries the rate limit headers', async () => {
    const response = await server.raw('/api/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages, stream: true }),
    });
    await response.body.text();
    expect(response.headers['x-ratelimit-limit']).toBe('30');
    expect(response.headers['content-type']).toContain('text/event-stream');
    expect(response.headers['x-request-id']).toBeTruthy();
  });

  it('with an Idempotency-Key is replayed whole, charged once', async () => {
    const headers = { 'idempotency-key': 'stream-1' };
    const first = await collect('/chat/completions', { messages, stream: true }, headers);
    const again = await collect('/chat/completions', { messages, stream: true }, headers);
    expect(again.all).toEqual(first.all);
    const other = await server.rest('POST', '/chat/completions', { key, body: { messages }, headers });
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
  });

  it.each([
    ['breaks off', '"tokens":200,"fail":"broken","fail_after_tokens":100,"chunk_ms":5', 'Generation failed'],
    ['grows too large to be kept', '"tokens":40000', 'The answer was too large to be joined'],
  ])('that %s ends with an error event for the retry that joined it, too', async (_how, directive, error) => {
    const body = {
      messages: [{ role: 'user', content: `Hello @sandbox{${directive}}` }],
      stream: true,
      max_tokens: 40_000,
    };
    const headers = { 'idempotency-key': `joined-${error}` };
    const open = () => server.events('POST', '/chat/completions', { key, body, headers });
    const [first, second] = [await open(), await open()];
    const [own = [], joined = []] = await Promise.all([first.events, second.events].map(textsOf));
    expect(own.at(-1) === '[DONE]').toBe(error !== 'Generation failed');
    expect(joined.length).toBeGreaterThan(50);
    for (const text of joined) JSON.parse(text);
    expect(JSON.parse(joined.at(-1)!)).toEqual({ error, code: 'server_error' });
  });

  it.each([false, true])(
    'with an Idempotency-Key (%s) that its window refuses takes no slot of its key',
    async (stream) => {
      const { key: own } = await server.createOrg();
      const body = { messages, stream };
      const ask = async (faulty: object, headers = {}) =>
        await server.rest('POST', '/chat/completions', { key: own, body: faulty, headers });
      for (let i = 0; i < 30; i++) await ask({ messages: [] });
      const refused = await ask(body, { 'idempotency-key': 'once' });
      expect(refused).toMatchObject({ status: 429, headers: { 'x-ratelimit-limit': '30' } });
      const { headers } = await server.rest('GET', '/quota', { key: own });
      expect(headers).toMatchObject({ 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '269' });
    },
  );

  it('reads as the official client reads it', async () => {
    const client = new OpenAI({ baseURL: server.baseUrl, apiKey: key, maxRetries: 0 });
    const whole = await client.chat.completions.create({
      model: 'sandbox/chat-basic',
      messages: [{ role: 'user', content: 'Hello. @sandbox{"tokens":8}' }],
    });
    const stream = await client.chat.completions.create({
      model: 'sandbox/chat-basic',
      messages: [{ role: 'user', content: 'Hello. @sandbox{"tokens":8}' }],
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe(whole.choices[0]?.message.content);
    const models = await client.models.list();
    expect(models.data.length).toBeGreaterThan(200);
    expect((await client.models.retrieve('sandbox/chat-basic')).id).toBe('sandbox/chat-basic');
    const embedded = await client.embeddings
      .create({ model: 'sandbox/embedding-basic', input: 'x' })
      .catch((error: Error) => error);
    expect(embedded).toMatchObject({ object: 'list' });
  });
});

describe('a job’s stream over REST', () => {
  interface JobEvent {
    sequence: number;
    type: string;
    job: { id: string; status: string };
  }

  async function follow(id: string, headers: Record<string, string> = {}) {
    const { status, events } = await server.events('GET', `/jobs/${id}/stream`, { key, headers });
    const all: { id: string | null; event: JobEvent }[] = [];
    for await (const event of events) all.push({ id: event.id, event: JSON.parse(event.data) as JobEvent });
    return { status, all };
  }

  it('starts with the job as it is, carries sequences as ids, and ends with the job', async () => {
    const made = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
      key,
      body: { prompt: 'x', size: '512x512' },
    });
    const { status, all } = await follow(made.body.id);
    expect(status).toBe(200);
    expect(all.every(({ id, event }) => id === String(event.sequence))).toBe(true);
    expect(all.at(-1)?.event).toMatchObject({
      type: 'job.completed',
      job: { id: made.body.id, status: 'completed' },
    });

    const replayed = await follow(made.body.id, { 'last-event-id': '1' });
    const last = all.at(-1)!.event.sequence;
    expect(replayed.all.map(({ event }) => event.sequence)).toEqual(
      Array.from({ length: last - 1 }, (_, i) => i + 2),
    );
    expect((await follow(made.body.id, { 'last-event-id': String(last) })).all).toEqual([]);
  });

  it.each([
    ['abc', 400],
    ['999999', 400],
    ['-1', 400],
  ])('from the event %s is %i', async (lastEventId, status) => {
    const made = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
      key,
      body: { prompt: 'x', size: '512x512' },
    });
    const answer = await server.rest('GET', `/jobs/${made.body.id}/stream`, {
      key,
      headers: { 'last-event-id': lastEventId },
    });
    expect(answer).toMatchObject({ status, body: { param: 'Last-Event-ID' } });
    expect(answer.body['error']).toMatch(/^Last-Event-ID /);
  });

  it('of an unknown job is 404', async () => {
    expect(await server.rest('GET', '/jobs/job_nope/stream', { key })).toMatchObject({
      status: 404,
      body: { error: 'Job not found' },
    });
  });
});

describe('an asynchronous creation', () => {
  it('gives its retry the first answer, not the job as it is by now, also where none was kept', async () => {
    const { key: own, orgId } = await server.createOrg({ plan: 'business_monthly' });
    const query = `mutation { generateImage(input: { prompt: "x", size: "512x512" }, async: true) {
      created job { id status progress startedAt completedAt outputData actualCredits } } }`;
    const calls: [string, object][] = [
      ['/api/v1/images/generations?async=true', { prompt: 'x', size: '512x512' }],
      ['/graphql', { query }],
    ];
    const posts = async () =>
      await Promise.all(
        calls.map(async ([path, body]) => {
          const headers = { authorization: `Bearer ${own}`, 'content-type': 'application/json' };
          const sent = {
            method: 'POST',
            headers: { ...headers, 'idempotency-key': path },
            body: JSON.stringify(body),
          } as const;
          return await (await server.raw(path, sent)).body.text();
        }),
      );
    const first = await posts();
    const statuses = async () =>
      (await server.rest<{ jobs: { status: string }[] }>('GET', '/jobs', { key: own })).body.jobs.map(
        ({ status }) => status,
      );
    await eventually(async () => (await statuses()).join() === 'completed,completed');
    // As a process leaves it that ends between the job and the answer.
    await server.services.database.system.query(
      `UPDATE idempotency_keys SET state = 'in_flight', process_id = 'prc_gone', status = NULL, headers = NULL, body = NULL
        WHERE org_id = $1`,
      [orgId],
    );
    expect(await posts()).toEqual(first);
    expect(await statuses()).toHaveLength(2);
  });
});
