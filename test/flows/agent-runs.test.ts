import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeyService } from '../../src/access/index.js';
import { RUN_EVENT_DATA } from '../../schema/asyncapi/events.js';
import { makeAgent, readRun, runAgent } from '../support/agents.js';
import { chunk, DONE_EVENT, startFakeUpstream, usageChunk } from '../support/fake-upstream.js';
import type { FakeUpstream, Reply, SeenRequest } from '../support/fake-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let penstock: TestServer;
let upstream: FakeUpstream;
let key: string;
let orgId: string;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  penstock = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: upstream.baseUrl,
          apiKey: 'sk-acme',
          models: [{ id: 'acme/greedy', upstreamId: 'greedy', type: 'chat', tier: 'basic' }],
        },
      ],
    },
  });
  ({ key, orgId } = await penstock.createOrg({ plan: 'cli_team' }));
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

const script = (...steps: object[]) => `@sandbox${JSON.stringify({ steps })}`;
const write = { tool_call: { name: 'generate_text', arguments: { prompt: 'Hello', max_tokens: 20 } } };
const slow = { delay_ms: 600_000 };

async function ledger(runId: string, org = orgId) {
  const { nodes } = await penstock.services.usage.records({ orgId: org, first: 2000 });
  const rows = nodes.filter((row) => row.runId === runId);
  const settled = rows.filter(({ state }) => state === 'settled');
  return {
    credits: settled.reduce((sum, { amounts }) => sum + (amounts.credits ?? 0), 0) / 100,
    runs: settled.reduce((sum, { amounts }) => sum + (amounts.agent_runs ?? 0), 0) / 100,
    open: rows.filter(({ state }) => state === 'reserved').length,
  };
}

interface StoredRun {
  run: {
    status: string;
    error_message: string | null;
    credits_used: number;
    total_steps: number;
    session_id: string;
    steps: { step_type: string; content?: string; tool_name?: string }[];
  };
}
const read = async (agentId: string, runId: string, as = key) =>
  (await penstock.rest<StoredRun>('GET', `/agents/${agentId}/runs/${runId}`, { key: as })).body.run;

/** Starts a run that will wait, and leaves its stream. */
async function startSlow(agentId: string, input: string): Promise<string> {
  const started = await penstock.graphql<{ runAgent: { id: string; status: string } }>(
    'mutation ($id: ID!, $input: RunAgentInput!) { runAgent(id: $id, input: $input) { id status } }',
    { key, variables: { id: agentId, input: { input } } },
  );
  expect(started.data!.runAgent.status).toBe('running');
  return started.data!.runAgent.id;
}

/** The calls of a model that never has enough. */
const greedy = ({ body }: SeenRequest): Reply => {
  const offered = Array.isArray(body['tools']);
  const call = (index: number, name: string) => ({
    index,
    id: `same_${index % 3}`,
    type: 'function',
    function: { name, arguments: '{"prompt":"more","max_tokens":5}' },
  });
  // The tool's own model call has no tools either.
  const calls = Array.from({ length: 1000 }, (_, i) => call(i, i === 1 ? 'generate_image' : 'generate_text'));
  return {
    chunks: [
      chunk({ role: 'assistant', content: offered ? null : 'Enough.' }),
      ...(offered ? [chunk({ tool_calls: calls })] : []),
      chunk({}, { finish_reason: offered ? 'tool_calls' : 'stop' }),
      usageChunk(10, 5),
      DONE_EVENT,
    ],
  };
};

