import { z } from 'zod';
import type { ToolRules } from '../../providers/index.js';
import { ToolError } from './tool.types.js';
import type { AgentTool, ToolCaller, ToolContext, ToolCost, ToolOutcome, ToolParts } from './tool.types.js';

/** One tool of the contract, as its file defines it. With the parts that it works with it becomes an {@link AgentTool}. */
export interface ToolDefinition extends Omit<AgentTool, 'run' | 'costs'> {
  /** Rules by which the sandbox uses it. The sandbox cannot read a description. */
  sandbox: ToolRules;
  costs?(input: unknown, caller: ToolCaller, parts: ToolParts): ToolCost;
  run(input: unknown, context: ToolContext, parts: ToolParts): Promise<ToolOutcome>;
}

/** A tool with a zod schema for its input: the model sees the schema, and what it sends is checked against it. */
export function defineTool<Schema extends z.ZodObject>(tool: {
  id: string;
  description: string;
  credits: number;
  timeoutMs?: number;
  input: Schema;
  sandbox: ToolRules;
  costs?(input: z.output<Schema>, caller: ToolCaller, parts: ToolParts): ToolCost;
  run(input: z.output<Schema>, context: ToolContext, parts: ToolParts): Promise<ToolOutcome>;
}): ToolDefinition {
  const { input: schema, run, costs, ...rest } = tool;
  return {
    ...rest,
    name: tool.id,
    inputSchema: z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown>,
    parse(input) {
      const parsed = schema.safeParse(input);
      if (parsed.success) return parsed.data;
      const faults = parsed.error.issues.map(
        ({ path, message }) => `${path.join('.') || 'input'}: ${message}`,
      );
      throw new ToolError(`Invalid input: ${faults.slice(0, 5).join('; ')}`);
    },
    ...(costs && { costs: (input, caller, parts) => costs(input as z.output<Schema>, caller, parts) }),
    run: (input, context, parts) => run(input as z.output<Schema>, context, parts),
  };
}
