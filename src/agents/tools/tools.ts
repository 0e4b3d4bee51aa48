import type { RulesOfTools } from '../../providers/index.js';
import { analyzeImage } from './analyze-image.tool.js';
import { createDocument } from './create-document.tool.js';
import type { ToolDefinition } from './define-tool.js';
import { generateChart } from './generate-chart.tool.js';
import { generateImage } from './generate-image.tool.js';
import { generateText } from './generate-text.tool.js';
import type { AgentTool, ToolParts } from './tool.types.js';
import { webFetch } from './web-fetch.tool.js';
import { webSearch } from './web-search.tool.js';

/** The tools that agents can be granted (contract 4.8), besides those of an operator's MCP servers. */
const TOOLS: readonly ToolDefinition[] = [
  webSearch,
  webFetch,
  generateText,
  generateImage,
  analyzeImage,
  generateChart,
  createDocument,
];

/** Their ids; tools of MCP servers are `mcp:<server>/<tool>`. */
export const AGENT_TOOLS: readonly string[] = TOOLS.map(({ id }) => id);

/** How the sandbox uses them. */
export const RULES_OF_TOOLS: RulesOfTools = new Map(TOOLS.map(({ name, sandbox }) => [name, sandbox]));

export function createTools(parts: ToolParts): AgentTool[] {
  return TOOLS.map(({ run, costs, ...tool }) => ({
    ...tool,
    run: (input, context) => run(input, context, parts),
    ...(costs && { costs: (input, caller) => costs(input, caller, parts) }),
  }));
}
