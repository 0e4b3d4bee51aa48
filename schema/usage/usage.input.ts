import { Field, ID, InputType } from 'type-graphql';
import type {
  OperationStatus as Status,
  UsageFilter,
  UsageRecordFilter,
} from '../../src/usage/usage.types.js';
import { OperationStatus } from '../enums.js';
import { DateTime } from '../scalars.js';

@InputType('UsageFilter', {
  description: 'Which operations count: those that have one of the values of each list. At most 100 in each.',
})
export class UsageFilterInput implements UsageFilter {
  @Field(() => [String], { nullable: true, description: 'Ids of models that were asked for.' })
  models?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'Providers of the models that answered.' })
  providers?: string[] | null;

  @Field(() => [ID], { nullable: true, description: 'Ids of API keys.' })
  keyIds?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'End users that calls name.' })
  endUsers?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'Tags; an operation has at least one of them.' })
  tags?: string[] | null;

  @Field(() => [String], { nullable: true, description: 'Kinds of operation, such as chat or image.' })
  operations?: string[] | null;

  @Field(() => [OperationStatus], { nullable: true, description: 'How operations ended.' })
  statuses?: Status[] | null;
}

@InputType('UsageRecordFilter', {
  description:
    'Which records are listed: those that have one of the values of each list. At most 100 in each.',
})
export class UsageRecordFilterInput extends UsageFilterInput implements UsageRecordFilter {
  @Field(() => DateTime, { nullable: true, description: 'Admitted at this time or later.' })
  since?: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'Admitted before this time.' })
  until?: Date | null;
}
