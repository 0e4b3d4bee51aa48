import type { Logger } from 'pino';
import type { McpServerSettings } from './mcp-file.js';
import type { AgentTool, Toolbox } from './tool.types.js';

export interface ToolboxOptions {
  /** The tools of the contract. */
  tools: AgentTool[];
  /** By name, as MCP_FILE lists them. */
  servers: Record<string, McpServerSettings>;
  logger: Logger;
}

/** The tools that agents may use on this process: the contract's tools and those of the operator's MCP servers. */
export async function openToolbox({ tools, servers, logger }: ToolboxOptions): Promise<Toolbox> {
  const connected = await mcpServers(servers, logger);
  await Promise.all(connected.map((server) => server.connect()));
  const all = (): AgentTool[] => [...tools, ...connected.flatMap((server) => server.tools)];
  return {
    list: all,
    ids: () => new Set(all().map(({ id }) => id)),
    find: (id) => all().find((tool) => tool.id === id) ?? null,
    async close() {
      await Promise.all(connected.map((server) => server.close()));
    },
  };
}

/** The library of the protocol is loaded only if a server is listed, because it takes a third of the start-up time. */
async function mcpServers(servers: Record<string, McpServerSettings>, logger: Logger) {
  const listed = Object.entries(servers);
  if (listed.length === 0) return [];
  const { McpServer } = await import('./mcp-server.js');
  return listed.map(([name, settings]) => new McpServer(name, settings, logger));
}
