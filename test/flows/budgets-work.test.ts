import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Budget, NewBudget } from '../../src/metering/index.js';
import { makeAgent, runAgent } from '../support/agents.js';
import { completion, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const USD = { name: 'Money', scope: 'organization', unit: 'usd', period: 'month', limit: 1 } as const;

let upstream: FakeUpstream;
let server: TestServer;
let org: { orgId: string; key: string; keyId: string };

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const chat = (name: string, tier = 'basic') => ({
    ...{ id: `acme/${name}`, upstreamId: name, type: 'chat', tier, contextWindow: 4000 },
    cost: [{ input: 1000, output: 1000 }],
  });
  const at = { kind: 'openai-compatible', baseUrl: upstream.baseUrl, apiKey: 'k', retry: { retries: 0 } };
  const paint = { id: 'acme/paint', upstreamId: 'paint', type: 'image', tier: 'standard' };
  server = await startPenstock({
    providers: {
      providers: [
        {
          ...{ id: 'acme', ...at },
          models: [
            ...[chat('chat'), chat('guarded'), chat('spare'), chat('lofty', 'powerful')],
            { ...paint, cost: [{ image: 0.1 }] },
            { ...paint, id: 'acme/guarded-paint', upstreamId: 'guarded', cost: [{ image: 0.1 }] },
          ],
        },
      ],
      defaults: { image: 'acme/paint' },
      fallbacks: {
        'acme/guarded': ['acme/lofty', 'acme/spare'],
        'acme/guarded-paint': ['acme/paint'],
      },
    },
    plans: {
      endpointLimits: {
        chat: { limit: 1000, windowSeconds: 60 },
        image: { limit: 1000, windowSeconds: 60 },
      },
    },
  });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(async () => {
  org = await server.createOrg();
  upstream.requests.length = 0;
  // 10 tokens of prompt and 5 of answer: 1.5 cents.
  upstream.always(({ path }) =>
    path.endsWith('/images/generations')
      ? { body: { data: [{ b64_json: PNG }] } }
      : { body: completion('Hello') },
  );
});

const make = (more: Partial<NewBudget> = {}) =>
  server.services.budgets.create(org.orgId, { ...USD, ...more });
const now = async (): Promise<Budget> => (await server.services.budgets.list(org.orgId))[0]!;
const settled = () =>
  eventually(async () => {
    const budget = await now();
    return Number(budget.reserved) === 0 && budget;
  });
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  server.rest<Record<string, unknown>>('POST', path, { key: org.key, body, headers });
const picture = (more: object = {}, headers = {}) =>
  post('/images/generations', { model: 'acme/paint', prompt: 'a mill', ...more }, headers);
const v1 = async (path: string, body: object, more: Record<string, string> = {}) => {
  const answer = await server.raw(`/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
  });
  return { status: answer.statusCode, body: JSON.parse(await answer.body.text()) as { id: string } };
};
const background = (more: object = {}) =>
  v1('/responses', { model: 'acme/chat', input: 'Hi', background: true, max_output_tokens: 20, ...more });

describe('a hard budget in USD', () => {
  it('lets through as many pictures of many callers as it has money for, and no more', async () => {
    await make({ limit: '0.75' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => picture()));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
    for (const { status, body } of answers.filter((one) => one.status !== 200)) {
      expect(status).toBe(402);
      expect(body).toMatchObject({ error: 'Budget exceeded: Money', code: 'budget_exceeded' });
    }
    expect(await settled()).toMatchObject({ spent: '0.7', reserved: '0', remaining: '0.05' });
  });

  it('holds for responses in the background, from their start to their end', async () => {
    // The prompt is counted here: what is reserved for one lies between 0.02 and 0.04.
    await make({ limit: '0.2' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => background()));
    const begun = answers.filter(({ status }) => status === 200).length;
    expect(begun).toBeGreaterThan(0);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 402]));
    const { spent } = await settled();
    expect(Number(spent)).toBeCloseTo(begun * 0.015, 9);
    expect(Number(spent)).toBeLessThanOrEqual(0.2);
  });

  it('ends a run of an agent before the call that it has no money for', async () => {
    await make({ limit: '3' });
    const agentId = await makeAgent(server, org.key, { model: 'acme/chat', max_tokens: 100 });
    await runAgent(server, org.key, agentId, { input: 'Hi' });
    const first = await settled();
    expect(Number(first.spent)).toBeGreaterThan(0);
    await server.services.budgets.update(org.orgId, first.id, { limit: String(first.spent) });
    const { last } = await runAgent(server, org.key, agentId, { input: 'Hi' });
    expect(last).toMatchObject({ error: 'Budget exceeded: Money' });
    expect((await settled()).spent).toBe(first.spent);
  });

  it('is held for a tool’s own model too, and ends a run whose tool has none with a price', async () => {
    const agentId = await makeAgent(server, org.key, {
      model: 'sandbox/chat-basic',
      tools: ['generate_image'],
    });
    const input = '@sandbox{"tool_call":{"name":"generate_image","arguments":{"prompt":"a mill"}}}';
    const { id } = await make({ limit: '0.09' });
    const short = await runAgent(server, org.key, agentId, { input });
    expect(short.last).toMatchObject({ error: 'Budget exceeded: Money' });
    expect(upstream.requests).toHaveLength(0);
    await server.services.budgets.update(org.orgId, id, { limit: '0.1' });
    const enough = await runAgent(server, org.key, agentId, { input });
    expect(enough.last['error']).toBeUndefined();
    expect(await settled()).toMatchObject({ spent: '0.1' });
  });

  it('of each end user and each tag counts what a job, a run and a response were said to be for', async () => {
    const users = await make({ name: 'Users', scope: 'endUser', subject: '*', limit: '10' });
    const tags = await make({ name: 'Tags', scope: 'tag', subject: '*', limit: '10' });
    const asked = { model: 'acme/paint', prompt: 'a mill', user: 'ada' };
    const made = await v1('/images/generations', asked, { 'x-tags': 'night, mill' });
    expect(made).toMatchObject({ status: 200 });
    const { body } = await background({ safety_identifier: 'ada', metadata: { tags: 'mill' } });
    await eventually(async () => {
      const text = await server.services.responses.get(org.orgId, body.id);
      return (JSON.parse(text) as { status: string }).status === 'completed';
    });
    const agentId = await makeAgent(server, org.key, { model: 'acme/chat', max_tokens: 100 });
    await runAgent(server, org.key, agentId, { input: 'Hi', user: 'bob' }, { 'x-tags': 'night' });
    const subjectsOf = async ({ id }: Budget) => {
      const { nodes } = await server.services.budgets.subjects(org.orgId, id, { first: 10 });
      return nodes.map(({ subject, spent, reserved }) => [subject, Number(spent), reserved]);
    };
    const run = await eventually(async () => {
      const found = (await subjectsOf(users)).find(([subject]) => subject === 'bob');
      return found !== undefined && found[2] === '0' && Number(found[1]);
    });
    expect(await subjectsOf(users)).toEqual([
      ['ada', 0.115, '0'],
      ['bob', run, '0'],
    ]);
    expect(await subjectsOf(tags)).toEqual([
      ['mill', 0.115, '0'],
      ['night', 0.1 + Number(run), '0'],
    ]);
  });
});

describe('a fallback', () => {
  it('that the plan’s tiers do not allow is passed over, and nothing is reserved for it', async () => {
    org = await server.createOrg({ plan: 'free' });
    upstream.queue({ status: 500 });
    const { status, body } = await post('/chat/completions', {
      model: 'acme/guarded',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    expect([status, body['model']]).toEqual([200, 'acme/spare']);
  });

  it('that the key does not name is passed over, in a call and in a job', async () => {
    const { services } = server;
    await services.keys.update(org.keyId, org.orgId, { models: ['acme/guarded', 'acme/guarded-paint'] });
    upstream.queue({ status: 500 });
    const chat = await post('/chat/completions', {
      model: 'acme/guarded',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    expect(chat.status).toBe(500);
    upstream.queue({ status: 500 });
    expect((await picture({ model: 'acme/guarded-paint' })).status).toBe(500);
    expect(upstream.requests.map(({ body }) => body['model'])).toEqual(['guarded', 'guarded']);
  });
});
