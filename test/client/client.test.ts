import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import { createPenstock, PenstockError } from '../../client/src/index.js';
import type { AgentRunEvent, ChatChunk, Job, JobList, Penstock } from '../../client/src/index.js';
import { makeToken } from '../support/client-tokens.js';
import { createCuttable } from '../support/cuttable.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
/** A way to the server that can be cut. */
let wire: Awaited<ReturnType<typeof createCuttable>>;
let key: string;
let penstock: Penstock;
beforeAll(async () => {
  server = await startPenstock();
  wire = await createCuttable(server.origin);
});
afterAll(async () => {
  await wire.close();
  await server.close();
});
const open = (credential: object = { key }) =>
  createPenstock({ url: wire.url, webSocketImpl: WebSocket, ...credential });
beforeEach(async () => {
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  penstock = open();
});
afterEach(() => penstock.close());

/** Cuts all that is connected; who comes again finds the server. */
function cut(): void {
  wire.cut();
  wire.mend();
}

const slowImage = async (delay = 1500): Promise<string> => {
  const prompt = `A weir @sandbox{"delay_ms":${delay}}`;
  const { job } = await penstock.mutate.generateImage({ input: { prompt }, async: true });
  return job.id;
};

describe('calls', () => {
  it('have a method for each field of the schema, which resolves with its value', async () => {
    const quota = await penstock.query.quota();
    expect(quota.quotas.length).toBeGreaterThan(5);
    const answer = await penstock.mutate.createChatCompletion({
      input: { messages: [{ role: 'user', content: 'Hello' }] },
    });
    expect(answer.choices[0]?.message.content).toEqual(expect.any(String));
    expect(await penstock.request<{ quota: object }>('{ quota { orgId } }')).toEqual({
      quota: { orgId: quota.orgId },
    });
  });

  it('fail with the word, the status and the field of the refusal', async () => {
    const refused = await penstock.mutate
      .createChatCompletion({ input: { messages: [], model: 'sandbox/chat-basic' } })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(PenstockError);
    expect(refused).toMatchObject({
      code: 'invalid_request',
      status: 400,
      param: 'messages',
      isTemporary: false,
    });
    const stranger = open({ token: 'nobody' });
    await expect(stranger.query.quota()).rejects.toMatchObject({ code: 'unauthorized', status: 401 });
    stranger.close();
    expect(() => createPenstock({ url: wire.url })).toThrow(
      'Give one of key, token, tokenProvider and session',
    );
  });

  it('wait for a server that is away, and work once', async () => {
    wire.cut();
    const answered = penstock.mutate.generateImage({ input: { prompt: 'A weir' }, async: true });
    setTimeout(() => wire.mend(), 500);
    const { job } = await answered;
    const { nodes } = await penstock.query.jobs();
    expect(nodes.map(({ id }) => id)).toEqual([job.id]);
  });

  it('wait for the answer of work that goes on after their connection was lost, and work once', async () => {
    const input = { prompt: 'A weir @sandbox{"delay_ms":4000}' };
    const answered = penstock.mutate.generateImage({ input });
    setTimeout(cut, 500);
    const { data, job } = await answered;
    expect(data).toHaveLength(1);
    const { nodes } = await penstock.query.jobs();
    expect(nodes.map(({ id }) => id)).toEqual([job.id]);
  });

  it('of your own documents work once too, whatever stands before the mutation', async () => {
    const keys: (string | null)[] = [];
    const send = globalThis.fetch;
    vi.spyOn(globalThis, 'fetch').mockImplementation((url, init) => {
      keys.push(new Headers(init?.headers).get('idempotency-key'));
      return send(url, init);
    });
    const documents = [
      '# Draws a weir.\nmutation { generateImage(input: { prompt: "A weir" }, async: true) { job { id } } }',
      `fragment Made on ImageGeneration { job { id } }
       mutation { generateImage(input: { prompt: "A weir" }, async: true) { ...Made } }`,
    ];
    for (const document of documents) await penstock.request(document);
    vi.restoreAllMocks();
    expect(keys).toEqual([expect.any(String), expect.any(String)]);
    expect(new Set(keys).size).toBe(2);
  });
});

