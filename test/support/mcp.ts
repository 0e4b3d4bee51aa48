import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A JSON-RPC message of a client of the Model Context Protocol. */
export interface McpMessage {
  id?: number;
  method: string;
  params?: { name?: string; arguments?: Record<string, unknown>; requestId?: number };
}

/** The answers of a server that no library restricts to valid messages. */
export interface McpScript {
  /** The entries of `tools/list`, unchanged. */
  tools: object[];
  /** Answers `tools/call`: returns the answer's `result` or `error`, or undefined if it has sent the answer itself. */
  call(message: McpMessage, response: ServerResponse): object | undefined;
  /** Answers a client's request for a stream; default: 405, there is none. */
  stream?(request: IncomingMessage, response: ServerResponse): void;
  /** Called with every message. */
  heard?(message: McpMessage): void;
}

/** A server of the Model Context Protocol over HTTP with scripted answers. */
export interface ScriptedMcpServer {
  url: string;
  close(): Promise<void>;
}

/** Starts a scripted server. */
export async function startMcpServer(script: McpScript): Promise<ScriptedMcpServer> {
  const server = createServer((request, response) => void answer(script, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: () => shut(server),
  };
}

async function answer(script: McpScript, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST')
    return script.stream === undefined
      ? void response.writeHead(405).end()
      : script.stream(request, response);
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const message = JSON.parse(Buffer.concat(parts).toString()) as McpMessage;
  script.heard?.(message);
  if (message.id === undefined) return void response.writeHead(202).end();
  const said = saidTo(script, message, response);
  if (said === undefined) return;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...said }));
}

function saidTo(script: McpScript, message: McpMessage, response: ServerResponse): object | undefined {
  if (message.method === 'tools/call') return script.call(message, response);
  if (message.method === 'tools/list') return { result: { tools: script.tools } };
  const serverInfo = { name: 'scripted', version: '1' };
  return { result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } };
}

function shut(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
