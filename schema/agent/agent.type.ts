import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { TemplateCategory } from '../../src/agents/agents.types.js';
import { connectionType } from '../connection.js';
import { AgentTemplateCategory } from '../enums.js';
import { DateTime } from '../scalars.js';

/** Contract 2.11. */
@Directive('@key(fields: "id")')
@ObjectType('Agent', {
  simpleResolvers: true,
  description:
    'A chat model with instructions and tools. It works in rounds: it reasons, calls tools and reads their results.',
})
export class AgentType {
  @Field(() => ID, { description: 'Its id, `agt_…`.' })
  id!: string;

  @Field(() => String, { description: 'At most 100 characters.' })
  name!: string;

  @Field(() => String, { description: 'A description of its purpose, at most 500 characters.' })
  description!: string;

  @Field(() => String, { description: 'Name of its icon; `bot` if none was chosen.' })
  icon!: string;

  @Field(() => String, { description: 'Its instructions, at most 10,000 characters.' })
  systemPrompt!: string;

  @Field(() => [String], { description: 'Ids of the tools that it may use.' })
  tools!: string[];

  @Field(() => Float, { description: '0 to 2.' })
  temperature!: number;

  @Field(() => Int, { description: 'The maximum number of tokens in one answer of its model, 100 to 8,000.' })
  maxTokens!: number;

  @Field(() => Int, {
    description: 'The maximum number of rounds. A round is one model call and its tool calls.',
  })
  maxIterations!: number;

  @Field(() => Boolean, { description: 'Whether runs use facts that users told the agent in earlier runs.' })
  memoryEnabled!: boolean;

  @Field(() => Boolean, {
    description: 'Whether it is a template. A template belongs to no organisation and cannot be changed.',
  })
  isTemplate!: boolean;

  @Field(() => AgentTemplateCategory, {
    nullable: true,
    description: 'The category of a template; null for other agents.',
  })
  templateCategory!: TemplateCategory | null;

  @Field(() => Boolean, { description: 'Whether every organisation may read, run and duplicate it.' })
  isPublic!: boolean;

  @Field(() => Int, { description: 'The number of its runs.' })
  runCount!: number;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: Date;
}

export const AgentConnection = connectionType('Agent', () => AgentType);

@ObjectType({ simpleResolvers: true, description: 'The answer to deleteAgent.' })
export class DeleteAgentResult {
  @Field(() => ID, { description: 'Id of the deleted agent.' })
  id!: string;

  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => AgentType, { description: 'The agent as it was.' })
  agent!: Omit<AgentType, 'modelId' | 'model'>;
}
