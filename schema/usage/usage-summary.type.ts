import { Field, Float, ID, ObjectType } from 'type-graphql';
import type { OperationStatus as Status } from '../../src/usage/usage.types.js';
import { OperationStatus, UsageOperation } from '../enums.js';
import { DateTime, Decimal, SafeInt } from '../scalars.js';
import { BucketAmount, UsageTokens } from './usage-record.type.js';

@ObjectType({
  simpleResolvers: true,
  description:
    'Percentiles of the time from admission to end, in milliseconds, within 5 %; null if none was measured.',
})
export class UsageLatency {
  @Field(() => Float, { nullable: true, description: 'The median.' })
  p50!: number | null;

  @Field(() => Float, { nullable: true, description: 'The 95th percentile.' })
  p95!: number | null;
}

/** Sums of ended operations. */
@ObjectType()
export abstract class UsageSums {
  @Field(() => SafeInt, { description: 'Operations that ended.' })
  requests!: number;

  @Field(() => SafeInt, { description: 'The number of these that failed.' })
  errors!: number;

  @Field(() => UsageTokens, { description: 'Their tokens.' })
  tokens!: UsageTokens;

  @Field(() => Decimal, { description: 'The sum of their known costs in USD, exact.' })
  costUsd!: string;

  @Field(() => SafeInt, { description: 'Operations whose cost is unknown.' })
  unpriced!: number;
}

@ObjectType({
  simpleResolvers: true,
  description:
    'Usage in an interval. Dimensions that were not requested are null; the others are null for operations without such a value.',
})
export class UsageSummaryRow extends UsageSums {
  @Field(() => DateTime, { description: 'The beginning of the interval in the time zone.' })
  start!: Date;

  @Field(() => String, { nullable: true, description: 'Id of the requested model.' })
  model!: string | null;

  @Field(() => String, { nullable: true, description: 'The provider of the model that answered.' })
  provider!: string | null;

  @Field(() => ID, { nullable: true, description: 'Id of the API key.' })
  keyId!: string | null;

  @Field(() => String, { nullable: true, description: 'The end user.' })
  endUser!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'The tag; operations without tags are in the row with null.',
  })
  tag!: string | null;

  @Field(() => UsageOperation, { nullable: true, description: 'The kind of operation.' })
  operation!: string | null;

  @Field(() => OperationStatus, { nullable: true, description: 'The outcome of the operations.' })
  status!: Status | null;

  @Field(() => [BucketAmount], { description: "Their charges, including an operator's adjustments." })
  amounts!: BucketAmount[];

  @Field(() => UsageLatency, { description: 'The durations of the operations.' })
  latencyMs!: UsageLatency;
}
