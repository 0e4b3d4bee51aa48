import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { JobStatus as Status, Tool, Tier } from '../../src/vocabulary.js';
import { connectionType } from '../connection.js';
import { JobStatus, JobTool, ModelTier } from '../enums.js';
import { DateTime, Json } from '../scalars.js';

/** Contract 2.10. Resolved from the engine's `Job`; `inputParams` and `outputData` are signed by the field resolvers. */
@Directive('@key(fields: "id")')
@ObjectType('Job', { simpleResolvers: true, description: 'An asynchronous piece of work.' })
export class JobType {
  @Field(() => ID)
  id!: string;

  @Field(() => ID)
  orgId!: string;

  @Field(() => ID)
  userId!: string;

  @Field(() => JobTool)
  tool!: Tool;

  @Field(() => JobStatus)
  status!: Status;

  @Field(() => Float, { description: '0 to 100.' })
  progress!: number;

  @Field(() => Float, { description: 'The credits part of the price.' })
  estimatedCredits!: number;

  @Field(() => Float, { nullable: true, description: 'Null until completed.' })
  actualCredits!: number | null;

  @Field(() => String, { nullable: true })
  errorMessage!: string | null;

  @Field(() => DateTime)
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true })
  startedAt!: Date | null;

  @Field(() => DateTime, { nullable: true })
  completedAt!: Date | null;

  @Field(() => String)
  model!: string;

  @Field(() => ModelTier)
  modelTier!: Tier;

  // Declared here for the schema's order; resolved (signed) in job.resolver.ts.
  @Field(() => Json, { description: 'The parameters with defaults filled in; files as signed URLs.' })
  inputParams!: Record<string, unknown>;

  @Field(() => Json, { nullable: true, description: 'Null until completed; its shape depends on the tool.' })
  outputData!: Record<string, unknown> | null;
}

export const JobConnection = connectionType('Job', () => JobType);

@ObjectType({ simpleResolvers: true })
export class CancelJobResult {
  @Field(() => Boolean)
  success!: boolean;

  @Field(() => JobType)
  job!: JobType;
}

/** What `jobProgress` and `jobUpdates` yield (decisions.md 8). */
@ObjectType({ simpleResolvers: true, description: "One entry of a job's history, with the job as of it." })
export class JobProgress {
  @Field(() => Int, { description: 'From 1, without a hole; `after:` takes it.' })
  sequence!: number;

  @Field(() => String, {
    description: 'job.pending, job.processing, job.progress, job.completed, job.failed or job.cancelled.',
  })
  type!: string;

  @Field(() => JobType)
  job!: JobType;
}
