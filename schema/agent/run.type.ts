import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { RunStatus, StepType } from '../../src/agents/agents.types.js';
import { connectionType } from '../connection.js';
import { AgentRunStatus, AgentStepType } from '../enums.js';
import { DateTime, Json } from '../scalars.js';

/** Contract 2.12. */
@ObjectType('AgentStep', { simpleResolvers: true, description: 'One step of a run.' })
export class AgentStep {
  @Field(() => Int)
  stepNumber!: number;

  @Field(() => AgentStepType)
  stepType!: StepType;

  @Field(() => String, { nullable: true, description: 'Of thinking, response and error.' })
  content!: string | null;

  @Field(() => String, { nullable: true })
  toolName!: string | null;

  @Field(() => Json, { nullable: true })
  toolInput!: Record<string, unknown> | null;

  @Field(() => Json, { nullable: true, description: 'Files as signed URLs.' })
  toolOutput!: Record<string, unknown> | null;
}

@Directive('@key(fields: "id")')
@ObjectType('AgentRun', { simpleResolvers: true, description: 'One run of an agent.' })
export class AgentRunType {
  @Field(() => ID)
  id!: string;

  @Field(() => ID)
  agentId!: string;

  @Field(() => String)
  sessionId!: string;

  @Field(() => AgentRunStatus)
  status!: RunStatus;

  @Field(() => String)
  input!: string;

  @Field(() => String, { nullable: true, description: 'Null until completed.' })
  output!: string | null;

  @Field(() => String, { nullable: true })
  errorMessage!: string | null;

  @Field(() => Int)
  totalSteps!: number;

  @Field(() => Int)
  tokensUsed!: number;

  @Field(() => Float, { description: 'The base charge, model calls and tools so far.' })
  creditsUsed!: number;

  @Field(() => Float, { nullable: true, description: 'Null until finished.' })
  durationMs!: number | null;

  @Field(() => DateTime)
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true })
  completedAt!: Date | null;

  // Declared here for the schema's order; read by run.resolver.ts.
  @Field(() => [AgentStep])
  steps!: AgentStep[];
}

export const AgentRunConnection = connectionType('AgentRun', () => AgentRunType);

/** What `agentRunSteps` yields (decisions.md 8). */
@ObjectType({ simpleResolvers: true, description: "One event of a run's stream, with the run as of it." })
export class AgentRunEvent {
  @Field(() => Int, { description: 'From 1, without a hole; `after:` takes it.' })
  sequence!: number;

  @Field(() => String, { description: 'start, step, done or error.' })
  type!: string;

  @Field(() => AgentStep, { nullable: true, description: 'Of `step`.' })
  step!: AgentStep | null;

  @Field(() => AgentRunType)
  run!: AgentRunType;
}
