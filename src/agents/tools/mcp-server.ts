import { hash } from 'node:crypto';
import {
  Client,
  ProtocolError,
  SdkHttpError,
  StreamableHTTPClientTransport,
  isSpecType,
} from '@modelcontextprotocol/client';
import type {
  ContentBlock,
  JsonSchemaValidator,
  Tool,
  Transport,
  jsonSchemaValidator,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Logger } from 'pino';
import { z } from 'zod';
import { createOperatorFetch, EgressError } from '../../egress/index.js';
import { storedText } from '../../text/stored-json.js';
import { createMcpFetch, TOO_LARGE } from './mcp-fetch.js';
import type { McpServerSettings } from './mcp-file.js';
import { inputCheckOf, isTooLarge } from './mcp-schema.js';
import { ToolError } from './tool.types.js';
import type { AgentTool } from './tool.types.js';

const DEFAULT_CREDITS = 3;
const CONNECT_TIMEOUT_MS = 5_000;
const CALL_TIMEOUT_MS = 60_000;
const RECONNECT_MS = 15_000;
const MAX_TEXT = 50_000;
/** The maximum of characters of a server's error that a model gets. */
const MAX_REFUSAL = 500;
const MAX_NAME = 64;
/** Pages of a server's list, and tools, that are read of it. */
const MAX_PAGES = 20;
const MAX_TOOLS = 500;

/** Names that every model takes can be equal where the server's were not (`a.b` and `a_b`): the later one gets a mark of its own. */
function distinct(tools: AgentTool[]): AgentTool[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    const mark = taken.has(tool.name) ? `_${hash('sha256', tool.id).slice(0, 8)}` : '';
    taken.add(tool.name);
    return mark === '' ? tool : { ...tool, name: tool.name.slice(0, MAX_NAME - mark.length) + mark };
  });
}

/** The library's own refuses a whole list for one faulty entry. */
const ToolEntries = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Outputs are text for the model: no expression of an `outputSchema` is run on what the same server answers. */
const UNCHECKED: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

type CallResult = Awaited<ReturnType<Client['callTool']>>;

/** One MCP server: connected as long as it lets itself be connected to, its tools as agents use them. */
export class McpServer {
  private client: Client | null = null;
  private connecting: Promise<void> | null = null;
  private listed: AgentTool[] = [];
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private readonly outbound = createOperatorFetch();

  constructor(
    private readonly name: string,
    private readonly settings: McpServerSettings,
    private readonly logger: Logger,
  ) {}

  /** The tools that the server offered last. They stay granted while it is away. */
  get tools(): readonly AgentTool[] {
    return this.listed;
  }

  /** Never rejects: a server that is away is tried again. */
  connect(): Promise<void> {
    return (this.connecting ??= this.open().finally(() => {
      this.connecting = null;
    }));
  }

  private async open(): Promise<void> {
    const client = new Client({ name: 'penstock', version: '1' }, { jsonSchemaValidator: UNCHECKED });
    try {
      await client.connect(this.transport(), { timeout: CONNECT_TIMEOUT_MS });
      const { tools, faulty } = await listTools(client);
      if (this.closed) return await client.close();
      this.client = client;
      this.listed = distinct(tools.flatMap((tool) => this.toolOf(tool)));
      client.onclose = () => this.lost(client);
      if (faulty.length > 0) this.logFaultyTools(faulty);
    } catch (error) {
      await client.close().catch(() => undefined);
      this.logger.warn(
        { err: error, server: this.name },
        'an MCP server cannot be reached; it is tried again',
      );
      this.lost(this.client);
    }
  }

  private logFaultyTools(faulty: unknown[]): void {
    const tools = faulty.slice(0, 10).map((entry) => (entry as { name?: unknown } | null)?.name);
    this.logger.warn(
      { server: this.name, tools, faulty: faulty.length },
      'an MCP server offers faulty tools, which are left out',
    );
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.client?.close();
    await this.outbound.close();
  }

  private lost(client: Client | null): void {
    if (this.client !== client) return;
    this.client = null;
    if (this.closed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.connect(), RECONNECT_MS).unref();
  }

  private transport(): Transport {
    const { settings } = this;
    if ('url' in settings) {
      const requestInit = { headers: settings.headers ?? {} };
      return new StreamableHTTPClientTransport(new URL(settings.url), {
        requestInit,
        fetch: createMcpFetch((url, init) => this.outbound.fetch(url, init)),
      }) as Transport;
    }
    const { command, args = [], env } = settings;
    // Of our own environment, which holds secrets, the library passes on only PATH, HOME and the like.
    return new StdioClientTransport({
      command,
      args,
      ...(env === undefined ? {} : { env }),
      stderr: 'ignore',
    });
  }

