import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, signIn } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
let orgId: string;
let owner: Awaited<ReturnType<typeof signIn>>;

beforeAll(async () => {
  server = await startPenstock({
    plans: { plans: { business_monthly: { rate: { rpm: 100_000, burst: 100_000 } } } },
  });
  ({ orgId } = await server.createOrg({ plan: 'business_monthly' }));
  owner = await signIn(server, { orgId, email: 'owner@limits.example', role: 'owner' });
});
afterAll(() => server?.close());

interface Made {
  apiKey: { id: string; [field: string]: unknown };
  key: string;
}
const FIELDS = 'id name scopes expiresAt models rate { rpm burst } endUser tags';

interface Answer {
  data?: Record<string, unknown> | null;
  errors?: { message: string; extensions: Record<string, unknown> }[];
}
async function asOwner(query: string, variables: Record<string, unknown> = {}): Promise<Answer> {
  const { body } = await post(server, 'graphql', { body: { query, variables }, cookie: owner.cookie });
  return body as Answer;
}

async function mutate<T>(text: string, variables: Record<string, unknown>): Promise<T> {
  const { data, errors } = await asOwner(text, variables);
  expect(errors).toBeUndefined();
  return Object.values(data as Record<string, T>)[0] as T;
}
const create = (input: object) =>
  mutate<Made>(
    `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { ${FIELDS} } } }`,
    { input: { name: 'limited', scopes: ['chat', 'agents'], ...input } },
  );
const update = (id: string, input: object) =>
  mutate<Made['apiKey']>(
    `mutation ($id: ID!, $input: UpdateApiKeyInput!) { updateApiKey(id: $id, input: $input) { ${FIELDS} } }`,
    { id, input },
  );
const rotate = (id: string, overlapSeconds: number) =>
  mutate<Made>(
    `mutation ($id: ID!, $seconds: Int!) { rotateApiKey(id: $id, overlapSeconds: $seconds) { key apiKey { ${FIELDS} } } }`,
    { id, seconds: overlapSeconds },
  );

const messages = [{ role: 'user', content: 'Hello' }];
const chat = (key: string, model?: string) =>
  server.rest<Record<string, unknown>>('POST', '/chat/completions', {
    key,
    body: { messages, max_tokens: 5, ...(model === undefined ? {} : { model }) },
  });

/** Counts against no endpoint's window. */
const models = (key: string) => server.rest('GET', '/models', { key });

describe("a key's models", () => {
  it('are all that it may call, whichever address and form is used', async () => {
    const { key, apiKey } = await create({ models: ['sandbox/chat-basic'] });
    expect(apiKey['models']).toEqual(['sandbox/chat-basic']);
    expect((await chat(key, 'sandbox/chat-basic')).status).toBe(200);
    const refused = { error: 'Model not allowed for this key', code: 'model_not_allowed', param: 'model' };
    expect(await chat(key, 'sandbox/chat-standard')).toMatchObject({ status: 403, body: refused });
    expect(await chat(key, 'sandbox/none')).toMatchObject({ status: 400 });
    const texts = { model: 'sandbox/embedding-basic', input: 'x' };
    expect(await server.rest('POST', '/embeddings', { key, body: texts })).toMatchObject({
      status: 403,
      body: refused,
    });
    const { errors } = await server.graphql(
      'mutation { createChatCompletion(input: { model: "sandbox/chat-standard", messages: [{ role: user, content: "x" }] }) { id } }',
      { key },
    );
    expect(errors?.[0]).toMatchObject({
      message: refused.error,
      extensions: { code: 'model_not_allowed', httpStatus: 403 },
    });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    for (const [path, body] of [
      ['/v1/chat/completions', { messages }],
      ['/v1/responses', { input: 'x' }],
      ['/v1/messages', { messages, max_tokens: 5 }],
      ['/v1/completions', { prompt: 'x' }],
    ] as const) {
      const text = JSON.stringify({ ...body, model: 'sandbox/chat-standard' });
      const answer = await server.raw(path, { method: 'POST', headers, body: text });
      expect([path, answer.statusCode, await answer.body.text()]).toEqual([
        path,
        403,
        expect.stringContaining(refused.error),
      ]);
    }
  });

  it('may be all of a provider', async () => {
    const { key } = await create({ models: ['sandbox/*'] });
    expect((await chat(key, 'sandbox/chat-standard')).status).toBe(200);
    const { key: other } = await create({ models: ['acme/*'] });
    expect((await chat(other)).status).toBe(403);
  });

  it('hold for the agents that it makes and runs', async () => {
    const { key } = await create({ models: ['sandbox/chat-basic'] });
    const agent = { name: 'a', system_prompt: 'x', model: 'sandbox/chat-standard' };
    expect(await server.rest('POST', '/agents', { key, body: agent })).toMatchObject({ status: 403 });
    const { key: free } = await create({});
    const made = await server.rest<{ agent: { id: string } }>('POST', '/agents', { key: free, body: agent });
    const run = await server.rest('POST', `/agents/${made.body.agent.id}/run`, { key, body: { input: 'x' } });
    expect(run).toMatchObject({ status: 403, body: { code: 'model_not_allowed' } });
  });
});

