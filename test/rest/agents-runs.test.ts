import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, readRun, runAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;
let key: string;
let orgId: string;

beforeAll(async () => {
  penstock = await startPenstock();
  ({ key, orgId } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => penstock?.close());

/** Settled charges of one run, in whole credits, and its agent_runs. */
async function ledgerOf(runId: string, org = orgId) {
  const { nodes } = await penstock.services.usage.records({ orgId: org, first: 1000 });
  const rows = nodes.filter((row) => row.runId === runId);
  const sum = (bucket: 'credits' | 'agent_runs') =>
    rows.reduce((total, row) => total + (row.state === 'settled' ? (row.amounts[bucket] ?? 0) : 0), 0) / 100;
  return {
    credits: sum('credits'),
    runs: sum('agent_runs'),
    open: rows.filter((row) => row.state === 'reserved'),
  };
}

test('a run streams start, steps and done with ids, and is read again with its steps', async () => {
  const id = await makeAgent(penstock, key, { tools: ['generate_text'] });
  const run = await runAgent(penstock, key, id, { input: 'Write a poem about a weir.' });
  expect(run.ids).toEqual(run.events.map((_, index) => index + 1));
  expect(run.events[0]).toEqual({ type: 'start', run_id: run.runId, session_id: expect.any(String) });
  expect(run.steps.map(({ type }) => type)).toEqual(['thinking', 'tool_call', 'tool_result', 'response']);
  expect(run.steps.map(({ step_number }) => step_number)).toEqual([1, 2, 3, 4]);
  expect(run.steps[1]).toMatchObject({ tool: 'generate_text', tool_input: { prompt: expect.any(String) } });
  expect(run.steps[2]).toMatchObject({ tool: 'generate_text', tool_output: { text: expect.any(String) } });
  expect(run.last).toEqual({
    type: 'done',
    run_id: run.runId,
    output: run.steps[3]!.content,
    credits_used: expect.any(Number),
    tokens_used: expect.any(Number),
  });
  const stored = await penstock.rest<{ run: Record<string, unknown> & { steps: object[] } }>(
    'GET',
    `/agents/${id}/runs/${run.runId}`,
    { key },
  );
  expect(stored.body.run).toMatchObject({
    id: run.runId,
    agent_id: id,
    status: 'completed',
    input: 'Write a poem about a weir.',
    output: run.last.output,
    total_steps: 4,
    tokens_used: run.last.tokens_used,
    credits_used: run.last.credits_used,
    duration_ms: expect.any(Number),
    completed_at: expect.any(String),
  });
  expect(stored.body.run.steps[1]).toEqual({
    step_number: 2,
    step_type: 'tool_call',
    tool_name: 'generate_text',
    tool_input: run.steps[1]!.tool_input,
  });
  const ledger = await ledgerOf(run.runId);
  expect(ledger).toEqual({ credits: run.last.credits_used, runs: 1, open: [] });
  const listed = await penstock.rest<{ runs: object[]; next_cursor: null }>('GET', `/agents/${id}/runs`, {
    key,
  });
  const { steps: _, ...row } = stored.body.run;
  expect(listed.body).toEqual({ runs: [row], next_cursor: null });
  expect((await penstock.rest('GET', `/agents/${id}`, { key })).body).toMatchObject({
    agent: { run_count: 1 },
  });
});

test('a run can be joined from its start, from any event, and after its end', async () => {
  const id = await makeAgent(penstock, key);
  const run = await runAgent(penstock, key, id, { input: 'Hello' });
  const path = `/agents/${id}/runs/${run.runId}/stream`;
  const again = await readRun(penstock, 'GET', path, { key });
  expect(again.events).toEqual(run.events);
  const rest = await readRun(penstock, 'GET', path, { key, headers: { 'last-event-id': '1' } });
  expect(rest.ids).toEqual(run.ids.slice(1));
  const over = await penstock.events('GET', path, {
    key,
    headers: { 'last-event-id': String(run.ids.length) },
  });
  expect(over.status).toBe(200);
  for await (const _ of over.events) throw new Error('there is nothing after the last event');
  const beyond = await penstock.rest('GET', path, { key, headers: { 'last-event-id': '99' } });
  expect(beyond.status).toBe(400);
});

test('runs are listed by their state, which has the same words on both faces', async () => {
  const id = await makeAgent(penstock, key);
  const { runId } = await runAgent(penstock, key, id, { input: 'x' });
  const byState = `query ($id: ID!, $status: AgentRunStatus) { agentRuns(agentId: $id, status: $status) { nodes { id } } }`;
  for (const [status, ids] of [
    ['completed', [{ id: runId }]],
    ['running', []],
  ] as const) {
    const listed = await penstock.rest('GET', `/agents/${id}/runs?status=${status}`, { key });
    expect(listed.body).toMatchObject({ runs: ids, next_cursor: null });
    const { data } = await penstock.graphql(byState, { key, variables: { id, status } });
    expect(data).toEqual({ agentRuns: { nodes: ids } });
  }
  expect(await penstock.rest('GET', `/agents/${id}/runs?status=done`, { key })).toMatchObject({
    status: 400,
    body: { error: 'status must be one of running, completed, failed, cancelled', param: 'status' },
  });
});

test('the list of the runs of a deleted agent is there as long as there are some', async () => {
  const org = await penstock.createOrg({ plan: 'business_monthly' });
  const [idle, busy] = [await makeAgent(penstock, org.key), await makeAgent(penstock, org.key)];
  const { runId } = await runAgent(penstock, org.key, busy, { input: 'Hello' });
  const list = (id: string) => penstock.rest('GET', `/agents/${id}/runs`, { key: org.key });
  expect(await list(idle)).toMatchObject({ status: 200, body: { runs: [] } });
  for (const id of [idle, busy]) await penstock.rest('DELETE', `/agents/${id}`, { key: org.key });
  expect(await list(idle)).toMatchObject({ status: 404, body: { error: 'Agent not found' } });
  expect(await list(busy)).toMatchObject({ status: 200, body: { runs: [{ id: runId }] } });
});

test('conversation_history may have 400,000 characters together, each one counted once', async () => {
  const id = await makeAgent(penstock, key);
  const run = (...lengths: number[]) => {
    const history = lengths.map((length) => ({ role: 'user', content: '\u{1f600}'.repeat(length) }));
    return penstock.events('POST', `/agents/${id}/run`, {
      key,
      body: { input: 'Hello', conversation_history: history },
    });
  };
  expect((await run(200_000, 200_000)).status).toBe(200);
  expect((await run(200_000, 200_001)).status).toBe(400);
});
