import { Directive, Field, Float, ID, Int, ObjectType } from 'type-graphql';
import type { JobStatus as Status, Tool, Tier } from '../../src/contract/words.js';
import { connectionType } from '../connection.js';
import { JobInput } from './job-input.type.js';
import { JobOutput } from './job-output.type.js';
import { JobStatus, JobTool, ModelTier } from '../enums.js';
import { DateTime, JobEventType, Json } from '../scalars.js';

/** Contract 2.10. Resolved from the engine's `Job`; `inputParams` and `outputData` are signed by the field resolvers. */
@Directive('@key(fields: "id")')
@ObjectType('Job', { simpleResolvers: true, description: 'A piece of work that is done asynchronously.' })
export class JobType {
  @Field(() => ID, { description: 'Its id, `job_…`.' })
  id!: string;

  @Field(() => ID, { description: 'The organisation that it belongs to.' })
  orgId!: string;

  @Field(() => ID, { description: 'The id of the user whose key created it.' })
  userId!: string;

  @Field(() => ID, { description: 'The id of the API key or the session that created it.' })
  keyId!: string;

  @Field(() => JobTool, { description: 'The tool of the job: the kind of its result.' })
  tool!: Tool;

  @Field(() => JobStatus, { description: 'Its status.' })
  status!: Status;

  @Field(() => Float, { description: 'The progress in percent, 0 to 100.' })
  progress!: number;

  @Field(() => Float, { description: 'The credits in the reserved price.' })
  estimatedCredits!: number;

  @Field(() => Float, { nullable: true, description: 'Null until completed.' })
  actualCredits!: number | null;

  @Field(() => String, { nullable: true, description: 'The error if it failed; null otherwise.' })
  errorMessage!: string | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When a worker first started it; null before.' })
  startedAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it ended, with or without success; null before.',
  })
  completedAt!: Date | null;

  @Field(() => ModelTier, { description: 'The tier of the requested model.' })
  modelTier!: Tier;

  // Declared here for the schema's order; resolved (signed) in job.resolver.ts.
  @Field(() => Json, { description: 'The parameters with defaults filled in; files as signed URLs.' })
  inputParams!: Record<string, unknown>;

  @Field(() => JobInput, { description: 'The same, typed by the tool.' })
  input?: object;

  @Field(() => Json, { nullable: true, description: 'Null until completed; its shape depends on the tool.' })
  outputData!: Record<string, unknown> | null;

  @Field(() => JobOutput, {
    nullable: true,
    description: 'The same, typed by the tool; null until completed.',
  })
  output?: object | null;
}

export const JobConnection = connectionType('Job', () => JobType);

@ObjectType({ simpleResolvers: true, description: 'The answer to cancelJob.' })
export class CancelJobResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => JobType, { description: 'The cancelled job.' })
  job!: JobType;
}

/** What `jobProgress` yields (decisions 8). */
@ObjectType({ simpleResolvers: true, description: 'An event of a job, with the job at that time.' })
export class JobProgress {
  @Field(() => Int, {
    description: 'The number of the event: 1, 2, 3 and so on. Pass the last one as `after` to continue.',
  })
  sequence!: number;

  @Field(() => JobEventType, { description: 'The type of the event.' })
  type!: string;

  @Field(() => JobType, { description: 'The job at that time.' })
  job!: JobType;
}

/** What `jobUpdates` yields (beyond 14.6). */
@ObjectType({
  simpleResolvers: true,
  description: 'An event of one of many jobs, with the job at that time.',
})
export class JobUpdate extends JobProgress {
  @Field(() => String, {
    description: 'The place of the event in the stream: pass the last one as `after` to continue.',
  })
  cursor!: string;
}
