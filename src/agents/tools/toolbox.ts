import type { AgentTool, Toolbox } from './tool.types.js';

/** The tools of this process by id. `close` ends what they hold open. */
export function createToolbox(
  tools: AgentTool[],
  close: () => Promise<void> = async () => undefined,
): Toolbox {
  const byId = new Map(tools.map((tool) => [tool.id, tool]));
  const ids = new Set(byId.keys());
  return { ids: () => ids, find: (id) => byId.get(id) ?? null, close };
}
