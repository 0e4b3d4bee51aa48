import { afterAll, beforeAll, expect, test } from 'vitest';
import { createUrlSigner } from '../../src/files/index.js';
import { makeAgent, readRun, runAgent } from '../support/agents.js';
import { chunk, DONE_EVENT, startFakeUpstream, usageChunk } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { startReceiver, trustReceivers } from '../support/receiver.js';
import type { Receiver } from '../support/receiver.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

trustReceivers();
const SECRET = 'SigningSecret0123456789abcdefghijklmnop';
const ADDRESS = /https?:\/\/[^\s/]+(\/files\/[^?\s]+)(\?expires=\d+&signature=[0-9a-f]+)/;
const LONG_AGO = new Date(Date.now() - 20 * 86_400_000);

let penstock: TestServer;
let upstream: FakeUpstream;
let receiver: Receiver;
let key: string;
let agentId: string;
let runId: string;
let sessionId: string;
let webhookId: string;

/** Moves a finished run with all that it said 20 days back. */
async function age(run: string, address: RegExpExecArray): Promise<void> {
  const [, pathname = '', query = ''] = address;
  const then = createUrlSigner({ current: SECRET, previous: null }, () => LONG_AGO.getTime());
  const before = `${pathname}${query}`;
  const [orgId = '', id = '', extension = ''] = pathname.slice('/files/'.length).split(/[/.]/);
  const after = then.sign({ orgId, id, extension });
  expect(after).not.toBe(before);
  const { sql } = penstock.installation;
  const replaced = (column: string, type: string) =>
    `${column} = replace(${column}::text, '${before}', '${after}')::${type}`;
  await sql(
    `UPDATE agent_runs SET created_at = '${LONG_AGO.toISOString()}', completed_at = '${LONG_AGO.toISOString()}',
      ${replaced('output', 'text')} WHERE id = '${run}'`,
  );
  await sql(`UPDATE agent_run_steps SET ${replaced('content', 'text')} WHERE run_id = '${run}'`);
  await sql(`UPDATE agent_run_events SET ${replaced('data', 'jsonb')} WHERE run_id = '${run}'`);
  await sql(
    `UPDATE webhook_events SET ${replaced('event', 'jsonb')} WHERE event -> 'data' ->> 'runId' = '${run}'`,
  );
  await sql(
    `UPDATE webhook_events SET event = event || '{"timestamp":"${LONG_AGO.toISOString()}"}' WHERE event -> 'data' ->> 'runId' = '${run}'`,
  );
  const [row] = (await sql(`SELECT output FROM agent_runs WHERE id = '${run}'`)) as { output: string }[];
  expect(await statusOf(row!.output)).toBe(403);
}

/** How the first address of a text answers. */
async function statusOf(text: unknown): Promise<number> {
  const [, pathname, query] = ADDRESS.exec(String(text)) ?? [];
  if (pathname === undefined) throw new Error(`no address in ${JSON.stringify(text)}`);
  const answer = await fetch(`${penstock.origin}${pathname}${query}`);
  await answer.body?.cancel();
  return answer.status;
}

beforeAll(async () => {
  upstream = await startFakeUpstream();
  receiver = await startReceiver();
  const models = [{ id: 'acme/greedy', upstreamId: 'greedy', type: 'chat', tier: 'basic' }];
  const acme = {
    id: 'acme',
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    apiKey: 'sk-acme',
    models,
  };
  penstock = await startPenstock({
    env: { SIGNING_SECRET: SECRET, EGRESS_ALLOW: '127.0.0.0/8' },
    providers: { providers: [acme] },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
  const hook = { name: 'runs', url: receiver.url, events: ['agent.run.completed'] };
  const made = await penstock.rest<{ webhook: { id: string } }>('POST', '/webhooks', { key, body: hook });
  webhookId = made.body.webhook.id;
  agentId = await makeAgent(penstock, key, { tools: ['generate_chart'] });
  const run = await runAgent(penstock, key, agentId, { input: 'Draw a bar chart of apples 3, pears 5' });
  runId = run.runId;
  sessionId = String(run.events[0]!.session_id);
  const address = ADDRESS.exec(String(run.last.output));
  expect(address, 'the model names the file').not.toBeNull();
  await eventually(() => receiver.requests.length === 1);
  await age(runId, address!);
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
  await receiver?.close();
});

test('the address of a file in a run’s answer opens whenever the run is read, in its output as in its steps', async () => {
  type Stored = { output: string; steps: { step_type: string; content: string | null }[] };
  const one = await penstock.rest<{ run: Stored }>('GET', `/agents/${agentId}/runs/${runId}`, { key });
  const list = await penstock.rest<{ runs: Stored[] }>('GET', `/agents/${agentId}/runs`, { key });
  for (const run of [one.body.run, list.body.runs[0]!]) expect(await statusOf(run.output)).toBe(200);
  const response = one.body.run.steps.find((step) => step.step_type === 'response');
  expect(await statusOf(response?.content)).toBe(200);
});

test('so it does in the run’s stream and its subscription, read again', async () => {
  const { last, steps } = await readRun(penstock, 'GET', `/agents/${agentId}/runs/${runId}/stream`, { key });
  expect(await statusOf(last.output)).toBe(200);
  expect(await statusOf(steps.at(-1)?.content)).toBe(200);
  const query = `subscription { agentRunSteps(runId: "${runId}", after: 0) { type step { content } run { output } } }`;
  const seen: {
    agentRunSteps: { step: { content: string | null } | null; run: { output: string | null } };
  }[] = [];
  for await (const { data } of penstock.ws(key).iterate({ query })) seen.push(data as never);
  const events = seen.map(({ agentRunSteps }) => agentRunSteps);
  expect(await statusOf(events.at(-1)?.run.output)).toBe(200);
  expect(await statusOf(events.at(-2)?.step?.content)).toBe(200);
});

test('so it does in a delivery that is made again', async () => {
  const path = `/webhooks/${webhookId}/deliveries`;
  const { body } = await penstock.rest<{ deliveries: { id: string }[] }>('GET', path, { key });
  await penstock.rest('POST', `${path}/${body.deliveries[0]!.id}/retry`, { key });
  await eventually(() => receiver.requests.length === 2);
  const { data } = JSON.parse(receiver.requests[1]!.body) as { data: { output: string } };
  expect(await statusOf(data.output)).toBe(200);
});

test('so it does in what the model is told of the session’s earlier runs', async () => {
  const words = chunk({ content: 'There it is.' }, { finish_reason: 'stop' });
  upstream.always({ chunks: [words, usageChunk(10, 5), DONE_EVENT] });
  await penstock.rest('PATCH', `/agents/${agentId}`, { key, body: { model: 'acme/greedy' } });
  await runAgent(penstock, key, agentId, { input: 'Where is it?', session_id: sessionId });
  const { messages } = upstream.requests.at(-1)!.body as { messages: { role: string; content: string }[] };
  expect(await statusOf(messages.find(({ role }) => role === 'assistant')?.content)).toBe(200);
});

test('a tool’s input stands as the model wrote it, whatever it looks like', async () => {
  const url = { $file: `file_${'0'.repeat(26)}.png` };
  const call = { tool_call: { name: 'generate_chart', arguments: { url } } };
  const id = await makeAgent(penstock, key, { tools: ['generate_chart'] });
  const run = await runAgent(penstock, key, id, { input: `@sandbox${JSON.stringify({ steps: [call] })}` });
  expect(run.steps.find(({ type }) => type === 'tool_call')?.tool_input).toEqual({ url });
});
