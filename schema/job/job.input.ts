import { Field, ID, InputType } from 'type-graphql';
import type { JobFilter } from '../../src/jobs/jobs.types.js';
import type { JobStatus as Status, Tool } from '../../src/contract/words.js';
import { JobStatus, JobTool } from '../enums.js';
import { DateTime } from '../scalars.js';

@InputType('JobFilter', {
  description: 'Selects jobs. A job must match one value of each given list; at most 100 values in each.',
})
export class JobFilterInput implements JobFilter {
  @Field(() => [JobTool], { nullable: true, description: 'Their tools.' })
  tools?: Tool[] | null;

  @Field(() => [JobStatus], { nullable: true, description: 'Their statuses.' })
  statuses?: Status[] | null;

  @Field(() => [ID], { nullable: true, description: 'Ids of their models.' })
  models?: string[] | null;

  @Field(() => [ID], { nullable: true, description: 'Ids of the API keys that created them.' })
  keyIds?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'The end users to whom they are attributed.' })
  endUsers?: string[] | null;

  @Field(() => String, {
    nullable: true,
    description:
      'A part of the prompt or of the spoken text; at most 200 characters; upper and lower case are equal.',
  })
  prompt?: string | null;

  @Field(() => DateTime, { nullable: true, description: 'Created at this time or later.' })
  since?: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'Created before this time.' })
  until?: Date | null;
}
