import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Installation } from '../support/installation.js';
import { createInstallation } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { spawnPenstock } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock({
    plans: {
      plans: { pro_monthly: { maxPendingJobs: 1 } },
      endpointLimits: { chat: { limit: 200, windowSeconds: 60 } },
    },
  });
});
afterAll(() => server.close());

let keys = 0;
const fresh = () => ({ 'idempotency-key': `key ${(keys += 1)}` });
const chat = (text: string) => ({ messages: [{ role: 'user', content: text }] });
const image = { prompt: 'a dam', size: '512x512' };
const used = async (key: string, bucket: string) => {
  const { body } = await server.rest<{ quotas: Record<string, { used: number }> }>('GET', '/quota', { key });
  return body.quotas[bucket]?.used;
};

describe('the first answer again', () => {
  test('the same key and body give the same bytes, marked, and are charged once', async () => {
    const { key } = await server.createOrg();
    const headers = fresh();
    const body = JSON.stringify(chat('Hello'));
    const post = async () => {
      const answer = await server.raw('/api/v1/chat/completions', {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      });
      return { replayed: answer.headers['idempotent-replayed'], text: await answer.body.text() };
    };
    const first = await post();
    const second = await post();
    expect(first.replayed).toBeUndefined();
    expect(second.replayed).toBe('true');
    expect(second.text).toBe(first.text);
    expect(await used(key, 'credits')).toBe(1);
  });

  test('a replay takes a slot of its key only', async () => {
    const { key } = await server.createOrg();
    const headers = fresh();
    await server.rest('POST', '/images/generations', { key, body: image, headers });
    const replay = await server.rest('POST', '/images/generations', { key, body: image, headers });
    expect(replay.headers).toMatchObject({ 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '298' });
    expect(await used(key, 'image_generations')).toBe(1);
  });

  test('too many pending jobs are no answer to keep: the retry after it is judged anew', async () => {
    const { key } = await server.createOrg({ plan: 'pro_monthly' });
    const headers = fresh();
    const path = '/images/generations?async=true';
    const slow = { ...image, prompt: '@sandbox{"delay_ms":60000}' };
    const { body: first } = await server.rest<{ id: string }>('POST', path, { key, body: slow });
    const refused = await server.rest('POST', path, { key, body: image, headers });
    const left = { 'x-ratelimit-remaining': '119' };
    expect(refused).toMatchObject({ status: 429, headers: left, body: { error: 'Too many pending jobs' } });
    const edit = await server.rest('POST', '/images/edits', {
      key,
      body: { image: 'no picture', operation: 'colorization' },
    });
    expect(edit).toMatchObject({ status: 429, headers: left });
    const mutation = `mutation { generateImage(input: { prompt: "a dam" }, async: true) { job { id } } }`;
    const overGraphql = fresh();
    await server.graphql(mutation, { key, headers: overGraphql });
    await server.rest('DELETE', `/jobs/${first.id}`, { key });
    const retry = await server.rest<{ id: string }>('POST', path, { key, body: image, headers });
    expect(retry).toMatchObject({ status: 200, body: { status: 'pending' } });
    await eventually(
      async () =>
        (await server.rest<{ status: string }>('GET', `/jobs/${retry.body.id}`, { key })).body.status ===
        'completed',
    );
    expect((await server.graphql(mutation, { key, headers: overGraphql })).errors).toEqual([]);
  });

  test('refusals and failures of a GraphQL field are no answers to keep', async () => {
    const { key, orgId } = await server.createOrg();
    const { metering } = server.services;
    const chatMutation = `mutation { createChatCompletion(input: { messages: [{ role: user, content: "Hello" }] }) { id } }`;
    const headers = fresh();
    await metering.setUsed(orgId, 'credits', 80_000);
    const refused = await server.graphql(chatMutation, { key, headers });
    expect(refused.errors).toMatchObject([{ message: 'Quota exceeded for chat_tokens' }]);
    await metering.setUsed(orgId, 'credits', 0);
    expect((await server.graphql(chatMutation, { key, headers })).errors).toEqual([]);
    const failing = `mutation { generateImage(input: { prompt: "@sandbox{\\"fail\\":\\"no luck\\"}" }) { job { id } } }`;
    const again = fresh();
    const first = await server.graphql(failing, { key, headers: again });
    const second = await server.graphql(failing, { key, headers: again });
    for (const { errors } of [first, second])
      expect(errors).toMatchObject([{ message: 'Generation failed' }]);
    expect(second.headers['idempotent-replayed']).toBeUndefined();
    expect(first.headers['x-job-id']).toMatch(/^job_/);
    expect(second.headers['x-job-id']).toMatch(/^job_/);
    expect(second.headers['x-job-id']).not.toBe(first.headers['x-job-id']);
  });

  test('a document whose first field worked is not done again where a later one was refused', async () => {
    const { key } = await server.createOrg();
    const both = `mutation { createAgent(input: { name: "Once", systemPrompt: "x" }) { id } cancelJob(id: "job_unknown") { success } }`;
    const headers = fresh();
    const first = await server.graphql(both, { key, headers });
    expect(first.errors).toMatchObject([{ message: 'Job not found' }]);
    const second = await server.graphql(both, { key, headers });
    expect(second.headers['idempotent-replayed']).toBe('true');
    const { body } = await server.rest<{ agents: unknown[] }>('GET', '/agents', { key });
    expect(body.agents).toHaveLength(1);
  });

  test('a stream is replayed whole as it was recorded', async () => {
    const { key } = await server.createOrg();
    const headers = fresh();
    const body = { ...chat('Hello @sandbox{"tokens":20}'), stream: true };
    const read = async () => {
      const { events } = await server.events('POST', '/chat/completions', { key, body, headers });
      const data: string[] = [];
      for await (const event of events) data.push(event.data);
      return data;
    };
    const first = await read();
    expect(first.at(-1)).toBe('[DONE]');
    expect(await read()).toEqual(first);
    expect(await used(key, 'credits')).toBe(1);
  });

  test('a mutation over POST /graphql is done once', async () => {
    const { key } = await server.createOrg();
    const headers = fresh();
    const query = `mutation { generateImage(input: { prompt: "a dam", size: "512x512" }, async: true) { job { id } } }`;
    const first = await server.graphql(query, { key, headers });
    const second = await server.graphql(query, { key, headers });
    expect(first.errors).toEqual([]);
    expect(second.data).toEqual(first.data);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(first.headers['x-job-id']).toMatch(/^job_/);
    expect(second.headers['x-job-id']).toBe(first.headers['x-job-id']);
  });

  test('a key of the same organisation without the scope is not shown the answer', async () => {
    const { key, orgId } = await server.createOrg();
    const headers = fresh();
    await server.rest('POST', '/chat/completions', { key, body: chat('Secret'), headers });
    const other = await server.createKey(orgId, { scopes: ['usage'] });
    const answer = await server.rest('POST', '/chat/completions', {
      key: other.key,
      body: chat('Secret'),
      headers,
    });
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });

  test('a key without the scope that asks for what was kept half-done leaves it to the next one', async () => {
    const { key, orgId } = await server.createOrg();
    const headers = fresh();
    const mutation = `mutation { createAgent(input: { name: "Half", systemPrompt: "x" }) { id }
      generateImage(input: { prompt: "@sandbox{\\"fail\\":\\"no luck\\"}" }) { job { id } } }`;
    const failed = { errors: [{ message: 'Generation failed' }] };
    expect(await server.graphql(mutation, { key, headers })).toMatchObject(failed);
    const other = await server.createKey(orgId, { scopes: ['usage'] });
    expect(await server.graphql(mutation, { key: other.key, headers })).toMatchObject({
      errors: [{ message: 'API key does not have required scope: agents' }],
    });
    expect(await server.graphql(mutation, { key, headers })).toMatchObject(failed);
    const { body } = await server.rest<{ agents: unknown[] }>('GET', '/agents', { key });
    expect(body.agents).toHaveLength(1);
  });

  test("another organisation's same key is another request", async () => {
    const headers = fresh();
    const [one, two] = [await server.createOrg(), await server.createOrg()];
    const options = { body: chat('Hello'), headers };
    await server.rest('POST', '/chat/completions', { key: one.key, ...options });
    const answer = await server.rest('POST', '/chat/completions', { key: two.key, ...options });
    expect(answer.headers['idempotent-replayed']).toBeUndefined();
  });
});

