import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server?.close());

describe('a faulty word in the query', () => {
  it.each([
    ['/images/generations?async=maybe', { prompt: 'x' }, 'async must be true or false'],
    [
      '/chat/completions?stream=1',
      { model: 'sandbox/chat-powerful', messages: [{ role: 'user', content: 'x' }] },
      'stream must be true or false',
    ],
  ])('is told after the plan was looked at: POST %s', async (path, body, error) => {
    const free = await server.createOrg({ plan: 'free' });
    expect(await server.rest('POST', path, { key: free.key, body })).toMatchObject({
      status: 403,
      body: { error: 'Model tier not allowed', param: 'model' },
    });
    const team = await server.createOrg({ plan: 'cli_team' });
    expect(await server.rest('POST', path, { key: team.key, body })).toMatchObject({
      status: 400,
      body: { error },
    });
  });
});

describe('a model whose provider is not configured', () => {
  const messages = [{ role: 'user', content: 'x' }];
  it.each([
    ['/chat/completions', { model: 'openai/gpt-5-pro', messages }],
    ['/embeddings', { model: 'openai/text-embedding-3-large', input: 'x' }],
    ['/images/generations', { model: 'openai/gpt-image-1', prompt: 'x' }],
  ])('is told after the plan was looked at: POST %s', async (path, body) => {
    const free = await server.createOrg({ plan: 'free' });
    expect(await server.rest('POST', path, { key: free.key, body })).toMatchObject({
      status: 403,
      body: { error: 'Model tier not allowed' },
    });
    const team = await server.createOrg({ plan: 'cli_team' });
    expect(await server.rest('POST', path, { key: team.key, body })).toMatchObject({
      status: 400,
      body: { error: `Model not available: ${body.model}`, param: 'model' },
    });
  });

  it('is told after the plan was looked at: POST /agents', async () => {
    const body = { name: 'x', system_prompt: 'x', model: 'openai/gpt-5-pro' };
    const pro = await server.createOrg({ plan: 'pro_monthly' });
    expect(await server.rest('POST', '/agents', { key: pro.key, body })).toMatchObject({
      status: 403,
      body: { error: 'Model tier not allowed' },
    });
    const team = await server.createOrg({ plan: 'cli_team' });
    expect(await server.rest('POST', '/agents', { key: team.key, body })).toMatchObject({
      status: 400,
      body: { error: 'Model not available: openai/gpt-5-pro', param: 'model' },
    });
  });

  it('is told before a field that there is not, when an agent is made or changed', async () => {
    const { key } = await server.createOrg({ plan: 'pro_monthly' });
    const fields = { name: 'x', system_prompt: 'x' };
    const made = await server.rest<{ agent: { id: string } }>('POST', '/agents', { key, body: fields });
    const body = { ...fields, model: 'openai/gpt-5-pro', colour: 'blue' };
    const refusal = { status: 403, body: { error: 'Model tier not allowed', param: 'model' } };
    expect(await server.rest('POST', '/agents', { key, body })).toMatchObject(refusal);
    const path = `/agents/${made.body.agent.id}`;
    expect(await server.rest('PATCH', path, { key, body })).toMatchObject(refusal);
  });
});

describe('a body that is JSON and no object', () => {
  const headers = { 'content-type': 'application/json' };
  const paths = ['/chat/completions', '/images/generations', '/agents', '/agents/x/run'];

  it.each(paths)('is looked at after the scope: POST %s', async (path) => {
    const { key } = await server.createOrg({ scopes: ['usage'] });
    expect(await server.rest('POST', path, { key, headers, body: '[]' })).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    });
  });

  it.each(paths)('is 400, and takes a slot as any other fault of validation does: POST %s', async (path) => {
    const { key } = await server.createOrg();
    const remaining: number[] = [];
    for (const body of ['[]', 'null']) {
      const answer = await server.rest('POST', path, { key, headers, body });
      expect(answer).toMatchObject({
        status: 400,
        body: { error: 'Request body must be a JSON object', code: 'invalid_request' },
      });
      remaining.push(Number(answer.headers['x-ratelimit-remaining']));
    }
    expect(remaining[1]).toBe((remaining[0] ?? 0) - 1);
  });
});

describe('a key whose window is full', () => {
  it('is told of that alone by a GET of one thing, whether there is such a thing or not', async () => {
    const { key } = await server.createOrg({ plan: 'pro_monthly' });
    const job = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
      key,
      body: { prompt: 'x', size: '512x512', model: 'sandbox/image-basic' },
    });
    const paths = [`/jobs/${job.body.id}`, '/jobs/job_00000000000000000000000000', '/jobs/x', '/webhooks/x'];
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) => server.rest('GET', paths[at % 4] ?? '', { key })),
    );
    const told = answers.filter(({ status }) => status !== 429);
    // Of 120 slots the job took one.
    expect(told).toHaveLength(119);
    expect(new Set(told.map(({ status }) => status))).toEqual(new Set([200, 404]));
    for (const { status, body, headers } of answers) {
      if (status !== 429) continue;
      expect(body).toMatchObject({ error: 'Rate limit exceeded', code: 'rate_limited' });
      expect(headers).toMatchObject({ 'x-ratelimit-remaining': '0' });
    }
  });
});

describe('a plan without agents and webhooks', () => {
  it.each([
    ['query', 'agentRuns(agentId: "x", first: 0) { nextCursor }', 'AI Agents are not available'],
    ['query', 'webhookDeliveries(webhookId: "x", first: 0) { nextCursor }', 'Webhooks are not available'],
    ['subscription', 'agentRunSteps(runId: "x", after: -1) { type }', 'AI Agents are not available'],
  ])('is told of before a faulty argument is: %s { %s }', async (kind, field, message) => {
    const { key } = await server.createOrg({ plan: 'free' });
    const answer = await server.raw('/graphql', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query: `${kind} { ${field} }` }),
    });
    const [, told = ''] = /^event: next\ndata: (.*)/.exec(await answer.body.text()) ?? [];
    const { errors } = JSON.parse(told) as { errors: unknown[] };
    expect(errors).toMatchObject([{ message, extensions: { code: 'plan_required', httpStatus: 403 } }]);
  });
});