describe('a key', () => {
  it('has a window of its own, at most that of the plan', async () => {
    const { key } = await create({ rate: { rpm: 2, burst: 2 } });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await chat(key)).status);
    expect(statuses).toEqual([200, 200, 429]);
    const limit = (await chat(key)).headers['x-ratelimit-limit'];
    expect(limit).toBe('2');
  });

  it('is edited, for its next calls on', async () => {
    const { key, apiKey } = await create({ models: ['acme/*'], endUser: 'ada', tags: ['a', 'b'] });
    expect(apiKey).toMatchObject({ endUser: 'ada', tags: ['a', 'b'] });
    expect((await chat(key)).status).toBe(403);
    expect(await update(apiKey.id, { models: null, name: 'wide' })).toMatchObject({
      name: 'wide',
      models: null,
      endUser: 'ada',
      tags: ['a', 'b'],
    });
    await eventually(async () => (await chat(key)).status === 200, { what: 'the change' });
    await update(apiKey.id, { scopes: ['image'], tags: [] });
    await eventually(async () => (await chat(key)).status === 403, { what: 'the scope' });
  });

  it('is rotated: both texts are valid for the overlap, and then the new one alone', async () => {
    const { key, apiKey } = await create({});
    const second = await rotate(apiKey.id, 600);
    expect(second.apiKey).toMatchObject({ id: apiKey.id, name: 'limited' });
    expect(second.key).toMatch(/^sk_[0-9a-f]{64}$/);
    for (const text of [key, second.key]) expect((await models(text)).status).toBe(200);
    const third = await rotate(apiKey.id, 1);
    await eventually(async () => (await models(key)).status === 401, { what: 'the end of the first text' });
    await eventually(async () => (await models(second.key)).status === 401, {
      what: 'the end of the overlap',
    });
    expect((await models(third.key)).status).toBe(200);
    const fourth = await rotate(apiKey.id, 0);
    await eventually(async () => (await models(third.key)).status === 401, { what: 'the rotation' });
    expect((await models(fourth.key)).status).toBe(200);
  });

  it('that was revoked is neither edited nor rotated, and one of another organisation does not exist', async () => {
    const other = await server.createOrg();
    const revoked = await create({});
    await server.cli('key', 'revoke', '--id', revoked.apiKey.id);
    const theirs = await server.createKey(other.orgId);
    for (const id of [revoked.apiKey.id, theirs.id, 'key_none'])
      for (const call of [
        `updateApiKey(id: "${id}", input: { name: "x" }) { id }`,
        `rotateApiKey(id: "${id}") { key }`,
      ]) {
        const { errors } = await asOwner(`mutation { ${call} }`);
        expect([call, errors?.[0]?.message]).toEqual([call, 'API key not found']);
      }
  });

  it.each([
    [{ models: [] }, 'models'],
    [{ models: ['chat'] }, 'models'],
    [{ models: Array.from({ length: 101 }, (_, at) => `a/${at}`) }, 'models'],
    [{ rate: { rpm: 0, burst: 1 } }, 'rate'],
    [{ rate: { rpm: 1_000_000, burst: 1 } }, 'rate'],
    [{ endUser: ' ' }, 'endUser'],
    [{ endUser: 'x'.repeat(257) }, 'endUser'],
    [{ tags: ['a b'] }, 'tags'],
    [{ tags: Array.from({ length: 11 }, (_, at) => `t${at}`) }, 'tags'],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    [{ scopes: [] }, 'scopes'],
  ] as [object, string][])(
    'refuses limits that cannot be, made and edited (case %#)',
    async (limits, param) => {
      const { apiKey } = await create({});
      const made = await asOwner(
        'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }',
        { input: { name: 'x', scopes: ['chat'], ...limits } },
      );
      const edited = await asOwner(
        'mutation ($id: ID!, $input: UpdateApiKeyInput!) { updateApiKey(id: $id, input: $input) { id } }',
        { id: apiKey.id, input: limits },
      );
      for (const { errors } of [made, edited])
        expect(errors?.[0]?.extensions).toMatchObject({ code: 'invalid_request', param });
    },
  );

  it('is limited and rotated from the command line too', async () => {
    const made = await server.cli<{ id: string; key: string }>(
      ...['key', 'create', '--org', orgId, '--name', 'cli', '--scopes', 'chat'],
      ...['--models', 'sandbox/chat-basic', '--rpm', '5', '--end-user', 'ada', '--tags', 'a,b'],
    );
    const { keys } = await server.cli<{ keys: { id: string }[] }>('key', 'list', '--org', orgId);
    expect(keys.find(({ id }) => id === made.id)).toMatchObject({
      models: ['sandbox/chat-basic'],
      rate: { rpm: 5, burst: 5 },
      endUser: 'ada',
      tags: ['a', 'b'],
    });
    const rotated = await server.cli<{ key: string }>('key', 'rotate', '--id', made.id, '--overlap', '60');
    for (const key of [made.key, rotated.key])
      expect((await chat(key, 'sandbox/chat-basic')).status).toBe(200);
  });
});