describe('an agent stays in its bounds (trust 1, promise 19)', () => {
  test('a model that asks for 1,000 tools a round gets eight of them, in no more rounds than it has', async () => {
    upstream.always(greedy);
    const id = await makeAgent(penstock, key, {
      model: 'acme/greedy',
      tools: ['generate_text'],
      max_iterations: 3,
    });
    const run = await runAgent(penstock, key, id, { input: 'Go' });
    expect(run.last).toMatchObject({ type: 'done', output: 'Enough.' });
    const calls = run.steps.filter(({ type }) => type === 'tool_call');
    // Two rounds with tools (the last one offers none); one of the eight was not granted.
    expect(calls).toHaveLength(14);
    expect(new Set(calls.map(({ tool }) => tool))).toEqual(new Set(['generate_text']));
    expect(await ledger(run.runId)).toEqual({ credits: run.last.credits_used, runs: 1, open: 0 });
  });

  test('a run that runs out of credits fails, keeps its steps and is charged for them', async () => {
    const poor = await penstock.createOrg({ plan: 'pro_monthly' });
    await penstock.services.metering.setUsed(poor.orgId, 'credits', 19_500);
    const id = await makeAgent(penstock, poor.key, { tools: ['generate_text', 'web_search'] });
    const search = { tool_call: { name: 'web_search', arguments: { query: 'weirs' } } };
    const run = await runAgent(penstock, poor.key, id, { input: script(write, search, write, write) });
    expect(run.last).toEqual({ type: 'error', error: 'Quota exceeded for credits' });
    const stored = await read(id, run.runId, poor.key);
    expect(stored).toMatchObject({ status: 'failed', error_message: 'Quota exceeded for credits' });
    expect(stored.steps.at(-1)).toMatchObject({ step_type: 'error', content: 'Quota exceeded for credits' });
    expect(stored.steps.length).toBeGreaterThan(3);
    expect(await ledger(run.runId, poor.orgId)).toEqual({ credits: stored.credits_used, runs: 1, open: 0 });
  });

  test('without runs or credits left it is refused before it begins', async () => {
    const poor = await penstock.createOrg({ plan: 'pro_monthly' });
    const id = await makeAgent(penstock, poor.key);
    const start = () =>
      penstock.rest('POST', `/agents/${id}/run`, { key: poor.key, body: { input: 'Hello' } });
    await penstock.services.metering.setUsed(poor.orgId, 'agent_runs', 10_000);
    expect(await start()).toMatchObject({
      status: 402,
      body: { error: 'Agent run quota exceeded', code: 'quota_exceeded', remaining: 0 },
    });
    await penstock.services.metering.setUsed(poor.orgId, 'agent_runs', 0);
    await penstock.services.metering.setUsed(poor.orgId, 'credits', 20_000);
    expect(await start()).toMatchObject({ status: 402, body: { error: 'Quota exceeded for credits' } });
  });
});

