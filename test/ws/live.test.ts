import type { Client } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openRawWebSocket } from '../support/raw-ws.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually, seededRandom } from '../support/wait.js';
import type { JobHub } from '../../subscriptions/index.js';

interface Item {
  sequence: number;
  type: string;
  job: { id: string; status: string; progress: number; tool: string };
}

const FIELDS = 'sequence type job { id status progress tool }';
let server: TestServer;
let key: string;
let orgId: string;

beforeAll(async () => {
  const endpointLimits = { image: { limit: 500, windowSeconds: 60 } };
  server = await startPenstock({
    plans: { endpointLimits, plans: { cli_team: { limits: { image_generations: 1000 } } } },
  });
  ({ key, orgId } = await server.createOrg({ plan: 'cli_team' }));
});
afterAll(() => server.close());

/** A job that tells its progress while it takes its time. */
async function startJob(as = key, delayMs = 800): Promise<string> {
  const body = { prompt: `a dam @sandbox{"delay_ms":${delayMs}}`, size: '512x512' };
  const { body: job } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
    key: as,
    body,
  });
  return job.id;
}

async function collect(client: Client, query: string): Promise<Item[]> {
  const items: Item[] = [];
  for await (const { data, errors } of client.iterate<Record<string, Item>>({ query })) {
    if (errors) throw new Error(errors[0]?.message);
    items.push(Object.values(data ?? {})[0] as Item);
  }
  return items;
}

const progressOf = (id: string, after?: number) =>
  `subscription { jobProgress(id: "${id}"${after === undefined ? '' : `, after: ${after}`}) { ${FIELDS} } }`;
const sequences = (items: Item[]) => items.map(({ sequence }) => sequence);
const upTo = (last: number, from = 1) => Array.from({ length: last - from + 1 }, (_, index) => from + index);

describe('jobProgress', () => {
  test('with after: 0 tells the whole story without a gap, and completes after its end', async () => {
    const items = await collect(server.ws(key), progressOf(await startJob(), 0));
    expect(sequences(items)).toEqual(upTo(items.length));
    expect(items[0]).toMatchObject({ type: 'job.pending', job: { status: 'pending' } });
    expect(items.at(-1)).toMatchObject({
      type: 'job.completed',
      job: { status: 'completed', progress: 100 },
    });
    expect(items.filter(({ type }) => type === 'job.progress').length).toBeGreaterThan(2);
  });

  test('without after begins with the job as it is', async () => {
    const id = await startJob();
    await eventually(
      async () => (await server.rest('GET', `/jobs/${id}`, { key })).body['status'] === 'processing',
    );
    const items = await collect(server.ws(key), progressOf(id));
    expect(items[0]?.sequence).toBeGreaterThan(1);
    expect(sequences(items)).toEqual(upTo(items.at(-1)!.sequence, items[0]!.sequence));
  });

  test('of a finished job tells its end at once; after its last event nothing', async () => {
    const id = await startJob(key, 0);
    const all = await collect(server.ws(key), progressOf(id, 0));
    const last = all.length;
    expect(await collect(server.ws(key), progressOf(id))).toEqual([all.at(-1)]);
    expect(await collect(server.ws(key), progressOf(id, last))).toEqual([]);
    expect(await collect(server.ws(key), progressOf(id, last - 1))).toEqual([all.at(-1)]);
  });

  test('beyond the last event is refused, as is a negative number', async () => {
    const id = await startJob(key, 0);
    await collect(server.ws(key), progressOf(id));
    for (const after of [1000, -1]) {
      await expect(collect(server.ws(key), progressOf(id, after))).rejects.toMatchObject([
        { extensions: { code: 'invalid_request', httpStatus: 400, param: 'after' } },
      ]);
    }
  });

  test("of another organisation's job looks as of an unknown one", async () => {
    const stranger = await server.createOrg();
    const refused = [{ message: 'Job not found', extensions: { code: 'not_found', httpStatus: 404 } }];
    for (const id of [await startJob(key, 0), 'job_unknown', '../x']) {
      await expect(collect(server.ws(stranger.key), progressOf(id))).rejects.toMatchObject(refused);
    }
  });

  test('needs the scope usage', async () => {
    const { key: weak } = await server.createOrg({ scopes: ['image'] });
    await expect(collect(server.ws(weak), progressOf('job_x'))).rejects.toMatchObject([
      { extensions: { code: 'forbidden', httpStatus: 403 } },
    ]);
  });

  test('of many subscribers at once reads their job in one statement, and its past in another', async () => {
    const id = await startJob(key, 0);
    const whole = await collect(server.ws(key), progressOf(id, 0));
    const getMany = vi.spyOn(server.services.jobs, 'getMany');
    const events = vi.spyOn(server.services.jobs, 'events');
    const subscribers = Array.from({ length: 50 }, () =>
      server.services.jobEvents.progress({ orgId, jobId: id, after: 0 }),
    );
    for (const subscriber of await Promise.all(subscribers)) {
      const sequence: number[] = [];
      for await (const event of subscriber) sequence.push(event.sequence);
      expect(sequence).toEqual(sequences(whole));
    }
    expect(getMany).toHaveBeenCalledTimes(1);
    expect(events.mock.calls.length).toBeLessThanOrEqual(2);
    vi.restoreAllMocks();
  });

  test('resumed after random disconnects has neither gap nor duplicate', async () => {
    const random = seededRandom(7);
    const id = await startJob(key, 3000);
    const items: Item[] = [];
    for (let interrupted = 0; items.at(-1)?.type !== 'job.completed'; interrupted++) {
      expect(interrupted).toBeLessThan(200);
      const client = server.ws(key);
      const wanted = 1 + Math.floor(random() * 4);
      let taken = 0;
      for await (const { data } of client.iterate<{ jobProgress: Item }>({
        query: progressOf(id, items.length),
      })) {
        items.push(data!.jobProgress);
        if (++taken === wanted) break;
      }
      await client.dispose();
    }
    expect(sequences(items)).toEqual(upTo(items.length));
  });
});

