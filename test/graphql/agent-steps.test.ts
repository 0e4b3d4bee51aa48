import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { startMcpServer, type ScriptedMcpServer } from '../support/mcp.js';
import { startPenstock, type TestServer } from '../support/server.js';

const SCRIPT = {
  steps: [
    { tool_call: { name: 'generate_chart', arguments: { type: 'none', data: [] } } },
    {
      tool_call: {
        name: 'generate_chart',
        arguments: { type: 'bar', title: 'Flow', data: [{ label: 'a', value: 1 }] },
      },
    },
  ],
};

let mcp: ScriptedMcpServer;
let server: TestServer;
let key: string;
beforeAll(async () => {
  mcp = await startMcpServer({
    tools: [{ name: 'gauge', description: 'Reads a gauge.', inputSchema: { type: 'object' } }],
    call: () => ({ result: { content: [] } }),
  });
  const file = join(await mkdtemp(join(tmpdir(), 'mcp-')), 'mcp.json');
  await writeFile(file, JSON.stringify({ servers: { river: { url: mcp.url, credits: 7 } } }));
  server = await startPenstock({ env: { MCP_FILE: file } });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await server?.close();
  await mcp?.close();
});

interface Step {
  stepNumber: number;
  stepType: string;
  createdAt: string;
  runTokens: number;
  runCredits: number;
}
interface Run {
  createdAt: string;
  completedAt: string;
  tokensUsed: number;
  creditsUsed: number;
}

const STEP = 'stepNumber stepType createdAt runTokens runCredits';

/** The steps as `agentRunSteps` tells them. */
async function toldSteps(runId: string): Promise<Step[]> {
  const client = server.ws(key);
  const text = `subscription ($id: ID!) { agentRunSteps(runId: $id, after: 0) { step { ${STEP} } } }`;
  const told: Step[] = [];
  for await (const { data } of client.iterate<{ agentRunSteps: { step: Step | null } }>({
    query: text,
    variables: { id: runId },
  }))
    if (data?.agentRunSteps.step) told.push(data.agentRunSteps.step);
  await client.dispose();
  return told;
}

test('a step tells when it was done and what the run had used by then, and a subscription tells the same', async () => {
  const agent = await makeAgent(server, key, { tools: ['generate_chart'] });
  const { runId } = await runAgent(server, key, agent, { input: `@sandbox${JSON.stringify(SCRIPT)}` });
  const { data } = await server.graphql<{ agentRun: Run & { steps: Step[] } }>(
    `query ($id: ID!) { agentRun(id: $id) { createdAt completedAt tokensUsed creditsUsed steps { ${STEP} } } }`,
    { key, variables: { id: runId } },
  );
  const { steps, ...run } = data!.agentRun;
  const results = steps.flatMap(({ stepType }, at) => (stepType === 'tool_result' ? [at] : []));
  const cost = results.map((at) => steps[at]!.runCredits - steps[at - 1]!.runCredits);
  // A tool that fails costs nothing.
  expect(cost).toEqual([0, 2]);
  const times = [run.createdAt, ...steps.map(({ createdAt }) => createdAt), run.completedAt];
  expect(times).toEqual(times.toSorted());
  expect(steps.at(-1)!.runTokens).toBe(run.tokensUsed);
  expect(run.creditsUsed).toBeGreaterThan(steps.at(-1)!.runCredits);
  expect(await toldSteps(runId)).toEqual(steps);
});

test('the runs of one conversation are listed by its session, and counted', async () => {
  const agent = await makeAgent(server, key);
  const first = await runAgent(server, key, agent, { input: 'How high is the river?' });
  await runAgent(server, key, agent, { input: 'Something else' });
  const sessionId = first.events[0]!.session_id!;
  const second = await runAgent(server, key, agent, { input: 'And now?', session_id: sessionId });
  const list = async (session: string) => {
    const { data, errors } = await server.graphql<{
      agentRuns: { totalCount: number; nodes: { id: string }[] };
    }>(
      'query ($a: ID!, $s: ID) { agentRuns(agentId: $a, sessionId: $s, first: 5) { totalCount nodes { id } } }',
      { key, variables: { a: agent, s: session } },
    );
    return errors.length > 0 ? errors : data!.agentRuns;
  };
  expect(await list(sessionId)).toEqual({
    totalCount: 2,
    nodes: [{ id: second.runId }, { id: first.runId }],
  });
  for (const unknown of ['no such session', 'x'.repeat(1000)])
    expect(await list(unknown)).toEqual({ totalCount: 0, nodes: [] });
});

test('the tools that agents can be granted are listed with their prices, those of MCP servers last', async () => {
  const ask = (as: string) =>
    server.graphql<{ agentTools: { id: string; credits: number; server: string | null }[] }>(
      '{ agentTools { id description credits server } }',
      { key: as },
    );
  const { data } = await ask(key);
  expect(data!.agentTools.map(({ id, credits, server: of }) => [id, credits, of])).toEqual([
    ['web_search', 5, null],
    ['web_fetch', 3, null],
    ['generate_text', 0, null],
    ['generate_image', 15, null],
    ['analyze_image', 5, null],
    ['generate_chart', 2, null],
    ['create_document', 3, null],
    ['mcp:river/gauge', 7, 'river'],
  ]);
  const free = await server.createOrg({ plan: 'free' });
  expect((await ask(free.key)).errors).toMatchObject([{ extensions: { code: 'plan_required' } }]);
});
