import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { chunk, DONE_EVENT, startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { startMcpServer } from '../support/mcp.js';
import type { ScriptedMcpServer } from '../support/mcp.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

/** A tool that does the more, the less it is given. */
const WIPE = { name: 'wipe', inputSchema: { type: 'object', properties: { filter: { type: 'string' } } } };
const ANTHROPIC = 'anthropic/claude-haiku-4-5';

let upstream: FakeUpstream;
let native: NativeUpstream;
let server: ScriptedMcpServer;
let folder: string;
let penstock: TestServer;
let key: string;
let orgId: string;
/** Agents by the model that they ask. */
const agents = new Map<string, string>();
/** The arguments of each call that the server got. */
const made: unknown[] = [];

beforeAll(async () => {
  upstream = await startFakeUpstream();
  native = await startNativeUpstream();
  server = await startMcpServer({
    tools: [WIPE],
    call({ params }) {
      made.push(params?.arguments);
      return { result: { content: [{ type: 'text', text: 'wiped' }] } };
    },
  });
  folder = await mkdtemp(join(tmpdir(), 'penstock-mcp-'));
  const file = join(folder, 'mcp.json');
  await writeFile(file, JSON.stringify({ servers: { f: { url: server.url } } }));
  const model = { id: 'acme/chat', upstreamId: 'chat', type: 'chat', tier: 'basic' };
  const acme = { id: 'acme', kind: 'openai-compatible', baseUrl: upstream.baseUrl, apiKey: 'sk-acme' };
  penstock = await startPenstock({
    env: { MCP_FILE: file, ANTHROPIC_API_KEY: 'sk-ant', ANTHROPIC_BASE_URL: `${native.origin}/v1` },
    providers: { providers: [{ ...acme, models: [model] }] },
  });
  ({ key, orgId } = await penstock.createOrg({ plan: 'business_monthly' }));
  for (const asked of ['acme/chat', ANTHROPIC])
    agents.set(asked, await makeAgent(penstock, key, { model: asked, tools: ['mcp:f/wipe'] }));
});
afterAll(async () => {
  await penstock?.close();
  await server?.close();
  await native?.close();
  await upstream?.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => void made.splice(0));

/** A run to its end. @returns the call's steps, and what it was charged */
async function run(model: string) {
  const { last, steps, runId } = await runAgent(penstock, key, agents.get(model)!, { input: 'Wipe' });
  expect(last).toMatchObject({ type: 'done', output: 'Done.' });
  const [call, result] = steps.filter(({ type }) => type.startsWith('tool_'));
  const { nodes } = await penstock.services.usage.records({ orgId, first: 1000 });
  const rows = nodes.filter((row) => row.runId === runId && row.operation === 'agent_tool');
  const charges = rows.map(({ amounts }) => (amounts.credits ?? 0) / 100);
  return { input: call?.tool_input, output: result?.tool_output, charges };
}

/** A run whose model asks once, its arguments in these pieces. */
async function asking(pieces: unknown[], reason: string) {
  const finish = (why: string): string[] => [chunk({}, { finish_reason: why }), DONE_EVENT];
  const calls = [
    { index: 0, id: 'c_1', function: { name: 'mcp__f__wipe' } },
    ...pieces.map((given) => ({ index: 0, function: { arguments: given } })),
  ];
  upstream.queue(
    { chunks: [...calls.map((call) => chunk({ tool_calls: [call] })), ...finish(reason)] },
    { chunks: [chunk({ content: 'Done.' }), ...finish('stop')] },
  );
  const done = await run('acme/chat');
  return { ...done, told: (upstream.requests.at(-1)!.body['messages'] as object[]).at(-1) };
}

test.each([
  ['cut off', ['{"filter":', '"only-this'], 'length'],
  ['cut off, whatever the upstream says of it', ['{"filter":"only-this'], 'tool_calls'],
  ['cut off before they began', [], 'length'],
  ['cut off before their first field', ['{}'], 'length'],
  ['an object that holds what a parser takes away', ['{"filter":"x","__proto__":{"a":1}}'], 'tool_calls'],
  ['a list', ['["x"]'], 'tool_calls'],
  ['a list, sent as such', [['x']], 'tool_calls'],
  ['a word', ['"x"'], 'tool_calls'],
])(
  'a tool is not called, and costs nothing, where its arguments are %s: the model is told, and tool_input is an object',
  async (_what, pieces, reason) => {
    const { input, output, charges, told } = await asking(pieces, reason);
    expect(made).toEqual([]);
    expect(charges).toEqual([]);
    const error: unknown = expect.stringMatching(/^Invalid input: /);
    expect(output).toEqual({ error });
    expect(told).toMatchObject({ role: 'tool', content: error });
    expect(Object.prototype.toString.call(input)).toBe('[object Object]');
  },
);

test.each([
  ['nothing', [], {}],
  ['no text', [''], {}],
  ['null', [null], {}],
  ['an object', ['{"filter":', '"x"}'], { filter: 'x' }],
  ['an object, sent as such', [{ filter: 'x' }], { filter: 'x' }],
])('a tool is called where a model sends %s for its arguments', async (_what, pieces, given) => {
  const { input, output, charges } = await asking(pieces, 'tool_calls');
  expect(made).toEqual([given]);
  expect(input).toEqual(given);
  expect(output).toEqual({ text: 'wiped' });
  expect(charges).toEqual([3]);
});

test('a tool is called where an answer is cut off behind the whole of its arguments', async () => {
  await asking(['{"filter":"x"}'], 'length');
  expect(made).toEqual([{ filter: 'x' }]);
});

/** A streamed message of Anthropic's, of one block. */
function message(block: object, deltas: object[], reason: string): object[] {
  const whole = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [] };
  const usage = { input_tokens: 12, output_tokens: 7 };
  return [
    { type: 'message_start', message: { ...whole, stop_reason: null, usage } },
    { type: 'content_block_start', index: 0, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}

test.each([
  ['is not called where a native provider cuts its arguments off', ['{"filter":"only'], 'max_tokens', []],
  ['is not called where a native provider cuts them off at once', [], 'max_tokens', []],
  [
    'is called where a native provider sends them whole',
    ['{"filter"', ':"x"}'],
    'tool_use',
    [{ filter: 'x' }],
  ],
  ['is called where a native provider sends none', [], 'tool_use', [{}]],
])('a tool %s', async (_what, pieces, reason, calls) => {
  const tool = { type: 'tool_use', id: 'toolu_1', name: 'mcp__f__wipe', input: {} };
  const asked = message(
    tool,
    pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    reason,
  );
  const done = message({ type: 'text', text: '' }, [{ type: 'text_delta', text: 'Done.' }], 'end_turn');
  const rounds = [asked, done];
  native.on('/v1/messages', () => ({ events: rounds.shift() ?? done }));
  const { charges } = await run(ANTHROPIC);
  expect(made).toEqual(calls);
  expect(charges).toEqual(calls.map(() => 3));
});
