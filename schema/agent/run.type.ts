import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { RunStatus, StepType } from '../../src/agents/agents.types.js';
import { connectionType } from '../connection.js';
import { AgentRunStatus, AgentStepType } from '../enums.js';
import { DateTime, Json } from '../scalars.js';

/** Contract 2.12. */
@ObjectType('AgentStep', { simpleResolvers: true, description: 'One step of a run.' })
export class AgentStep {
  @Field(() => Int, { description: 'From 1, without a hole.' })
  stepNumber!: number;

  @Field(() => AgentStepType, { description: 'What it is; it decides which of the other fields are set.' })
  stepType!: StepType;

  @Field(() => String, { nullable: true, description: 'Of thinking, response and error.' })
  content!: string | null;

  @Field(() => String, { nullable: true, description: 'Id of the tool, of tool_call and tool_result.' })
  toolName!: string | null;

  @Field(() => Json, { nullable: true, description: 'What the tool was given, of tool_call.' })
  toolInput!: Record<string, unknown> | null;

  @Field(() => Json, { nullable: true, description: 'Files as signed URLs.' })
  toolOutput!: Record<string, unknown> | null;
}

@Directive('@key(fields: "id")')
@ObjectType('AgentRun', { simpleResolvers: true, description: 'One run of an agent.' })
export class AgentRunType {
  @Field(() => ID, { description: 'Its id, `run_…`.' })
  id!: string;

  @Field(() => ID, { description: 'The agent that runs.' })
  agentId!: string;

  @Field(() => String, { description: 'Pass it as `sessionId` to go on with the conversation.' })
  sessionId!: string;

  @Field(() => AgentRunStatus, { description: 'Where it stands.' })
  status!: RunStatus;

  @Field(() => String, { description: 'What it was asked.' })
  input!: string;

  // Declared here for the schema's order; resolved (its files' addresses as of now) in run.resolver.ts.
  @Field(() => String, { nullable: true, description: 'Null until completed.' })
  output!: string | null;

  @Field(() => String, { nullable: true, description: 'Why it failed; null otherwise.' })
  errorMessage!: string | null;

  @Field(() => Int, { description: 'Steps so far.' })
  totalSteps!: number;

  @Field(() => Int, { description: 'Tokens of all model calls so far, prompts and answers together.' })
  tokensUsed!: number;

  @Field(() => Float, {
    description: 'Model calls and tools so far; with the base charge once it has ended.',
  })
  creditsUsed!: number;

  @Field(() => Float, { nullable: true, description: 'Milliseconds from start to end; null until finished.' })
  durationMs!: number | null;

  @Field(() => DateTime, { description: 'When it was started.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When it ended, however it did; null until then.' })
  completedAt!: Date | null;

  // Declared here for the schema's order; read by run.resolver.ts.
  @Field(() => [AgentStep], { description: 'All steps so far, in order.' })
  steps!: AgentStep[];
}

export const AgentRunConnection = connectionType('AgentRun', () => AgentRunType);

/** What `agentRunSteps` yields (decisions 8). */
@ObjectType({ simpleResolvers: true, description: "One event of a run's stream, with the run as of it." })
export class AgentRunEvent {
  @Field(() => Int, { description: 'From 1, without a hole; `after:` takes it.' })
  sequence!: number;

  @Field(() => String, { description: 'start, step, done or error.' })
  type!: string;

  @Field(() => AgentStep, { nullable: true, description: 'Of `step`.' })
  step!: AgentStep | null;

  @Field(() => AgentRunType, { description: 'The run as it was then.' })
  run!: AgentRunType;
}
