import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { TemplateCategory } from '../../src/agents/agents.types.js';
import { connectionType } from '../connection.js';
import { AgentTemplateCategory } from '../enums.js';
import { DateTime } from '../scalars.js';

/** Contract 2.11. */
@Directive('@key(fields: "id")')
@ObjectType('Agent', {
  simpleResolvers: true,
  description: 'A model with instructions and tools that works in rounds: reason, act, observe.',
})
export class AgentType {
  @Field(() => ID)
  id!: string;

  @Field(() => String)
  name!: string;

  @Field(() => String)
  description!: string;

  @Field(() => String)
  icon!: string;

  @Field(() => String)
  systemPrompt!: string;

  @Field(() => String)
  model!: string;

  @Field(() => [String], { description: 'Ids of the tools that it was granted.' })
  tools!: string[];

  @Field(() => Float)
  temperature!: number;

  @Field(() => Int)
  maxTokens!: number;

  @Field(() => Int, { description: 'Rounds: one model call with the tools that it asks for.' })
  maxIterations!: number;

  @Field(() => Boolean)
  memoryEnabled!: boolean;

  @Field(() => Boolean)
  isTemplate!: boolean;

  @Field(() => AgentTemplateCategory, { nullable: true, description: 'Templates only.' })
  templateCategory!: TemplateCategory | null;

  @Field(() => Boolean, { description: 'Every organisation may read, run and duplicate it.' })
  isPublic!: boolean;

  @Field(() => Int)
  runCount!: number;

  @Field(() => DateTime)
  createdAt!: Date;

  @Field(() => DateTime)
  updatedAt!: Date;
}

export const AgentConnection = connectionType('Agent', () => AgentType);

@ObjectType({ simpleResolvers: true })
export class DeleteAgentResult {
  @Field(() => Boolean)
  success!: boolean;
}
