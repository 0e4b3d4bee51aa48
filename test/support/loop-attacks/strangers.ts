import type { ServerResponse } from 'node:http';
import type { McpMessage, McpScript } from '../mcp.js';
import { completion } from '../fake-upstream.js';
import { MB, rest, type Attack, type Attacker, type Body, type Told } from './attack.js';

/** The tool of the attacker's agent, and a tool that cuts the connection, so that the list is read again with the next call. */
const GO = { name: 'go', description: 'Goes', inputSchema: { type: 'object' } };

const list = <Item>(count: number, item: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => item(at));

const nested = (levels: number, inner: object): object => {
  let schema = inner;
  for (let level = 0; level < levels; level++)
    schema = { type: 'object', properties: { a: schema }, allOf: [{}] };
  return schema;
};
const tool = (at: number, inputSchema: object) => ({ name: `t${at}`, inputSchema });
const wide = (count: number): object => ({
  type: 'object',
  properties: Object.fromEntries(list(count, (at) => [`p${at}`, { type: 'string', pattern: '(a+)+$' }])),
});

/** Absurd lists of tools. */
const LISTS: readonly (readonly [string, () => object[]])[] = [
  ['10,000 tools', () => list(10_000, (at) => tool(at, { type: 'object' }))],
  ['500 tools of 200 properties', () => list(500, (at) => tool(at, wide(200)))],
  ['a schema of 50,000 properties', () => [tool(0, wide(50_000))]],
  ['a schema of 400 levels', () => [tool(0, nested(400, {}))]],
  ['a schema of 1,500 levels', () => [tool(0, nested(1500, {}))]],
  ['50 schemas of 400 levels', () => list(50, (at) => tool(at, nested(400, {})))],
  ['an allOf of 100,000', () => [tool(0, { type: 'object', allOf: list(100_000, () => ({})) })]],
  ['a description of 5 MB', () => [{ ...tool(0, { type: 'object' }), description: 'a '.repeat(2.5 * MB) }]],
  ['100,000 faulty entries', () => list(100_000, () => 7 as unknown as object)],
  [
    'definitions that double',
    () => {
      const doubled = list(40, (at) => [
        `d${at}`,
        { anyOf: list(2, () => ({ $ref: `#/$defs/d${at + 1}` })) },
      ]);
      const $defs = { ...Object.fromEntries(doubled), d40: {} };
      return [tool(0, { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs })];
    },
  ],
];

/** Absurd results of a call. */
const RESULTS: readonly (readonly [string, () => object])[] = [
  ['a text of 9 MB', () => ({ content: [{ type: 'text', text: 'a '.repeat(4.5 * MB) }] })],
  ['100,000 texts', () => ({ content: list(100_000, () => ({ type: 'text', text: 'a' })) })],
  [
    'a structure of 300,000 objects',
    () => ({ content: [], structuredContent: { a: list(300_000, (at) => ({ at })) } }),
  ],
  [
    'a picture of 9 MB',
    () => ({ content: [{ type: 'image', mimeType: 'image/png', data: 'A'.repeat(9 * MB) }] }),
  ],
];

/** The current answers of the hostile server. */
const says: { tools: object[]; result: () => object; cut: boolean } = {
  tools: [],
  result: () => ({ content: [] }),
  cut: false,
};

/** The attacker's MCP server. */
export const hostileTools: McpScript = {
  get tools() {
    return [GO, ...says.tools];
  },
  call(_message: McpMessage, response: ServerResponse) {
    if (!says.cut) return { result: says.result() };
    response.destroy();
    return undefined;
  },
};

const runGo = (attacker: Attacker): Promise<Told> =>
  rest('POST', `/agents/${attacker.toolAgentId}/run`, {
    input: `@sandbox${JSON.stringify({ tool_call: { name: 'mcp:hostile/go', arguments: {} } })}`,
  })(attacker);

const toolLists = (): Attack[] => [
  ...LISTS.map(([form, tools]): Attack => ({
    field: 'MCP tool list',
    form,
    async send(attacker) {
      Object.assign(says, { cut: true, tools: tools() });
      await runGo(attacker);
      says.cut = false;
      const told = await runGo(attacker);
      says.tools = [];
      return told;
    },
  })),
  ...RESULTS.map(([form, result]): Attack => ({
    field: 'MCP tool result',
    form,
    async send(attacker) {
      Object.assign(says, { cut: false, result });
      return await runGo(attacker);
    },
  })),
];

const claude = (content: object[]): Body => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  model: 'claude',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 1 },
});

/** Whole answers in a maker's own form. */
const NATIVE: readonly (readonly [string, () => Body])[] = [
  ['a text of 10 MB', () => claude([{ type: 'text', text: 'a '.repeat(5 * MB) }])],
  ['20,000 blocks', () => claude(list(20_000, () => ({ type: 'text', text: 'a' })))],
  [
    'an input of 100,000 objects',
    () => claude([{ type: 'tool_use', id: 'c1', name: 'go', input: { a: list(100_000, (at) => ({ at })) } }]),
  ],
];

const nativeAnswers = (): Attack[] =>
  NATIVE.map(([form, body]) => ({
    field: 'native chat answer',
    form,
    async send(attacker) {
      attacker.upstream.always({ body: body() });
      const tools = [{ type: 'function', function: { name: 'go', parameters: {} } }];
      const messages = [{ role: 'user', content: 'Hi' }];
      const { status, error } = await rest('POST', '/chat/completions', {
        model: 'claude/chat',
        messages,
        tools,
      })(attacker);
      attacker.upstream.always({ body: completion('a') });
      attacker.upstream.requests.length = 0;
      return { status: status === 502 || error === 'Generation failed' ? 200 : status, error };
    },
  }));

/** MCP servers, and makers with their own form. */
export const strangerAttacks = (): Attack[] => [...toolLists(), ...nativeAnswers()];

/** The maker's models, in the form of PROVIDERS_FILE. */
export const claudeOf = (baseUrl: string): object => ({
  id: 'claude',
  kind: 'anthropic',
  baseUrl,
  apiKey: 'sk-claude',
  retry: { retries: 0, backoffMs: 1 },
  models: [{ id: 'claude/chat', upstreamId: 'claude-haiku-4-5', type: 'chat', tier: 'basic' }],
});