describe('refusals', () => {
  test('the same key with another body or path is 422', async () => {
    const { key } = await server.createOrg();
    const headers = fresh();
    await server.rest('POST', '/chat/completions', { key, body: chat('One'), headers });
    const body = await server.rest('POST', '/chat/completions', { key, body: chat('Two'), headers });
    const path = await server.rest('POST', '/chat/completions?a=1', { key, body: chat('One'), headers });
    const mismatch = { status: 422, body: { code: 'idempotency_mismatch' } };
    expect(body).toMatchObject(mismatch);
    expect(path).toMatchObject(mismatch);
  });

  test.each([
    ['an empty key', ''],
    ['a key of 256 characters', 'k'.repeat(256)],
  ])('%s is 400', async (_what, value) => {
    const { key } = await server.createOrg();
    const headers = { 'idempotency-key': value };
    const answer = await server.rest('POST', '/chat/completions', { key, body: chat('One'), headers });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('a refusal before admission is not kept: the same request passes once its reason is gone', async () => {
    const { key, orgId } = await server.createOrg();
    await server.cli('quota', 'set', '--org', orgId, '--bucket', 'image_generations', '--used', '600');
    const headers = fresh();
    const refused = await server.rest('POST', '/images/generations', { key, body: image, headers });
    expect(refused.status).toBe(402);
    await server.cli('quota', 'set', '--org', orgId, '--bucket', 'image_generations', '--used', '0');
    const answer = await server.rest('POST', '/images/generations', { key, body: image, headers });
    expect(answer.status).toBe(200);
    expect(answer.headers['idempotent-replayed']).toBeUndefined();
  });

  test('a failed generation is not kept: the same request tries again', async () => {
    const { key } = await server.createOrg();
    const headers = fresh();
    const body = { prompt: 'x @sandbox{"fail":"no"}', size: '512x512' };
    const first = await server.rest('POST', '/images/generations', { key, body, headers });
    const second = await server.rest('POST', '/images/generations', { key, body, headers });
    expect([first.status, second.status]).toEqual([500, 500]);
    expect(second.headers['x-job-id']).not.toBe(first.headers['x-job-id']);
    expect(await used(key, 'image_generations')).toBe(0);
  });
});

describe('what was made, and whose answer failed, is the retry’s', () => {
  test('a completed generation whose files cannot be had for the moment is charged once', async () => {
    const { key } = await server.createOrg();
    const options = { key, headers: fresh(), body: { ...image, response_format: 'b64_json' } };
    const query = `mutation { generateImage(input: { prompt: "x", size: "512x512", responseFormat: b64_json }) { job { id } data { b64Json } } }`;
    const { files } = server.services;
    const read = vi.spyOn(files, 'read').mockRejectedValueOnce(new Error('EIO'));
    const first = await server.rest('POST', '/images/generations', options);
    expect(first).toMatchObject({ status: 503, body: { error: 'Service temporarily unavailable' } });
    const second = await server.rest<{ data: object[] }>('POST', '/images/generations', options);
    expect(second).toMatchObject({ status: 200, headers: { 'x-job-id': first.headers['x-job-id'] } });
    expect(second.body.data).toHaveLength(1);
    const headers = fresh();
    read.mockRejectedValueOnce(new Error('EIO'));
    expect((await server.graphql(query, { key, headers })).errors).toHaveLength(1);
    read.mockRestore();
    expect((await server.graphql(query, { key, headers })).errors ?? []).toEqual([]);
    expect(await used(key, 'image_generations')).toBe(2);
    const jobs = await server.rest<{ jobs: object[] }>('GET', '/jobs', { key });
    expect(jobs.body.jobs).toHaveLength(2);
  });

  test('an agent is not made twice', async () => {
    const { key } = await server.createOrg();
    const options = { key, headers: fresh(), body: { name: 'Once', system_prompt: 'x' } };
    const { agents } = server.services;
    const create = agents.create.bind(agents);
    const spy = vi.spyOn(agents, 'create').mockImplementationOnce(async (...given) => {
      await create(...given);
      throw new RangeError('Invalid string length');
    });
    expect((await server.rest('POST', '/agents', options)).status).toBe(500);
    spy.mockRestore();
    expect((await server.rest('POST', '/agents', options)).status).toBe(200);
    expect((await server.rest<{ agents: object[] }>('GET', '/agents', { key })).body.agents).toHaveLength(1);
  });
});

describe('while the first is in flight', () => {
  test('200 at once make one job and one charge; all others are the same answer or 409', async () => {
    const { key } = await server.createOrg();
    const headers = fresh();
    const answers = await Promise.all(
      Array.from({ length: 200 }, () =>
        server.rest('POST', '/images/generations', { key, body: image, headers }),
      ),
    );
    const given = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 409);
    expect(given.length + refused.length).toBe(200);
    expect(given.length).toBeGreaterThan(0);
    expect(new Set(given.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    for (const { headers: sent, body } of refused) {
      expect(sent['retry-after']).toMatch(/^[1-9]/);
      expect(body['code']).toBe('conflict');
    }
    const { body } = await server.rest<{ jobs: unknown[] }>('GET', '/jobs', { key });
    expect(body.jobs).toHaveLength(1);
    expect(await used(key, 'image_generations')).toBe(1);
  });

  test('a retry that waits for the first call’s job is marked as its answer again', async () => {
    const { key } = await server.createOrg();
    const options = { key, headers: fresh(), body: { ...image, prompt: '@sandbox{"delay_ms":1500}' } };
    const first = server.rest('POST', '/images/generations', options);
    await eventually(
      async () => (await server.rest<{ jobs: unknown[] }>('GET', '/jobs', { key })).body.jobs.length === 1,
    );
    const retry = await server.rest('POST', '/images/generations', options);
    expect(retry).toMatchObject({ status: 200, body: (await first).body });
    expect(retry.headers['idempotent-replayed']).toBe('true');
    expect((await first).headers['idempotent-replayed']).toBeUndefined();
  });
});

test('after 503 Still processing the same request waits for the same job', async () => {
  const impatient = await startPenstock({ env: { SYNC_TIMEOUT_MS: '300' } });
  const { key } = await impatient.createOrg();
  const options = { key, headers: fresh(), body: { prompt: 'x @sandbox{"delay_ms":1500}', size: '512x512' } };
  const first = await impatient.rest('POST', '/images/generations', options);
  expect(first).toMatchObject({ status: 503, body: { error: 'Still processing' } });
  const done = await eventually(async () => {
    const answer = await impatient.rest('POST', '/images/generations', options);
    return answer.status === 200 && answer;
  });
  expect(done.headers['x-job-id']).toBe(first.headers['x-job-id']);
  const mutation = `mutation ($input: GenerateImageInput!) { generateImage(input: $input) { data { url } } }`;
  const overGraphql = { key, headers: fresh(), variables: { input: options.body } };
  const early = await impatient.graphql(mutation, overGraphql);
  expect(early.errors).toMatchObject([{ message: 'Still processing', extensions: { httpStatus: 503 } }]);
  const late = await eventually(async () => {
    const answer = await impatient.graphql(mutation, overGraphql);
    return answer.errors.length === 0 && answer;
  });
  expect(late.headers['x-job-id']).toBe(early.headers['x-job-id']);
  const { body } = await impatient.rest<{ jobs: unknown[] }>('GET', '/jobs', { key });
  expect(body.jobs).toHaveLength(2);
  await impatient.close();
});

describe('across processes', () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await createInstallation();
  });
  afterAll(() => installation.close());

  test('a retry of a generation whose process was killed waits for its job', async () => {
    const worker = await spawnPenstock(installation, { role: 'worker' });
    const [first, second] = await Promise.all([
      spawnPenstock(installation, { role: 'api' }),
      spawnPenstock(installation, { role: 'api' }),
    ]);
    try {
      const { key } = await installation.createOrg();
      const options = {
        key,
        headers: fresh(),
        body: { prompt: 'x @sandbox{"delay_ms":3000}', size: '512x512' },
      };
      const lost = first.rest('POST', '/images/generations', options).catch(() => 'lost');
      const jobs = async () =>
        (await second.rest<{ jobs: { id: string }[] }>('GET', '/jobs', { key })).body.jobs;
      const [job] = await eventually(async () => {
        const found = await jobs();
        return found.length > 0 && found;
      });
      await first.signal('SIGKILL');
      expect(await lost).toBe('lost');
      const answer = await second.rest('POST', '/images/generations', options);
      expect(answer.status).toBe(200);
      expect(answer.headers['x-job-id']).toBe(job?.id);
      expect(await jobs()).toHaveLength(1);
    } finally {
      await Promise.all([first.close(), second.close(), worker.close()]);
    }
  }, 120_000);

  test('a stream is 409 with Retry-After on another process', async () => {
    const [first, second] = await Promise.all([
      spawnPenstock(installation, { role: 'api' }),
      spawnPenstock(installation, { role: 'api' }),
    ]);
    try {
      const { key } = await installation.createOrg();
      const body = { ...chat('Hello @sandbox{"tokens":50,"chunk_ms":50}'), stream: true };
      const options = { key, headers: fresh(), body };
      const { events } = await first.events('POST', '/chat/completions', options);
      await events.next();
      const refused = await second.rest('POST', '/chat/completions', options);
      expect(refused).toMatchObject({ status: 409, headers: { 'retry-after': '1' } });
      await events.return(undefined);
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
  }, 120_000);
});
