import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { startMcpServer } from '../support/mcp.js';
import type { McpMessage, ScriptedMcpServer } from '../support/mcp.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

/** Takes time that doubles with each letter of a word that it does not fit. */
const ENDLESS = '^(a+)+$';
const WORD = `${'a'.repeat(24)}!`;
const matching = { type: 'string', pattern: ENDLESS };

/** Each place of a schema that can hold an expression, and an input that it is tried on. */
const EXPRESSIONS: [string, object, Record<string, unknown>][] = [
  ['property', { properties: { word: matching } }, { word: WORD }],
  ['items', { properties: { words: { type: 'array', items: matching } } }, { words: [WORD] }],
  ['alternatives', { properties: { word: { anyOf: [matching, { type: 'number' }] } } }, { word: WORD }],
  [
    'either',
    { properties: { word: { oneOf: [matching, { type: 'string', pattern: '!$' }] } } },
    { word: WORD },
  ],
  ['negated', { properties: { word: { not: { type: 'string', pattern: 'b' } } } }, { word: WORD }],
  ['referred', { properties: { word: { $ref: '#/$defs/word' } }, $defs: { word: matching } }, { word: WORD }],
  ['others', { additionalProperties: matching }, { word: WORD }],
  ['names', { propertyNames: { pattern: ENDLESS } }, { [WORD]: 1 }],
  ['named', { patternProperties: { '!$': {}, [ENDLESS]: {} }, additionalProperties: false }, { [WORD]: 1 }],
];

const tools = [
  ...EXPRESSIONS.map(([name, schema]) => ({ name, inputSchema: { type: 'object', ...schema } })),
  {
    name: 'called-pattern',
    inputSchema: { type: 'object', properties: { pattern: { type: 'number' } }, required: ['pattern'] },
  },
  {
    name: 'structured',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'object', properties: { word: matching } },
  },
];

function answerTo({ params }: McpMessage): object {
  if (params?.name === 'structured') return { result: { content: [], structuredContent: { word: WORD } } };
  return { result: { content: [{ type: 'text', text: 'taken' }] } };
}

let server: ScriptedMcpServer;
let penstock: TestServer;
let key: string;
let folder: string;

beforeAll(async () => {
  server = await startMcpServer({ tools, call: answerTo });
  folder = await mkdtemp(join(tmpdir(), 'penstock-mcp-'));
  const file = join(folder, 'mcp.json');
  await writeFile(file, JSON.stringify({ servers: { odd: { url: server.url, credits: 0 } } }));
  penstock = await startPenstock({ env: { MCP_FILE: file } });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await penstock?.close();
  await server?.close();
  await rm(folder, { recursive: true });
});

const scripted = (name: string, given: object) => ({
  input: `@sandbox${JSON.stringify({ tool_call: { name: `mcp:odd/${name}`, arguments: given } })}`,
});

/** What a model is told that calls the tool. */
async function outcomeOf(name: string, given: object = {}): Promise<unknown> {
  const id = await makeAgent(penstock, key, { tools: [`mcp:odd/${name}`] });
  const run = await runAgent(penstock, key, id, scripted(name, given));
  return run.steps.find(({ type }) => type === 'tool_result')?.tool_output;
}

test.each(EXPRESSIONS)(
  'an expression of a server is run on no input (%s): the server checks it',
  async (name, _schema, input) => {
    expect(await outcomeOf(name, input)).toEqual({ text: 'taken' });
  },
);

test('a property that is called pattern is checked like any other', async () => {
  expect(await outcomeOf('called-pattern', { pattern: 'x' })).toEqual({
    error: expect.stringMatching(/^Invalid input: pattern/),
  });
  expect(await outcomeOf('called-pattern', { pattern: 7 })).toEqual({ text: 'taken' });
});

test('an expression of a server is not run on what it answers either', async () => {
  expect(await outcomeOf('structured')).toEqual({ text: JSON.stringify({ word: WORD }) });
});
