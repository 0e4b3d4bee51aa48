import { hash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { makeAgent, runAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

/** The operator's own server with three tools; it wants a key. */
function mcpServer(): McpServer {
  const server = new McpServer({ name: 'docs', version: '1' });
  const inputSchema = { word: z.string().min(2) };
  server.registerTool('lookup', { description: 'Looks up a word', inputSchema }, ({ word }) => ({
    content: [{ type: 'text', text: `${word}: a barrier across a river` }],
  }));
  server.registerTool('broken', { description: 'Fails' }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'No such page' }],
  }));
  server.registerTool('hidden', { description: 'Not for agents' }, () => ({ content: [] }));
  return server;
}

const sdk = (name: string) => JSON.stringify(import.meta.resolve(`@modelcontextprotocol/sdk/server/${name}`));
/** A server that is a program: tells the names of its environment. */
const PROGRAM = `
import { McpServer } from ${sdk('mcp.js')};
import { StdioServerTransport } from ${sdk('stdio.js')};
const server = new McpServer({ name: 'program', version: '1' });
server.registerTool('names', {}, () => ({ content: [{ type: 'text', text: Object.keys(process.env).join(' ') }] }));
await server.connect(new StdioServerTransport());
`;

const http = createServer((request, response) => {
  if (request.headers.authorization !== 'Bearer mcp-secret') return void response.writeHead(401).end();
  const server = mcpServer();
  const transport = new StreamableHTTPServerTransport({});
  response.on('close', () => void server.close());
  void server
    .connect(transport as Parameters<typeof server.connect>[0])
    .then(() => transport.handleRequest(request, response));
});

/** A server that keeps sessions, as most do: started anew it knows none of them. Its list comes in pages of one tool. */
const sessions = new Map<string, StreamableHTTPServerTransport>();
const stateful = createServer((request, response) => {
  const known = sessions.get(String(request.headers['mcp-session-id']));
  if (known) return void known.handleRequest(request, response);
  if (request.headers['mcp-session-id'] !== undefined) return void response.writeHead(404).end();
  const server = new Server({ name: 'stateful', version: '1' }, { capabilities: { tools: {} } });
  const tools = ['first', 'second', 'read.page', 'read_page'].map((name) => ({
    name,
    inputSchema: { type: 'object' as const },
  }));
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    params?.cursor === undefined ? { tools: tools.slice(0, 1), nextCursor: '1' } : { tools: tools.slice(1) },
  );
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text', text: `${params.name} of ${sessions.size}` }],
  }));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  void server
    .connect(transport as Parameters<typeof server.connect>[0])
    .then(() => transport.handleRequest(request, response));
});
const portOf = (server: typeof http): number => (server.address() as AddressInfo).port;
const open = (server: typeof http, port = 0) =>
  new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()));
const shut = (server: typeof http) => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
};

let penstock: TestServer;
let key: string;
let folder: string;

beforeAll(async () => {
  await open(http);
  await open(stateful);
  const url = `http://127.0.0.1:${portOf(http)}/mcp`;
  folder = await mkdtemp(join(tmpdir(), 'penstock-mcp-'));
  const file = join(folder, 'mcp.json');
  const docs = {
    url,
    headers: { authorization: 'Bearer ${MCP_KEY}' },
    tools: { lookup: {}, broken: { credits: 7 } },
  };
  const away = { url: 'http://127.0.0.1:1025/mcp' };
  // In the environment of this process, which starts the program.
  process.env['PENSTOCK_TEST_SECRET'] = 'ours';
  const script = join(folder, 'program.mjs');
  await writeFile(script, PROGRAM);
  const program = { command: process.execPath, args: [script], env: { ROOT: '/srv' }, credits: 0 };
  await writeFile(
    file,
    JSON.stringify({
      servers: { docs, away, program, kept: { url: `http://127.0.0.1:${portOf(stateful)}/mcp` } },
    }),
  );
  penstock = await startPenstock({ env: { MCP_FILE: file, MCP_KEY: 'mcp-secret' } });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await penstock?.close();
  await shut(http);
  await shut(stateful);
  delete process.env['PENSTOCK_TEST_SECRET'];
  await rm(folder, { recursive: true });
});

