import { z } from 'zod';
import { ToolError } from './tool.types.js';
import type { AgentTool, ToolContext, ToolOutcome } from './tool.types.js';

/** A tool with a zod schema for its input: the model sees the schema, and what it sends is checked against it. */
export function defineTool<Schema extends z.ZodObject>(tool: {
  id: string;
  description: string;
  credits: number;
  timeoutMs?: number;
  input: Schema;
  run(input: z.output<Schema>, context: ToolContext): Promise<ToolOutcome>;
}): AgentTool {
  const { input: schema, run, ...rest } = tool;
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
    run: (input, context) => run(input as z.output<Schema>, context),
  };
}
