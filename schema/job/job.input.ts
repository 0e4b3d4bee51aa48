import { Field, ID, InputType } from 'type-graphql';
import type { JobFilter } from '../../src/jobs/jobs.types.js';
import type { JobStatus as Status, Tool } from '../../src/contract/words.js';
import { JobStatus, JobTool } from '../enums.js';
import { DateTime } from '../scalars.js';

@InputType('JobFilter', {
  description: 'Which jobs are listed: those that have one of the values of each list. At most 100 in each.',
})
export class JobFilterInput implements JobFilter {
  @Field(() => [JobTool], { nullable: true, description: 'What they make.' })
  tools?: Tool[] | null;

  @Field(() => [JobStatus], { nullable: true, description: 'Their statuses.' })
  statuses?: Status[] | null;

  @Field(() => [ID], { nullable: true, description: 'Ids of their models.' })
  models?: string[] | null;

  @Field(() => [ID], { nullable: true, description: 'Ids of the API keys that made them.' })
  keyIds?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'End users that they were made for.' })
  endUsers?: string[] | null;

  @Field(() => String, {
    nullable: true,
    description: 'A part of the prompt, or of the text that is spoken; at most 200 characters, in any case.',
  })
  prompt?: string | null;

  @Field(() => DateTime, { nullable: true, description: 'Made at this time or later.' })
  since?: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'Made before this time.' })
  until?: Date | null;
}
