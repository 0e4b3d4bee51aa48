import { Field, ID, InputType } from 'type-graphql';
import type {
  OperationStatus as Status,
  UsageFilter,
  UsageRecordFilter,
} from '../../src/usage/usage.types.js';
import { OperationStatus, UsageOperation } from '../enums.js';
import { DateTime } from '../scalars.js';

@InputType('UsageFilter', {
  description:
    'Selects operations. An operation must match one value of each given list; at most 100 values in each.',
})
export class UsageFilterInput implements UsageFilter {
  @Field(() => [String], { nullable: true, description: 'Ids of requested models.' })
  models?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'Providers of the models that answered.' })
  providers?: string[] | null;

  @Field(() => [ID], { nullable: true, description: 'Ids of API keys.' })
  keyIds?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'End users that calls name.' })
  endUsers?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'Tags; an operation has at least one of them.' })
  tags?: string[] | null;

  @Field(() => [UsageOperation], { nullable: true, description: 'Kinds of operation.' })
  operations?: string[] | null;

  @Field(() => [OperationStatus], { nullable: true, description: 'Outcomes of operations.' })
  statuses?: Status[] | null;
}

@InputType('UsageRecordFilter', {
  description:
    'Selects records. A record must match one value of each given list; at most 100 values in each.',
})
export class UsageRecordFilterInput extends UsageFilterInput implements UsageRecordFilter {
  @Field(() => DateTime, { nullable: true, description: 'Admitted at this time or later.' })
  since?: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'Admitted before this time.' })
  until?: Date | null;
}
