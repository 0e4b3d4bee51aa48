import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
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

const FAULTY = [
  { name: 'no-object', inputSchema: { type: 'string' } },
  { name: 'no-description', description: null, inputSchema: { type: 'object' } },
];
const tools: object[] = [
  ...FAULTY,
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
  ...['spaces', 'events', 'silent', 'refused', 'resources'].map((name) => ({
    name,
    inputSchema: { type: 'object' },
  })),
];

const uri = 'file:///notes.md';
const RESOURCES = [
  { type: 'resource', resource: { uri, mimeType: 'text/markdown', text: '# Weirs' } },
  { type: 'resource', resource: { uri: 'file:///weir.png', blob: 'AAAA' } },
  { type: 'resource_link', name: 'notes', uri },
];

/** Far more than is read, but no more, so that what reads it whole comes to an end too. */
const FAR_TOO_MUCH = 64 * 1024 * 1024;
/** Tools whose answer never ends, and what they go on with. */
const UNENDING: Record<string, { type: string; part: string }> = {
  spaces: { type: 'application/json', part: ' '.repeat(65_536) },
  events: {
    type: 'text/event-stream',
    part: `id: 1\nretry: 0\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${'x'.repeat(65_536)}"}}\n\n`,
  },
};

/** How much the client took of an answer, once that has ended or its connection is closed. */
function flood(response: ServerResponse, { type, part }: { type: string; part: string }): Promise<number> {
  let sent = 0;
  response.writeHead(200, { 'content-type': type });
  const more = () => {
    while (!response.destroyed && sent < FAR_TOO_MUCH) {
      sent += part.length;
      if (!response.write(part)) return void response.once('drain', more);
    }
    response.end();
  };
  more();
  return new Promise((resolve) => response.once('close', () => resolve(sent)));
}

/** The methods of all messages to the server. */
const heard: string[] = [];
/** How much was taken of the answers that never end, by tool. */
const taken = new Map<string, Promise<number>>();
/** Those who asked for the rest of an answer that was cut. */
const resumed: string[] = [];
/** An answer that begins and says no more: told of its beginning, and of its connection's end. */
const silent = { begun: Promise.withResolvers<void>(), closed: Promise.withResolvers<void>() };

function answerTo({ params }: McpMessage, response: ServerResponse): object | undefined {
  const name = String(params?.name);
  if (UNENDING[name] !== undefined) return void taken.set(name, flood(response, UNENDING[name]));
  if (name === 'silent') {
    response.on('close', silent.closed.resolve);
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.write(' ', () => silent.begun.resolve());
  }
  if (name === 'refused')
    return { error: { code: -32_000, message: `server said no ${'y'.repeat(10_000)}` } };
  if (name === 'resources') return { result: { content: RESOURCES } };
  if (name === 'structured') return { result: { content: [], structuredContent: { word: WORD } } };
  return { result: { content: [{ type: 'text', text: 'taken' }] } };
}

/** What the server says of itself: more than an answer may have, in events that are no longer than others. */
const own = Promise.withResolvers<ServerResponse>();
function ownMessages(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers['last-event-id'] !== undefined) resumed.push(String(request.headers['last-event-id']));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const { part } = UNENDING['events']!;
  let left = 16 * 1024 * 1024;
  const more = () => {
    while (left > 0) {
      left -= part.length;
      if (!response.write(part.replace('retry: 0\n', ''))) return void response.once('drain', more);
    }
    own.resolve(response);
  };
  more();
}

/** How much was taken of one event that never ends; the client does not find the stream again. */
const event = Promise.withResolvers<number>();
let streams = 0;
function unendingEvent(_request: IncomingMessage, response: ServerResponse): void {
  streams += 1;
  if (streams > 1) return void response.writeHead(405).end();
  void flood(response, { type: 'text/event-stream', part: 'x'.repeat(65_536) }).then(event.resolve);
}

let server: ScriptedMcpServer;
let chatty: ScriptedMcpServer;
let penstock: TestServer;
let folder: string;

beforeAll(async () => {
  server = await startMcpServer({
    tools,
    call: answerTo,
    stream: ownMessages,
    heard: ({ method }) => void heard.push(method),
  });
  chatty = await startMcpServer({ tools: [], call: answerTo, stream: unendingEvent });
  folder = await mkdtemp(join(tmpdir(), 'penstock-mcp-'));
  const file = join(folder, 'mcp.json');
  const servers = { odd: { url: server.url, credits: 0 }, chatty: { url: chatty.url } };
  await writeFile(file, JSON.stringify({ servers }));
  penstock = await startPenstock({ env: { MCP_FILE: file } });
});
afterAll(async () => {
  await penstock?.close();
  await server?.close();
  await chatty?.close();
  await rm(folder, { recursive: true });
});

const scripted = (name: string, given: object) => ({
  input: `@sandbox${JSON.stringify({ tool_call: { name: `mcp:odd/${name}`, arguments: given } })}`,
});

/** What a model is told that calls the tool. */
async function outcomeOf(name: string, given: object = {}): Promise<unknown> {
  const { key } = await penstock.createOrg({ plan: 'business_monthly' });
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

test.each(['spaces', 'events'])(
  'an answer that never ends is broken off, and its rest not asked for (%s)',
  async (name) => {
    expect(await outcomeOf(name)).toEqual({ error: 'The MCP server answered with more than can be read' });
    expect(await taken.get(name)).toBeLessThan(FAR_TOO_MUCH);
    expect(await outcomeOf('called-pattern', { pattern: 7 })).toEqual({ text: 'taken' });
    expect(resumed).toEqual([]);
  },
);

test('nothing more is read of the answer to a call whose run was cancelled', async () => {
  const { key } = await penstock.createOrg({ plan: 'business_monthly' });
  const id = await makeAgent(penstock, key, { tools: ['mcp:odd/silent'] });
  const run = runAgent(penstock, key, id, scripted('silent', {}));
  await silent.begun.promise;
  const { body } = await penstock.rest<{ runs: { id: string }[] }>('GET', `/agents/${id}/runs`, { key });
  await penstock.rest('POST', `/agents/${id}/runs/${body.runs[0]!.id}/cancel`, { key });
  await silent.closed.promise;
  expect((await run).last).toEqual({ type: 'error', error: 'Cancelled' });
});

test("the stream of a server's own messages stays open, however much it was", async () => {
  const stream = await own.promise;
  expect(await outcomeOf('called-pattern', { pattern: 7 })).toEqual({ text: 'taken' });
  expect(stream.destroyed).toBe(false);
});

test('one message of that stream that never ends is broken off', async () => {
  expect(await event.promise).toBeLessThan(FAR_TOO_MUCH);
});

test('the text of a resource is the text of its result, a link has its name and address', async () => {
  expect(await outcomeOf('resources')).toEqual({ text: `# Weirs\n[resource]\nnotes: ${uri}` });
});

test('an error that a server answers with is told to the model in short, and is no end of the connection', async () => {
  const connections = () => heard.filter((method) => method === 'initialize').length;
  const before = connections();
  const { error } = (await outcomeOf('refused')) as { error: string };
  expect(error).toMatch(/^MCP error -32000: server said no y+$/);
  expect(error.length).toBeLessThan(1000);
  await outcomeOf('resources');
  expect(connections()).toBe(before);
});

test('a tool whose entry is faulty cannot be granted, and takes no other one away', async () => {
  for (const { name } of FAULTY) await expect(outcomeOf(name)).rejects.toThrow('Invalid tools');
  expect(await outcomeOf('called-pattern', { pattern: 7 })).toEqual({ text: 'taken' });
});
