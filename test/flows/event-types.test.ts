/** Every event type of contract 6.1, caused by what it is about, as a receiver gets it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WEBHOOK_EVENT_TYPES } from '../../src/webhooks/index.js';
import { makeAgent, runAgent } from '../support/agents.js';
import { startReceiver, trustReceivers } from '../support/receiver.js';
import type { Receiver } from '../support/receiver.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

trustReceivers();
let penstock: TestServer;
let receiver: Receiver;
let key: string;
let orgId: string;

interface Received {
  id: string;
  type: string;
  timestamp: string;
  orgId: string;
  data: Record<string, unknown>;
}

const events = (): Received[] => receiver.requests.map(({ body }) => JSON.parse(body) as Received);
const dataOf = (type: string): Received['data'][] =>
  events()
    .filter((event) => event.type === type)
    .map(({ data }) => data);

/** What came of a type; waits for so many, then looks that there were no more once all else has come too. */
const got = (type: string, count = 1) =>
  eventually(() => dataOf(type).length >= count && dataOf(type), {
    what: `${count} × ${type} among ${events().map((event) => event.type)}`,
  });

beforeAll(async () => {
  penstock = await startPenstock({ env: { EGRESS_ALLOW: '127.0.0.0/8' } });
  receiver = await startReceiver();
  ({ key, orgId } = await penstock.createOrg({ plan: 'business_monthly' }));
  const body = { name: 'all', url: `${receiver.url}/hook`, events: WEBHOOK_EVENT_TYPES };
  expect((await penstock.rest('POST', '/webhooks', { key, body })).status).toBe(200);
});
afterAll(async () => {
  await receiver.close();
  await penstock.close();
});

test('a generation tells its start and its end, a failed and a cancelled one why', async () => {
  const ask = (prompt: string, query = '') =>
    penstock.rest('POST', `/images/generations${query}`, { key, body: { prompt, size: '512x512' } });
  const made = await ask('a weir');
  expect((await ask('@sandbox{"fail":"no luck"}')).status).toBe(500);
  const slow = await ask('@sandbox{"delay_ms":60000}', '?async=true');
  const id = String(slow.body['id']);
  await got('generation.started', 3);
  await penstock.rest('DELETE', `/jobs/${id}`, { key });
  const [completed] = await got('generation.completed');
  const [failed, cancelled] = await got('generation.failed', 2);
  const base = { jobId: expect.stringMatching(/^job_/), tool: 'image', model: expect.any(String) };
  expect(dataOf('generation.started')).toEqual([base, base, base]);
  expect(completed).toEqual({
    ...base,
    jobId: made.headers['x-job-id'],
    outputUrl: expect.stringMatching(/^http/),
    durationMs: expect.any(Number),
    unitsUsed: 1,
    unitType: 'image_generations',
  });
  expect(failed).toEqual({ ...base, errorMessage: expect.any(String) });
  expect(cancelled).toEqual({ ...base, jobId: id, errorMessage: 'Cancelled' });
});