const call = (name: string, given: object) => ({
  input: `@sandbox${JSON.stringify({ tool_call: { name, arguments: given } })}`,
});

test('an agent uses the tools of a server that the operator lists, for 3 credits each', async () => {
  const id = await makeAgent(penstock, key, { tools: ['mcp:docs/lookup'] });
  const run = await runAgent(penstock, key, id, { input: 'Please lookup {"word":"weir"}' });
  expect(run.steps[1]).toMatchObject({
    type: 'tool_call',
    tool: 'mcp:docs/lookup',
    tool_input: { word: 'weir' },
  });
  expect(run.steps[2]).toMatchObject({ tool_output: { text: 'weir: a barrier across a river' } });
  expect(run.last.output).toContain('[untrusted: mcp:docs/lookup]');
  const without = await runAgent(penstock, key, await makeAgent(penstock, key), { input: 'Hello' });
  expect(run.last.credits_used).toBe(without.last.credits_used! + 3 + 1);
});

test('a script of the sandbox calls them by their ids; what fails there is a result, input that does not fit never gets there', async () => {
  const id = await makeAgent(penstock, key, { tools: ['mcp:docs/lookup', 'mcp:docs/broken'] });
  const failed = await runAgent(penstock, key, id, call('mcp:docs/broken', {}));
  expect(failed.steps.at(-2)).toMatchObject({ tool_output: { error: 'No such page' } });
  const refused = await runAgent(penstock, key, id, call('mcp__docs__lookup', { word: 7 }));
  expect(refused.steps.at(-2)).toMatchObject({
    tool_output: { error: expect.stringMatching(/^Invalid input: word/) },
  });
});

test('tools that the file does not list, and those of a server that never answered, cannot be granted', async () => {
  for (const tool of ['mcp:docs/hidden', 'mcp:away/x', 'mcp:docs/__proto__'])
    await expect(makeAgent(penstock, key, { tools: [tool] })).rejects.toThrow('Invalid tools');
});

test('a server that was started anew, or was away, is connected to anew by the next call', async () => {
  const id = await makeAgent(penstock, key, { tools: ['mcp:kept/first', 'mcp:kept/second'] });
  const ask = async (name: string) => {
    const run = await runAgent(penstock, key, id, call(`mcp:kept/${name}`, {}));
    return run.steps.find(({ type }) => type === 'tool_result')?.tool_output;
  };
  expect(await ask('second')).toEqual({ text: 'second of 1' });
  sessions.clear();
  expect(await ask('first')).toEqual({ text: 'first of 1' });
  const port = portOf(stateful);
  await shut(stateful);
  expect(await ask('first')).toEqual({
    error: expect.stringMatching(/^The MCP server (failed|cannot be reached)/),
  });
  sessions.clear();
  await open(stateful, port);
  expect(await ask('first')).toEqual({ text: 'first of 1' });
});

test('tools whose names become one where a model takes no dot stay two', async () => {
  const tools = ['mcp:kept/read.page', 'mcp:kept/read_page'];
  const id = await makeAgent(penstock, key, { tools });
  const called = async (name: string) => {
    const run = await runAgent(penstock, key, id, call(name, {}));
    return run.steps.find(({ type }) => type === 'tool_call')?.tool;
  };
  const marked = `mcp__kept__read_page_${hash('sha256', 'mcp:kept/read_page').slice(0, 8)}`;
  expect([await called('mcp__kept__read_page'), await called(marked)]).toEqual(tools);
});

test('a server can be a program: it sees what the operator gives it, and none of our secrets', async () => {
  const id = await makeAgent(penstock, key, { tools: ['mcp:program/names'] });
  const run = await runAgent(penstock, key, id, call('mcp:program/names', {}));
  const { text } = run.steps.find(({ type }) => type === 'tool_result')!.tool_output as { text: string };
  expect(text.split(' ')).toContain('ROOT');
  expect(process.env['PENSTOCK_TEST_SECRET']).toBe('ours');
  expect(text).not.toContain('PENSTOCK_TEST_SECRET');
});
