import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { JobStatus as Status, Tool, Tier } from '../../src/contract/words.js';
import { connectionType } from '../connection.js';
import { JobStatus, JobTool, ModelTier } from '../enums.js';
import { DateTime, Json } from '../scalars.js';

/** Contract 2.10. Resolved from the engine's `Job`; `inputParams` and `outputData` are signed by the field resolvers. */
@Directive('@key(fields: "id")')
@ObjectType('Job', { simpleResolvers: true, description: 'An asynchronous piece of work.' })
export class JobType {
  @Field(() => ID, { description: 'Its id, `job_…`.' })
  id!: string;

  @Field(() => ID, { description: 'The organisation that it belongs to.' })
  orgId!: string;

  @Field(() => ID, { description: 'Whose key made it.' })
  userId!: string;

  @Field(() => JobTool, { description: 'What it makes.' })
  tool!: Tool;

  @Field(() => JobStatus, { description: 'Where it stands.' })
  status!: Status;

  @Field(() => Float, { description: 'Percent, 0 to 100.' })
  progress!: number;

  @Field(() => Float, { description: 'The credits part of the price.' })
  estimatedCredits!: number;

  @Field(() => Float, { nullable: true, description: 'Null until completed.' })
  actualCredits!: number | null;

  @Field(() => String, { nullable: true, description: 'Why it failed; null otherwise.' })
  errorMessage!: string | null;

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When a worker first took it up; null until then.' })
  startedAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it ended, however it did; null until then.' })
  completedAt!: Date | null;

  @Field(() => String, { description: 'Id of the model; where another one stepped in, of that.' })
  model!: string;

  @Field(() => ModelTier, { description: 'Tier of the model that was asked for.' })
  modelTier!: Tier;

  // Declared here for the schema's order; resolved (signed) in job.resolver.ts.
  @Field(() => Json, { description: 'The parameters with defaults filled in; files as signed URLs.' })
  inputParams!: Record<string, unknown>;

  @Field(() => Json, { nullable: true, description: 'Null until completed; its shape depends on the tool.' })
  outputData!: Record<string, unknown> | null;
}

export const JobConnection = connectionType('Job', () => JobType);

@ObjectType({ simpleResolvers: true, description: 'The answer to cancelJob.' })
export class CancelJobResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => JobType, { description: 'The job, cancelled.' })
  job!: JobType;
}

/** What `jobProgress` and `jobUpdates` yield (decisions 8). */
@ObjectType({ simpleResolvers: true, description: "One entry of a job's history, with the job as of it." })
export class JobProgress {
  @Field(() => Int, {
    description: 'From 1, without a hole; whoever comes back names the last one that it saw.',
  })
  sequence!: number;

  @Field(() => String, {
    description: 'job.pending, job.processing, job.progress, job.completed, job.failed or job.cancelled.',
  })
  type!: string;

  @Field(() => JobType, { description: 'The job as it was then.' })
  job!: JobType;
}