describe('jobUpdates', () => {
  test("tells every event of the organisation's jobs once, and of no other's", async () => {
    const mine = await server.createOrg({ plan: 'cli_team' });
    const stranger = await server.createOrg({ plan: 'cli_team' });
    const items: Item[] = [];
    const done = (async () => {
      const query = `subscription { jobUpdates { ${FIELDS} } }`;
      for await (const { data } of server.ws(mine.key).iterate<{ jobUpdates: Item }>({ query })) {
        items.push(data!.jobUpdates);
        if (items.filter(({ type }) => type === 'job.completed').length === 5) return;
      }
    })();
    const hub = server.services.jobEvents as JobHub;
    await eventually(() => hub.size > 0);
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => startJob(mine.key, 300)));
    await startJob(stranger.key, 0);
    await done;
    for (const id of ids) {
      const own = items.filter(({ job }) => job.id === id);
      expect(sequences(own)).toEqual(upTo(own.length));
      expect(own.at(-1)?.type).toBe('job.completed');
    }
    expect(new Set(items.map(({ job }) => job.id))).toEqual(new Set(ids));
  });

  test('of one tool leaves out the others', async () => {
    const mine = await server.createOrg({ plan: 'cli_team' });
    const iterator = server
      .ws(mine.key)
      .iterate({ query: `subscription { jobUpdates(tool: video) { sequence } }` });
    const first = iterator.next();
    const hub = server.services.jobEvents as JobHub;
    await eventually(() => hub.size > 0);
    const id = await startJob(mine.key, 0);
    await collect(server.ws(mine.key), progressOf(id));
    const silence = new Promise((resolve) => setTimeout(() => resolve('silence'), 200));
    expect(await Promise.race([first, silence])).toBe('silence');
  });
});

describe('chatCompletion', () => {
  test('that its client ends is charged for what came, and nothing stays reserved', async () => {
    const mine = await server.createOrg({ plan: 'cli_team' });
    const content = JSON.stringify('@sandbox{"tokens":3000,"chunk_ms":20}');
    const query = `subscription { chatCompletion(input: { maxTokens: 3000, messages: [{ role: user, content: ${content} }] }) { id } }`;
    let chunks = 0;
    for await (const { data } of server.ws(mine.key).iterate({ query })) {
      expect(data).toBeTruthy();
      if (++chunks === 5) break;
    }
    await eventually(async () => {
      const { body } = await server.rest<Quota>('GET', '/quota', { key: mine.key });
      const { used, remaining, limit } = body.quotas['credits']!;
      return used === 1 && remaining === limit - used;
    });
  });
});

interface Quota {
  quotas: Record<string, { used: number; remaining: number; limit: number }>;
}

