import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { AttachedFile, RunStatus, StepType } from '../../src/agents/agents.types.js';
import { connectionType } from '../connection.js';
import { AgentRunEventType, AgentRunStatus, AgentStepType, RunAttachmentType } from '../enums.js';
import { DateTime, Json } from '../scalars.js';

/** Contract 2.12. */
@ObjectType('AgentStep', { simpleResolvers: true, description: 'One step of a run.' })
export class AgentStep {
  @Field(() => Int, { description: 'The number of the step: 1, 2, 3 and so on.' })
  stepNumber!: number;

  @Field(() => AgentStepType, {
    description: 'The type of the step. It decides which of the other fields are set.',
  })
  stepType!: StepType;

  @Field(() => String, { nullable: true, description: 'The text of a thinking, response or error step.' })
  content!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The id of the tool, in tool_call and tool_result steps.',
  })
  toolName!: string | null;

  @Field(() => Json, { nullable: true, description: 'The input of the tool, in tool_call steps.' })
  toolInput!: Record<string, unknown> | null;

  @Field(() => Json, {
    nullable: true,
    description: 'The output of the tool, in tool_result steps. Files are signed URLs.',
  })
  toolOutput!: Record<string, unknown> | null;

  @Field(() => DateTime, { description: 'When it was done.' })
  createdAt!: Date;

  @Field(() => Int, {
    description:
      'Tokens of the run up to and with this step. The difference to the step before is what came with this one.',
  })
  runTokens!: number;

  @Field(() => Float, {
    description:
      'Credits of the run up to and with this step. The difference to the step before is what came with this one. The base charge comes with the end.',
  })
  runCredits!: number;
}

@ObjectType({ simpleResolvers: true, description: 'A file that came with the task of a run.' })
export class RunAttachment {
  @Field(() => RunAttachmentType, { description: 'Its type.' })
  type!: AttachedFile['type'];

  @Field(() => String, { description: 'Its file name.' })
  name!: string;

  @Field(() => String, {
    nullable: true,
    description:
      'A signed URL of an image. Null for a document, of which only the text is kept, and for an image that was removed.',
  })
  url!: string | null;
}

@Directive('@key(fields: "id")')
@ObjectType('AgentRun', { simpleResolvers: true, description: 'One run of an agent.' })
export class AgentRunType {
  @Field(() => ID, { description: 'Its id, `run_…`.' })
  id!: string;

  @Field(() => ID, { description: 'The agent that runs.' })
  agentId!: string;

  @Field(() => String, { description: 'Pass it as `sessionId` to continue the conversation.' })
  sessionId!: string;

  @Field(() => AgentRunStatus, { description: 'Its status.' })
  status!: RunStatus;

  @Field(() => String, { description: 'The task of the run.' })
  input!: string;

  // Declared here for the schema's order; run.resolver.ts resolves it with newly signed URLs.
  @Field(() => String, { nullable: true, description: 'Null until completed.' })
  output!: string | null;

  @Field(() => String, { nullable: true, description: 'The error if it failed; null otherwise.' })
  errorMessage!: string | null;

  @Field(() => Int, { description: 'The number of steps so far.' })
  totalSteps!: number;

  @Field(() => Int, { description: 'The sum of the tokens of all model calls so far, prompts and answers.' })
  tokensUsed!: number;

  @Field(() => Float, {
    description:
      'Credits for model calls and tools so far. After the end of the run the base charge is included.',
  })
  creditsUsed!: number;

  @Field(() => Float, { nullable: true, description: 'Milliseconds from start to end; null until finished.' })
  durationMs!: number | null;

  @Field(() => DateTime, { description: 'When it was started.' })
  createdAt!: Date;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it ended, with or without success; null before.',
  })
  completedAt!: Date | null;

  // Declared here for the schema's order; read by run.resolver.ts.
  @Field(() => [AgentStep], { description: 'All steps so far, in order.' })
  steps!: AgentStep[];
}

export const AgentRunConnection = connectionType('AgentRun', () => AgentRunType);

/** What `agentRunSteps` yields (decisions 8). */
@ObjectType({ simpleResolvers: true, description: 'An event of a run, with the run at that time.' })
export class AgentRunEvent {
  @Field(() => Int, {
    description: 'The number of the event: 1, 2, 3 and so on. Pass the last one as `after` to continue.',
  })
  sequence!: number;

  @Field(() => AgentRunEventType, { description: 'The type of the event.' })
  type!: string;

  @Field(() => AgentStep, { nullable: true, description: 'The step, in events of the type step.' })
  step!: AgentStep | null;

  @Field(() => AgentRunType, { description: 'The run at that time.' })
  run!: AgentRunType;
}

/** What `agentRunUpdates` yields (beyond 14.6). */
@ObjectType({
  simpleResolvers: true,
  description: 'An event of one of many runs, with the run at that time.',
})
export class AgentRunUpdate extends AgentRunEvent {
  @Field(() => String, {
    description: 'The place of the event in the stream: pass the last one as `after` to continue.',
  })
  cursor!: string;
}