  private toolOf(offered: {
    name: string;
    description?: string | undefined;
    inputSchema: object;
  }): AgentTool[] {
    const { name, description = '', inputSchema } = offered;
    const { tools, credits = DEFAULT_CREDITS } = this.settings;
    const own = tools?.[name];
    if (tools !== undefined && own === undefined) return [];
    // Of five hundred tools hardly one is called.
    let check: z.ZodType | null = null;
    return [
      {
        id: this.idOf(name),
        name: `mcp__${this.name}__${name}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME),
        description: storedText(description.slice(0, 2000)),
        credits: own?.credits ?? credits,
        inputSchema: inputSchema as Record<string, unknown>,
        timeoutMs: CALL_TIMEOUT_MS,
        parse(input) {
          check ??= inputCheckOf(inputSchema);
          const parsed = check.safeParse(input);
          if (parsed.success) return input;
          const faults = parsed.error.issues.map(
            ({ path, message }) => `${path.join('.') || 'input'}: ${message}`,
          );
          throw new ToolError(`Invalid input: ${faults.slice(0, 5).join('; ')}`);
        },
        run: async (input, { signal }) => {
          const text = await this.call(name, input as Record<string, unknown>, signal);
          return { output: { text }, text, source: this.idOf(name) };
        },
      },
    ];
  }

  private idOf(tool: string): string {
    return `mcp:${this.name}/${tool}`;
  }

  /** One call; made again on a new connection where the old one's server never saw it. */
  private async request(
    call: { name: string; arguments: Record<string, unknown> },
    signal: AbortSignal,
    again = true,
  ): Promise<CallResult> {
    if (this.client === null) await this.connect();
    const { client } = this;
    if (client === null) throw new ToolError('The MCP server cannot be reached now');
    try {
      return await client.callTool(call, { signal, timeout: CALL_TIMEOUT_MS });
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof EgressError) throw new ToolError(TOO_LARGE, error);
      const retried = again && neverArrived(error);
      // The code of a connection that was closed (-32000) is one that servers give their own refusals, too.
      const refused = error instanceof ProtocolError && client.transport !== undefined;
      if (retried || !refused) await this.drop(client);
      if (retried) return await this.request(call, signal, false);
      this.logger.warn({ err: error, server: this.name, tool: call.name }, 'an MCP tool failed');
      if (!refused) throw new ToolError('The MCP server failed', error);
      const refusal = `MCP error ${error.code}: ${error.message}`;
      throw new ToolError(refusal.slice(0, MAX_REFUSAL), error, this.idOf(call.name));
    }
  }

  /** The next call connects anew. */
  private async drop(client: Client): Promise<void> {
    this.lost(client);
    await client.close().catch(() => undefined);
  }

  private async call(name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<string> {
    const result = await this.request({ name, arguments: input }, signal);
    const texts = Array.isArray(result.content) ? (result.content as ContentBlock[]).map(textOf) : [];
    const structured =
      result.structuredContent === undefined ? [] : [JSON.stringify(result.structuredContent)];
    const text = (texts.length > 0 ? texts : structured).join('\n').slice(0, MAX_TEXT);
    if (result.isError !== true) return text;
    if (text === '' || text === TOO_LARGE) throw new ToolError(text || 'The MCP tool failed');
    throw new ToolError(text.slice(0, 2000), undefined, this.idOf(name));
  }
}

/** The text of a result for the model. */
function textOf(block: ContentBlock): string {
  if (block.type === 'text') return block.text;
  if (block.type === 'resource_link') return `${block.name}: ${block.uri}`;
  return block.type === 'resource' && 'text' in block.resource ? block.resource.text : `[${block.type}]`;
}

/** All that a server offers, within reason, and what of it is no tool by the protocol. */
async function listTools(client: Client): Promise<{ tools: Tool[]; faulty: unknown[] }> {
  const tools: Tool[] = [];
  const faulty: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const list = { method: 'tools/list' as const, params: cursor === undefined ? {} : { cursor } };
    const answer = await client.request(list, ToolEntries, { timeout: CONNECT_TIMEOUT_MS });
    for (const entry of answer.tools.slice(0, MAX_TOOLS)) {
      if (!isTooLarge(entry) && isSpecType.Tool(entry)) tools.push(entry);
      else faulty.push(entry);
    }
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return { tools: tools.slice(0, MAX_TOOLS), faulty };
}

/** A server that was started anew does not know the session any more, or was not there at all: it never saw the call. */
function neverArrived(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status === 404;
  for (let fault = error; fault instanceof Error; fault = fault.cause)
    if ((fault as NodeJS.ErrnoException).code === 'ECONNREFUSED') return true;
  return false;
}