describe('Server-Sent Events', () => {
  test("a job's stream carries sequences as ids and resumes after Last-Event-ID", async () => {
    const id = await startJob();
    const read = async (headers: Record<string, string>) => {
      const { events } = await server.events('GET', `/jobs/${id}/stream`, { key, headers });
      const ids: number[] = [];
      for await (const event of events) ids.push(Number(event.id));
      return ids;
    };
    const all = await read({ 'last-event-id': '0' });
    expect(all).toEqual(upTo(all.length));
    expect(await read({ 'last-event-id': '2' })).toEqual(upTo(all.length, 3));
    const beyond = await server.rest('GET', `/jobs/${id}/stream`, {
      key,
      headers: { 'last-event-id': '999' },
    });
    expect(beyond.status).toBe(400);
  });

  test('/graphql streams any operation to clients that accept text/event-stream', async () => {
    const id = await startJob(key, 0);
    const ask = async (query: string) => {
      const answer = await server.raw('/graphql', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          accept: 'text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ query }),
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    };
    const story = await ask(progressOf(id, 0));
    expect(story.text).toMatch(/^id: 1\nevent: next\ndata: \{"data":\{"jobProgress":\{"sequence":1,/);
    expect(story.text).toMatch(/event: complete\ndata: \n\n$/);
    const query = await ask('{ __typename }');
    expect(query.text).toBe(
      'event: next\ndata: {"data":{"__typename":"Query"}}\n\nevent: complete\ndata: \n\n',
    );
    // not in the schema: the answer to an invalid document
    const invalid = await ask('{ nonsense }');
    expect(invalid.status).toBe(200);
    expect(invalid.text).toContain('"code":"invalid_request"');
    const tooLong = await ask(`{ ${'__typename '.repeat(1100)} }`);
    expect(tooLong.status).toBe(400);
  });

  test.each([
    ['application/graphql-response+json, application/json, text/event-stream, multipart/mixed', 'JSON'],
    ['text/event-stream;q=0.5, application/json', 'JSON'],
    ['text/event-stream, application/json;q=0.5', 'a stream'],
    ['Text/Event-Stream, */*', 'a stream'],
  ])('Accept: %s gets %s for a query, a stream for a subscription', async (accept, form) => {
    const ask = async (query: string, headers = {}) => {
      const answer = await server.raw('/graphql', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, accept, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query }),
      });
      const text = await answer.body.text();
      return { status: answer.statusCode, text, type: String(answer.headers['content-type']) };
    };
    const query = await ask('{ __typename }');
    expect(query.type.startsWith('text/event-stream')).toBe(form === 'a stream');
    const subscription = await ask(progressOf(await startJob(key, 0), 0));
    expect(subscription.type).toContain('text/event-stream');
    expect(subscription.text).toMatch(/event: complete\ndata: \n\n$/);
    const keyed = await ask('mutation { cancelJob(id: "x") { success } }', { 'idempotency-key': 'k' });
    expect(keyed.status).toBe(form === 'JSON' ? 200 : 400);
  });

  test('a revoked key ends its open streams within a second', async () => {
    const { orgId } = await server.createOrg();
    const made = await server.createKey(orgId);
    const body = {
      stream: true,
      messages: [{ role: 'user', content: '@sandbox{"tokens":500,"chunk_ms":50}' }],
    };
    const { events } = await server.events('POST', '/chat/completions', { key: made.key, body });
    await events.next();
    await server.cli('key', 'revoke', '--id', made.id);
    const revoked = performance.now();
    const rest = (async () => {
      for await (const event of events) if (event.data === '[DONE]') return 'finished';
      return 'ended';
    })().catch(() => 'cut');
    expect(await rest).not.toBe('finished');
    expect(performance.now() - revoked).toBeLessThan(1000);
  });
});

describe('bounds', () => {
  test('a reader that does not keep up is closed with 4013, and can resume', async () => {
    const mine = await server.createOrg({ plan: 'cli_team' });
    const ws = await openRawWebSocket(server.wsUrl);
    ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${mine.key}` } });
    await ws.next('connection_ack');
    const hub = server.services.jobEvents as JobHub;
    const before = hub.size;
    ws.send({
      id: '1',
      type: 'subscribe',
      payload: { query: `subscription { jobUpdates { ${FIELDS} job { inputParams } } }` },
    });
    await eventually(() => hub.size > before);
    ws.socket.pause();
    const id = await startJob(mine.key, 0);
    await collect(server.ws(mine.key), progressOf(id));
    await flood(mine.orgId, mine.key, 400);
    await eventually(() => hub.size === before, {
      timeoutMs: 25_000,
      what: 'the end of the stalled subscription',
    });
    ws.socket.resume();
    expect((await ws.closed).code).toBe(4013);
  });

  test('500 subscriptions come and go and leave nothing', async () => {
    const hub = server.services.jobEvents as JobHub;
    const before = hub.size;
    const id = await startJob(key, 15_000);
    const ws = await openRawWebSocket(server.wsUrl);
    ws.send({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } });
    await ws.next('connection_ack');
    const watched = hub.size;
    for (let n = 0; n < 500; n++) {
      ws.send({ id: `${n}`, type: 'subscribe', payload: { query: progressOf(id) } });
      ws.send({ id: `${n}`, type: 'complete' });
    }
    ws.send({ type: 'ping' });
    await ws.next('pong');
    await eventually(() => hub.size === watched);
    ws.socket.close();
    await ws.closed;
    await server.rest('DELETE', `/jobs/${id}`, { key });
    expect(hub.size).toBe(before);
  });
});

/** Jobs of long prompts, more than any socket buffer holds. */
async function flood(_orgId: string, as: string, count: number): Promise<void> {
  const prompt = `a dam ${'of stone '.repeat(3000)}`;
  for (let n = 0; n < count; n += 20) {
    const body = { prompt, size: '512x512' };
    const made = await Promise.all(
      Array.from({ length: 20 }, () =>
        server.rest<{ id: string }>('POST', '/images/generations?async=true', { key: as, body }),
      ),
    );
    await Promise.all(made.map(({ body: job }) => server.rest('DELETE', `/jobs/${job.id}`, { key: as })));
  }
}
