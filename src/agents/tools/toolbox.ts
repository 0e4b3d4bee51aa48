import type { Logger } from 'pino';
import type { McpServerSettings } from './mcp-file.js';
import { McpServer } from './mcp-server.js';
import type { AgentTool, Toolbox } from './tool.types.js';

export interface ToolboxOptions {
  /** The contract's seven. */
  tools: AgentTool[];
  /** By name, as MCP_FILE lists them. */
  servers: Record<string, McpServerSettings>;
  logger: Logger;
}

/** The tools that agents can be granted on this process: the contract's and those of the operator's MCP servers. */
export async function openToolbox({ tools, servers, logger }: ToolboxOptions): Promise<Toolbox> {
  const connected = Object.entries(servers).map(([name, settings]) => new McpServer(name, settings, logger));
  await Promise.all(connected.map((server) => server.connect()));
  const all = (): AgentTool[] => [...tools, ...connected.flatMap((server) => server.tools)];
  return {
    ids: () => new Set(all().map(({ id }) => id)),
    find: (id) => all().find((tool) => tool.id === id) ?? null,
    async close() {
      await Promise.all(connected.map((server) => server.close()));
    },
  };
}
