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
  @Field(() => ID, { description: 'Its id, `agt_…`.' })
  id!: string;

  @Field(() => String, { description: 'At most 100 characters.' })
  name!: string;

  @Field(() => String, { description: 'What it is for, at most 500 characters.' })
  description!: string;

  @Field(() => String, { description: 'Identifier of an icon; `bot` where none was chosen.' })
  icon!: string;

  @Field(() => String, { description: 'Its instructions, at most 10,000 characters.' })
  systemPrompt!: string;

  @Field(() => String, { description: 'Id of its chat model.' })
  model!: string;

  @Field(() => [String], { description: 'Ids of the tools that it was granted.' })
  tools!: string[];

  @Field(() => Float, { description: '0 to 2.' })
  temperature!: number;

  @Field(() => Int, { description: 'Most tokens of one answer of its model, 100 to 8,000.' })
  maxTokens!: number;

  @Field(() => Int, { description: 'Rounds: one model call with the tools that it asks for.' })
  maxIterations!: number;

  @Field(() => Boolean, { description: 'Whether later runs recall what users told it in earlier ones.' })
  memoryEnabled!: boolean;

  @Field(() => Boolean, {
    description: 'True for the templates, which belong to no organisation and which nobody changes.',
  })
  isTemplate!: boolean;

  @Field(() => AgentTemplateCategory, { nullable: true, description: 'Templates only.' })
  templateCategory!: TemplateCategory | null;

  @Field(() => Boolean, { description: 'Every organisation may read, run and duplicate it.' })
  isPublic!: boolean;

  @Field(() => Int, { description: 'How often it was run.' })
  runCount!: number;

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: Date;
}

export const AgentConnection = connectionType('Agent', () => AgentType);

@ObjectType({ simpleResolvers: true, description: 'The answer to deleteAgent.' })
export class DeleteAgentResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;
}
