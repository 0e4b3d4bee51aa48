import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { waveOf } from '../support/audio.js';
import { chunk } from '../support/fake-upstream.js';
import { mediaJobs } from '../support/media-jobs.js';
import { classes, startRecorded, USUAL, type Recorded, type Row } from '../support/records.js';
import { eventually } from '../support/wait.js';

let recorded: Recorded;
beforeAll(async () => {
  recorded = await startRecorded();
});
afterAll(() => recorded?.close());
beforeEach(() => recorded.renew());

const HI = [{ role: 'user', content: 'Hi' }];
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const FREE = { status: 'failed', provider: null, answeredModel: null, upstreamId: null, costNano: '0' };

/** The records once all of them have ended. */
const ended = (): Promise<Row[]> =>
  eventually(async () => {
    const found = await recorded.records();
    return found.length > 0 && found.every(({ status }) => status !== null) && found;
  });

/** A call whose caller hangs up. @param after its first bytes, else before any */
async function leave(path: string, body: object, after: 'bytes' | 'asking'): Promise<void> {
  const gone = new AbortController();
  const answer = recorded.server.raw(`/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${recorded.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: gone.signal,
  });
  const asked = recorded.upstream.requests.length;
  if (after === 'asking') {
    answer.catch(() => undefined);
    await eventually(() => Promise.resolve(recorded.upstream.requests.length > asked));
    return gone.abort();
  }
  const { body: read } = await answer;
  read.on('error', () => undefined);
  await new Promise((resolve) => read.once('data', resolve));
  gone.abort();
}

const media = (path: string, body: object) => recorded.server.rest('POST', path, { key: recorded.key, body });

describe('the record of an operation whose caller leaves', () => {
  it.each([
    ['/chat/completions', { model: 'acme/chat', messages: HI }],
    ['/responses', { model: 'acme/chat', input: 'Hi' }],
    ['/messages', { model: 'acme/chat', max_tokens: 50, messages: HI }],
  ])('tells what it was given: %s', async (path, body) => {
    recorded.upstream.queue({ chunks: [chunk({ content: 'Hello there' })], then: 'hang' });
    await leave(path, { ...body, stream: true }, 'bytes');
    const cancelled = { ...USUAL, status: 'cancelled', tokens: classes(8, 2), costNano: '54000' };
    expect((await ended())[0]).toMatchObject({ ...cancelled, firstTokenMs: expect.any(Number) });
  });

  it('costs nothing before an answer', async () => {
    recorded.upstream.queue({ delayMs: 2000 });
    await leave('/chat/completions', { model: 'acme/chat', messages: HI }, 'asking');
    expect((await ended())[0]).toMatchObject({ ...FREE, status: 'cancelled', errorCode: null });
  });

  it('of a job says so', async () => {
    const job = (await mediaJobs(60_000)).find(({ tool }) => tool === 'music');
    const made = await media(`${job!.path}?async=true`, job!.body);
    const { id } = made.body as { id: string };
    await recorded.server.rest('DELETE', `/jobs/${id}`, { key: recorded.key });
    expect((await ended())[0]).toMatchObject({ ...FREE, status: 'cancelled', errorCode: null });
  });

  it('of a job has what its upstreams had made by then', async () => {
    const { server, spare, upstream } = recorded;
    upstream.queue({ body: { data: [{ b64_json: Buffer.from('no picture').toString('base64') }] } });
    spare.queue({ delayMs: 20_000 });
    const before = spare.requests.length;
    const made = await media('/images/generations?async=true', { model: 'acme/paint', prompt: 'a mill' });
    const { id } = made.body as { id: string };
    await eventually(() => Promise.resolve(spare.requests.length > before));
    await server.rest('DELETE', `/jobs/${id}`, { key: recorded.key });
    const record = await eventually(async () => {
      const [found] = await recorded.records();
      return found?.costNano !== '0' && found;
    });
    expect(record).toMatchObject({ kind: 'image', status: 'cancelled', costNano: '40000000' });
    expect(await recorded.records()).toHaveLength(1);
  });

  it('of a response in the background says so', async () => {
    recorded.upstream.queue({ chunks: [chunk({ content: 'Hello there' })], then: 'hang' });
    const { id } = JSON.parse(
      await recorded.v1('/responses', { model: 'acme/alone', input: 'Hi', background: true }),
    ) as { id: string };
    await eventually(() => Promise.resolve(recorded.upstream.requests.at(-1)?.body['stream'] === true));
    await sleep(300);
    await recorded.v1(`/responses/${id}/cancel`, {});
    expect((await ended())[0]).toMatchObject({
      status: 'cancelled',
      answeredModel: 'acme/alone',
      tokens: classes(8, 2),
      costNano: '54000',
    });
  });
});

describe('the record of work in the background', () => {
  it('tells of a response what a worker saw', async () => {
    await recorded.v1('/responses', { model: 'acme/chat', input: 'Hi', background: true });
    expect((await ended())[0]).toMatchObject({ ...USUAL, firstTokenMs: expect.any(Number) });
  });

  it('tells the price of pictures, and of what failed before them nothing', async () => {
    recorded.upstream.queue({ status: 500 }, { body: { data: [{ b64_json: PNG }, { b64_json: PNG }] } });
    const body = { model: 'acme/paint', prompt: 'a mill', size: '512x512' };
    await media('/images/generations', { ...body, n: 2 });
    recorded.upstream.queue({ status: 400, body: { error: { message: 'no' } } });
    await media('/images/generations', body);
    const [made, refused] = await ended();
    expect(made).toMatchObject({
      kind: 'image',
      status: 'succeeded',
      provider: 'acme',
      costNano: '80000000',
    });
    expect(refused).toMatchObject({ ...FREE, errorCode: 'invalid_request' });
  });

  it('tells the price of sound by characters, seconds or tokens', async () => {
    const sound = waveOf(new Int16Array(32_000));
    recorded.upstream.queue({ headers: { 'content-type': 'audio/wav' }, body: sound });
    await media('/audio/speech', { model: 'acme/voice', input: 'Hello there', response_format: 'wav' });
    const heard = { file: sound.toString('base64') };
    recorded.upstream.queue({ body: { text: 'Hello' } });
    await media('/audio/transcriptions', { model: 'acme/ears', ...heard });
    const usage = { type: 'tokens', input_tokens: 20, output_tokens: 3, total_tokens: 23 };
    recorded.upstream.queue({ body: { text: 'Hello', usage } });
    await media('/audio/transcriptions', { model: 'acme/ears-4o', ...heard });
    expect((await ended()).map(({ status, costNano }) => [status, costNano])).toEqual([
      ['succeeded', '165000'],
      ['succeeded', '200000'],
      ['succeeded', '150000'],
    ]);
  });

  it('costs nothing in the sandbox, whatever the tool', async () => {
    for (const { path, body } of await mediaJobs()) await media(path, body);
    const found = await ended();
    expect(found).toHaveLength(6);
    for (const record of found.filter(({ kind }) => kind !== 'image'))
      expect(record).toMatchObject({
        status: 'succeeded',
        provider: 'sandbox',
        costNano: '0',
        costVersion: expect.stringContaining(`${record.answeredModel}@`),
      });
  });
});

describe('the records of an agent’s run', () => {
  it('name the run, and cost what each call cost', async () => {
    const agentId = await makeAgent(recorded.server, recorded.key, { model: 'acme/chat' });
    const { runId } = await runAgent(recorded.server, recorded.key, agentId, { input: 'Hi' });
    const [run, call] = await ended();
    expect(run).toMatchObject({ kind: 'agent_run', status: 'succeeded', parent: null, costNano: '0' });
    expect(run?.tokens).toBeNull();
    expect(call).toMatchObject({ ...USUAL, kind: 'agent_model', parent: runId });
    expect(call?.firstTokenMs).toEqual(expect.any(Number));
  });

  it('count what a tool’s upstream costs as the tool’s', async () => {
    const agentId = await makeAgent(recorded.server, recorded.key, {
      model: 'sandbox/chat-basic',
      tools: ['generate_image'],
    });
    recorded.upstream.queue({ body: { data: [{ b64_json: PNG }] } });
    const input = '@sandbox{"tool_call":{"name":"generate_image","arguments":{"prompt":"a mill"}}}';
    const { runId } = await runAgent(recorded.server, recorded.key, agentId, { input });
    expect((await ended()).find(({ kind }) => kind === 'agent_tool')).toMatchObject({
      status: 'succeeded',
      parent: runId,
      answeredModel: 'acme/paint',
      costNano: '40000000',
    });
  });

  it('of one that failed name the error', async () => {
    const agentId = await makeAgent(recorded.server, recorded.key, { model: 'acme/alone' });
    recorded.upstream.queue({ status: 500 }, { status: 500 });
    await runAgent(recorded.server, recorded.key, agentId, { input: 'Hi' });
    const found = await ended();
    expect(found.find(({ kind }) => kind === 'agent_model')).toMatchObject({
      ...FREE,
      errorCode: 'server_error',
    });
    expect(found.find(({ kind }) => kind === 'agent_run')).toMatchObject({
      status: 'failed',
      errorCode: 'server_error',
    });
  });
});
