import { Field, Float, ID, ObjectType } from 'type-graphql';
import type { AgentTool } from '../../src/agents/index.js';

/** Contract 4.8. */
@ObjectType('AgentTool', { simpleResolvers: true, description: 'A tool that an agent can be granted.' })
export class AgentToolType {
  @Field(() => ID, { description: 'Its id, as agents name it.' })
  id!: string;

  @Field(() => String, { description: 'What it does.' })
  description!: string;

  @Field(() => Float, { description: 'Credits for one call; 0: it is charged for its tokens.' })
  credits!: number;

  @Field(() => String, {
    nullable: true,
    description: 'Name of the MCP server that it belongs to; null for the tools of Penstock.',
  })
  server!: string | null;
}

const MCP_TOOL = /^mcp:([^/]+)\//;

/** A tool as callers see it. */
export function showTool({ id, description, credits }: AgentTool): AgentToolType {
  return { id, description, credits, server: MCP_TOOL.exec(id)?.[1] ?? null };
}