test('a chat completion tells its message, a new session its conversation, a run its start and its end', async () => {
  const chat = { messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await penstock.rest('POST', '/chat/completions', { key, body: chat });
  const usage = answer.body['usage'] as { total_tokens: number };
  expect(await got('chat.message.created')).toEqual([
    {
      messageId: answer.body['id'],
      model: answer.body['model'],
      role: 'assistant',
      totalTokens: usage.total_tokens,
      conversationId: null,
    },
  ]);
  const agentId = await makeAgent(penstock, key, { name: 'Teller' });
  const good = await runAgent(penstock, key, agentId, { input: 'Hello', session_id: 'one' });
  const bad = await runAgent(penstock, key, agentId, {
    input: '@sandbox{"fail":"broken"}',
    session_id: 'one',
  });
  const base = { agentId, agentName: 'Teller' };
  expect(await got('agent.run.started', 2)).toEqual([
    { ...base, runId: good.runId, input: 'Hello' },
    { ...base, runId: bad.runId, input: '@sandbox{"fail":"broken"}' },
  ]);
  expect(await got('agent.run.completed')).toEqual([
    {
      ...base,
      runId: good.runId,
      input: 'Hello',
      output: good.last.output,
      totalSteps: good.steps.length,
      durationMs: expect.any(Number),
      unitsUsed: 1,
      unitType: 'agent_runs',
    },
  ]);
  expect(await got('agent.run.failed')).toEqual([
    { ...base, runId: bad.runId, input: '@sandbox{"fail":"broken"}', errorMessage: expect.any(String) },
  ]);
  expect(dataOf('chat.conversation.created')).toEqual([
    { conversationId: 'one', agentId, agentName: 'Teller' },
  ]);
});

test('a bucket tells once that it is low and once that it is empty, also where an operator sets it', async () => {
  const set = (used: string) =>
    penstock.cli('quota', 'set', '--org', orgId, '--bucket', 'music_tracks', '--used', used);
  await set('73');
  await set('74');
  await set('80');
  await set('10');
  await set('80');
  const bucket = { bucketType: 'music_tracks', limit: 80 };
  await got('credits.depleted');
  expect(dataOf('credits.low')).toEqual([{ ...bucket, remaining: 7, percentUsed: 91.25 }]);
  expect(dataOf('credits.depleted')).toEqual([{ ...bucket, remaining: 0, percentUsed: 100 }]);
});

test('a budget tells each threshold that a call has crossed', async () => {
  const budget = { name: 'Small', scope: 'organization', unit: 'credits', limit: 2, period: 'day' };
  const { id } = await penstock.services.budgets.create(orgId, { ...budget, hard: false, thresholds: [0.5] });
  const chat = { messages: [{ role: 'user', content: 'Hello' }] };
  expect((await penstock.rest('POST', '/chat/completions', { key, body: chat })).status).toBe(200);
  const told = {
    budgetId: id,
    name: 'Small',
    scope: 'organization',
    subject: null,
    unit: 'credits',
    limit: 2,
  };
  expect(await got('budget.threshold')).toEqual([{ ...told, percent: 50, spent: 1 }]);
  await penstock.services.budgets.delete(id);
});

test("members and the subscription tell each of an operator's changes", async () => {
  const email = 'ada@example.com';
  const member = (...args: string[]) => penstock.cli('member', ...args, '--org', orgId, '--email', email);
  await member('add', '--role', 'member');
  await member('role', '--role', 'admin');
  await member('remove');
  const userId = expect.stringMatching(/^usr_/);
  expect(await got('team.member.removed')).toEqual([{ userId, email, role: 'admin' }]);
  expect(dataOf('team.member.added')).toEqual([{ userId, email, role: 'member' }]);
  expect(dataOf('team.member.role_changed')).toEqual([
    { userId, email, role: 'admin', previousRole: 'member' },
  ]);

  await penstock.cli('org', 'plan', '--org', orgId, '--plan', 'pro_monthly');
  await penstock.cli('org', 'cancel', '--org', orgId);
  await penstock.installation.sql(
    `UPDATE organizations SET subscription_ends_at = now() - interval '1 second' WHERE id = $1`,
    [orgId],
  );
  await penstock.cli('org', 'plan', '--org', orgId, '--plan', 'business_monthly');
  const subscriptionId = expect.any(String);
  const pro = { subscriptionId, planCode: 'pro_monthly', planName: 'Pro Monthly' };
  expect(await got('subscription.created')).toEqual([
    { subscriptionId, planCode: 'business_monthly', planName: 'Business Monthly', status: 'active' },
  ]);
  expect(dataOf('subscription.updated')).toEqual([{ ...pro, status: 'active' }]);
  expect(dataOf('subscription.cancelled')).toEqual([{ ...pro, status: 'cancelled' }]);
});

test('all types came, each event once, in the envelope of the contract', () => {
  const all = events();
  expect(new Set(all.map(({ type }) => type))).toEqual(new Set(WEBHOOK_EVENT_TYPES));
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  for (const event of all) {
    expect(Object.keys(event).sort()).toEqual(['data', 'id', 'orgId', 'timestamp', 'type']);
    expect(event).toMatchObject({ id: expect.stringMatching(/^evt_/), orgId });
    expect(event.timestamp).toBe(new Date(event.timestamp).toISOString());
  }
});