describe('a run', () => {
  test('that fails before its first step is free', async () => {
    const id = await makeAgent(penstock, key);
    const run = await runAgent(penstock, key, id, { input: '@sandbox{"fail":"broken"}' });
    expect(run.last).toEqual({ type: 'error', error: 'Generation failed' });
    expect(await read(id, run.runId)).toMatchObject({ status: 'failed', credits_used: 0, total_steps: 0 });
    expect(await ledger(run.runId)).toEqual({ credits: 0, runs: 0, open: 0 });
  });

  test('is cancelled once, charged for what it did, and tells its stream', async () => {
    const id = await makeAgent(penstock, key, { tools: ['generate_text'] });
    const runId = await startSlow(id, script(write, slow));
    await eventually(async () => (await read(id, runId)).total_steps >= 3);
    const stream = readRun(penstock, 'GET', `/agents/${id}/runs/${runId}/stream`, { key });
    const path = `/agents/${id}/runs/${runId}/cancel`;
    const cancelled = await penstock.rest<StoredRun>('POST', path, { key });
    expect(cancelled.body.run).toMatchObject({ status: 'cancelled', error_message: 'Cancelled' });
    expect((await stream).last).toEqual({ type: 'error', error: 'Cancelled' });
    expect(await penstock.rest('POST', path, { key })).toMatchObject({
      status: 400,
      body: { error: 'Cannot cancel cancelled run' },
    });
    const charged = await eventually(async () => {
      const found = await ledger(runId);
      return found.open === 0 && found;
    });
    expect(charged).toEqual({ credits: cancelled.body.run.credits_used, runs: 1, open: 0 });
  });

  test('ends at its next model call when its key is revoked', async () => {
    const other = await penstock.createKey(orgId);
    const id = await makeAgent(penstock, key, { tools: ['generate_text'] });
    const hangUp = new AbortController();
    const { events } = await penstock.events('POST', `/agents/${id}/run`, {
      key: other.key,
      body: { input: script({ ...write, delay_ms: 500 }, write) },
      signal: hangUp.signal,
    });
    const { run_id: runId } = JSON.parse((await events.next()).value!.data) as { run_id: string };
    hangUp.abort();
    await createKeyService({ database: penstock.services.database }).revoke(other.id);
    const run = await eventually(async () => {
      const found = await read(id, runId);
      return found.status !== 'running' && found;
    });
    expect(run).toMatchObject({ status: 'failed', error_message: 'Invalid or missing API key' });
    expect(await ledger(runId)).toMatchObject({ credits: run.credits_used, open: 0 });
  });

  test("of another organisation's public agent is the caller's own, paid and read by it alone", async () => {
    const id = await makeAgent(penstock, key);
    await penstock.rest('PATCH', `/agents/${id}`, { key, body: { is_public: true } });
    const guest = await penstock.createOrg({ plan: 'pro_monthly' });
    const run = await runAgent(penstock, guest.key, id, { input: 'Hello' });
    expect(run.last).toMatchObject({ type: 'done' });
    expect(await ledger(run.runId, guest.orgId)).toMatchObject({ credits: run.last.credits_used, runs: 1 });
    expect((await penstock.rest('GET', `/agents/${id}/runs/${run.runId}`, { key })).status).toBe(404);
    const own = await penstock.rest<{ runs: object[] }>('GET', `/agents/${id}/runs`, { key });
    expect(own.body.runs).toEqual([]);
  });

  test('goes on when its client hangs up', async () => {
    const id = await makeAgent(penstock, key);
    const hangUp = new AbortController();
    const { events } = await penstock.events('POST', `/agents/${id}/run`, {
      key,
      body: { input: '@sandbox{"delay_ms":300}' },
      signal: hangUp.signal,
    });
    const first = await events.next();
    const { run_id: runId } = JSON.parse(first.value!.data) as { run_id: string };
    hangUp.abort();
    await eventually(async () => (await read(id, runId)).status === 'completed');
  });

  test('is started once for an Idempotency-Key: a retry joins it', async () => {
    const id = await makeAgent(penstock, key);
    const headers = { 'idempotency-key': 'run-once' };
    const body = { input: '@sandbox{"delay_ms":200}' };
    const first = await penstock.events('POST', `/agents/${id}/run`, { key, body, headers });
    const start = JSON.parse((await first.events.next()).value!.data) as { run_id: string };
    // While it runs, and after its end.
    const runs = await Promise.all([1, 2].map(() => runAgent(penstock, key, id, body, headers)));
    runs.push(await runAgent(penstock, key, id, body, headers));
    await first.events.return(undefined);
    expect(runs[0]!.runId).toBe(start.run_id);
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1);
    for (const run of runs) expect(run.events).toEqual(runs[0]!.events);
    const listed = await penstock.rest<{ runs: object[] }>('GET', `/agents/${id}/runs`, { key });
    expect(listed.body.runs).toHaveLength(1);
  });

  test('is followed over WebSocket, each event with the run as of it', async () => {
    const id = await makeAgent(penstock, key, { tools: ['generate_text'] });
    const runId = await startSlow(id, script(write));
    const query = `subscription { agentRunSteps(runId: "${runId}", after: 0) {
      sequence type step { stepNumber stepType toolName } run { status totalSteps output } } }`;
    const seen: { agentRunSteps: { sequence: number; type: string; run: { status: string } } }[] = [];
    for await (const { data } of penstock.ws(key).iterate({ query })) seen.push(data as never);
    const events = seen.map(({ agentRunSteps }) => agentRunSteps);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ type }) => type)).toEqual(['start', 'step', 'step', 'step', 'step', 'done']);
    expect(events[0]).toMatchObject({ run: { status: 'running', totalSteps: 0, output: null } });
    expect(events[2]).toMatchObject({
      step: { stepNumber: 2, stepType: 'tool_call', toolName: 'generate_text' },
      run: { status: 'running', totalSteps: 2 },
    });
    expect(events.at(-1)).toMatchObject({ run: { status: 'completed', totalSteps: 4 } });
  });

  test('continues its session: what was said before is part of the conversation', async () => {
    upstream.always((request) => ({ ...greedy({ ...request, body: {} }) }));
    const id = await makeAgent(penstock, key, { model: 'acme/greedy' });
    const first = await runAgent(penstock, key, id, { input: 'My dog is Rex' });
    const session = first.events[0]!.session_id;
    const history = [{ role: 'user', content: 'An aside' }];
    await runAgent(penstock, key, id, {
      input: 'Who?',
      session_id: session,
      conversation_history: history,
    });
    const { messages } = upstream.requests.at(-1)!.body as { messages: { role: string; content: string }[] };
    expect(messages.slice(1).map(({ role, content }) => [role, content])).toEqual([
      ['user', 'My dog is Rex'],
      ['assistant', 'Enough.'],
      ['user', 'An aside'],
      ['user', 'Who?'],
    ]);
  });

  test('is stored whatever its model says: NUL characters and lone surrogates', async () => {
    const odd = 'a\\u0000b\\ud800c';
    upstream.always({
      chunks: [
        `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"${odd}\\\\u0000"}}]}\n\n`,
        chunk({}, { finish_reason: 'stop' }),
        DONE_EVENT,
      ],
    });
    const id = await makeAgent(penstock, key, { model: 'acme/greedy' });
    const run = await runAgent(penstock, key, id, { input: 'Odd' });
    expect(run.last).toMatchObject({ type: 'done', output: 'ab\ufffdc\\u0000' });
  });

  test('is answered whole by a model that says too early that it ends, and never [DONE]', async () => {
    const aside = 'data: {"choices":[],"prompt_filter_results":[]}\n\n';
    const words = ['Turbines', ' turn.'].map((content) => chunk({ content }, { finish_reason: 'stop' }));
    upstream.always({ chunks: [aside, ...words] });
    const id = await makeAgent(penstock, key, { model: 'acme/greedy' });
    const run = await runAgent(penstock, key, id, { input: 'Turbines?' });
    expect(run.last).toMatchObject({ type: 'done', output: 'Turbines turn.' });
  });

  test('of a template works as it is, also for an organisation that does not own it', async () => {
    const { body } = await penstock.rest<{ agents: { id: string; is_template: boolean; tools: string[] }[] }>(
      'GET',
      '/agents?include_templates=true&template_category=analysis',
      { key },
    );
    const template = body.agents.find(
      (agent) => agent.is_template && agent.tools.includes('generate_chart'),
    )!;
    const run = await runAgent(penstock, key, template.id, { input: 'Draw a chart of apples 3, pears 5' });
    expect(run.last).toMatchObject({ type: 'done' });
    expect(run.steps.map(({ tool }) => tool)).toContain('generate_chart');
  });

  test('remembers what the user told it, for that user only', async () => {
    const id = await makeAgent(penstock, key, { memory_enabled: true });
    await runAgent(penstock, key, id, { input: 'My name is Ada and I live in Turin.', user: 'ada' });
    const again = await runAgent(penstock, key, id, { input: 'What is my name?', user: 'ada' });
    expect(again.last.output).toContain('Ada');
    const other = await runAgent(penstock, key, id, { input: 'What is my name?', user: 'bob' });
    expect(other.last.output).not.toContain('Ada');
  });

  test.each([
    [{}, 'input is required'],
    [{ input: 'x'.repeat(10_001) }, 'input must be at most 10000 characters'],
    [{ input: 'x', user: 'u'.repeat(201) }, 'user must be at most 200 characters'],
    [{ input: 'x', orgId: 'org_1' }, 'Unknown parameter: orgId'],
    [
      { input: 'x', conversation_history: [{ role: 'user', content: 'y', name: 'z' }] },
      'Unknown parameter: name',
    ],
    [
      { input: 'x', attachments: [{ type: 'video', url: 'https://a.example' }] },
      'Unsupported attachment type',
    ],
    [{ input: 'x', attachments: [{ type: 'image', url: 'http://127.1/' }] }, 'Invalid URL'],
    [{ input: 'x', attachments: [{ type: 'image', url: 'http://localhost./x' }] }, 'Invalid URL'],
    [{ input: 'x', attachments: [{ type: 'image', url: 'data:,<svg/>' }] }, 'Unsupported attachment type'],
  ])('is refused where it does not fit: %#', async (body, error) => {
    const id = await makeAgent(penstock, key);
    const path = `/agents/${id}/run`;
    expect(await penstock.rest('POST', path, { key, body })).toMatchObject({ status: 400, body: { error } });
  });

  test('of another organisation, or of another agent, is unknown', async () => {
    const id = await makeAgent(penstock, key);
    const other = await makeAgent(penstock, key);
    const { runId } = await runAgent(penstock, key, id, { input: 'Hello' });
    const stranger = await penstock.createOrg();
    for (const [agent, as] of [
      [id, stranger.key],
      [other, key],
    ] as const)
      for (const path of [`/agents/${agent}/runs/${runId}`, `/agents/${agent}/runs/${runId}/stream`])
        expect(await penstock.rest('GET', path, { key: as })).toMatchObject({
          status: 404,
          body: { error: 'Run not found' },
        });
  });

  test('tells of itself on the bus and to webhooks', async () => {
    const seen: { topic: string; type: string; sequence?: number; data: Record<string, unknown> }[] = [];
    const subscription = await penstock.services.bus.subscribe(
      { topics: ['agents', 'events'], group: null },
      ({ topic, event }) => void seen.push({ topic, ...event }),
    );
    const id = await makeAgent(penstock, key, { name: 'Teller' });
    const { runId } = await runAgent(penstock, key, id, { input: 'Hello' });
    const own = () =>
      seen.filter(({ topic, data }) =>
        topic === 'agents' ? data['run_id'] === runId : data['agentId'] === id,
      );
    await eventually(() => own().length >= 6);
    await subscription.close();
    const kafka = own().filter(({ topic }) => topic === 'agents');
    expect(kafka.map(({ type, sequence }) => [type, sequence])).toEqual([
      ['run.started', 1],
      ['run.step', 2],
      ['run.completed', 3],
    ]);
    for (const { type, data } of kafka)
      expect(Object.keys(data).sort()).toEqual(
        [...((RUN_EVENT_DATA[type] ?? {})['required'] as string[])].sort(),
      );
    const events = new Map(own().map(({ type, data }) => [type, data]));
    expect(events.get('chat.conversation.created')).toMatchObject({ agentName: 'Teller' });
    expect(events.get('agent.run.started')).toMatchObject({ runId, agentName: 'Teller', input: 'Hello' });
    expect(events.get('agent.run.completed')).toMatchObject({
      runId,
      output: expect.any(String),
      totalSteps: 1,
      durationMs: expect.any(Number),
      unitsUsed: 1,
      unitType: 'agent_runs',
    });
  });
});