describe('a live view', () => {
  it('of a job goes on through lost connections to its end, without a state twice', async () => {
    const id = await slowImage();
    const states: Job[] = [];
    const ended = new Promise((resolve) => {
      penstock.followJob(id, {
        next: (job) => {
          states.push(job);
          if (states.length === 1) setTimeout(cut, 100);
        },
        end: resolve,
      });
    });
    expect(await ended).toBeNull();
    const told = states.map(({ status, progress }) => `${status} ${progress}`);
    expect(new Set(told).size).toBe(told.length);
    expect(states.at(-1)?.status).toBe('completed');
  });

  it('of all jobs shows what happened while it was cut off, newest first', async () => {
    const first = await slowImage(200);
    let list: JobList | undefined;
    const stop = penstock.followJobs({}, { next: (found) => (list = found) });
    await eventually(() => Promise.resolve(list?.jobs[0]?.status === 'completed'));
    wire.cut();
    const other = createPenstock({ url: server.origin, webSocketImpl: WebSocket, key });
    const { job } = await other.mutate.generateImage({ input: { prompt: 'Another' }, async: true });
    await eventually(async () => (await other.query.job({ id: job.id })).status === 'completed');
    other.close();
    wire.mend();
    await eventually(() => Promise.resolve(list?.jobs[0]?.status === 'completed' && list.jobs.length === 2));
    expect(list?.jobs.map(({ id }) => id)).toEqual([job.id, first]);
    stop();
  });

  it('of all jobs is read again when its first page was refused because of too many calls', async () => {
    const refused = vi
      .spyOn(globalThis, 'fetch')
      .mockImplementation(() =>
        Promise.resolve(Response.json({ error: 'Too many', code: 'rate_limited' }, { status: 429 })),
      );
    let list: JobList | undefined;
    const stop = penstock.followJobs({}, { next: (found) => (list = found) });
    // The reading at the start and the one a little later.
    await eventually(() => Promise.resolve(refused.mock.calls.length === 3));
    refused.mockRestore();
    await eventually(() => Promise.resolve(list?.jobs.length === 0));
    stop();
  });

  it('of a chat gives each chunk once, for one charge, wherever it is cut', async () => {
    const input = {
      messages: [{ role: 'user' as const, content: 'Of weirs @sandbox{"tokens":40,"chunk_ms":20}' }],
    };
    const chunks: ChatChunk[] = [];
    const ended = new Promise((resolve) => {
      penstock.streamChat(input, {
        next: (chunk) => {
          chunks.push(chunk);
          if (chunks.length === 5 || chunks.length === 15) cut();
        },
        end: resolve,
      });
    });
    expect(await ended).toBeNull();
    expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, at) => at + 1));
    expect(chunks.at(-1)?.choices[0]?.finishReason).toBe('stop');
    const { nodes } = await penstock.query.usageRecords();
    expect(nodes.map(({ operation }) => operation)).toEqual(['chat']);
  });

  it('of a run gives each event once', async () => {
    const { id: agentId } = await penstock.mutate.createAgent({
      input: { name: 'Keeper', systemPrompt: 'Be short.', model: 'sandbox/chat-basic' },
    });
    const run = await penstock.mutate.runAgent({
      id: agentId,
      input: { input: 'Hello @sandbox{"chunk_ms":20}' },
    });
    const events: AgentRunEvent[] = [];
    const ended = new Promise((resolve) => {
      penstock.followRun(run.id, {
        next: (event) => {
          events.push(event);
          if (events.length === 1) cut();
        },
        end: resolve,
      });
    });
    expect(await ended).toBeNull();
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    expect(events.at(-1)?.run.status).toBe('completed');
  });

  it('of the quota shows what a call took, also after a lost connection', async () => {
    const used: number[] = [];
    const stop = penstock.followQuota({
      next: ({ quotas }) =>
        used.push(quotas.find(({ bucket }) => bucket === 'image_generations')?.used ?? -1),
    });
    await eventually(() => Promise.resolve(used.length > 0));
    cut();
    await penstock.mutate.generateImage({ input: { prompt: 'A weir' } });
    await eventually(() => Promise.resolve(used.at(-1) === 1));
    stop();
  });

  it('ends with the refusal where there is nothing to see', async () => {
    const ended = await new Promise((resolve) => {
      penstock.followJob('job_nothing', { next: () => undefined, end: resolve });
    });
    expect(ended).toMatchObject({ code: 'not_found', status: 404 });
  });
});

describe('a token provider', () => {
  it('is asked again where a token has ended, by calls and by live views', async () => {
    const given = ['worn-out', key];
    let asked = 0;
    const renewed = open({
      tokenProvider: () => Promise.resolve({ token: given[Math.min(asked++, 1)] ?? key }),
    });
    expect((await renewed.query.quota()).orgId).toEqual(expect.any(String));
    expect(asked).toBe(2);
    renewed.close();
    asked = 0;
    const id = await slowImage(100);
    const live = open({ tokenProvider: () => Promise.resolve(given[Math.min(asked++, 1)] ?? key) });
    const ended = await new Promise((resolve) => live.followJob(id, { next: () => undefined, end: resolve }));
    expect(ended).toBeNull();
    expect(asked).toBe(2);
    live.close();
  });

  it('is asked once for several calls where the clock of the computer is an hour fast', async () => {
    let asked = 0;
    const expiresAt = Date.now() - 3_000_000;
    const fast = open({
      tokenProvider: () => Promise.resolve({ token: key, expiresAt: expiresAt + asked++ }),
    });
    for (let calls = 0; calls < 3; calls++) await fast.query.quota();
    fast.close();
    expect(asked).toBe(1);
  });

  it('is asked once more for all open views together, when their token dies under them', async () => {
    const { orgId } = await penstock.query.quota();
    const makers = [await server.createKey(orgId), await server.createKey(orgId)];
    let asked = 0;
    const tokenProvider = async () => {
      const { key: maker } = makers[Math.min(asked++, 1)] as { key: string };
      return (await makeToken(server, maker, { scopes: ['usage', 'image', 'jobs'] })).token;
    };
    const live = open({ tokenProvider });
    const ends: unknown[] = [];
    const end = (error: unknown) => void ends.push(error);
    const id = await slowImage(8000);
    let [jobs, quotas, states] = [0, 0, 0];
    live.followJobs({}, { next: () => jobs++, end });
    live.followQuota({ next: () => quotas++, end });
    live.followJob(id, { next: () => states++, end });
    await eventually(() => Promise.resolve(jobs > 0 && quotas > 0 && states > 0));
    await server.cli('key', 'revoke', '--id', makers[0]?.id ?? '');
    const before = [jobs, quotas];
    await eventually(() => Promise.resolve(asked === 2));
    await slowImage(0);
    await eventually(() => Promise.resolve(jobs > (before[0] ?? 0) && quotas > (before[1] ?? 0)));
    expect([asked, ends]).toEqual([2, []]);
    live.close();
    await penstock.mutate.cancelJob({ id });
  });
});
