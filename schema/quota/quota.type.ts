import { Field, Float, ID, ObjectType } from 'type-graphql';
import type { Bucket, PlanCode as Plan } from '../../src/contract/words.js';
import { BucketName, PlanCode, QuotaPlanKind } from '../enums.js';
import { DateTime } from '../scalars.js';

@ObjectType({ simpleResolvers: true, description: 'The plan in force, and when its period ends.' })
export class QuotaPlan {
  @Field(() => PlanCode, { description: 'Its code.' })
  code!: Plan;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => QuotaPlanKind, { description: 'Whether the plan is paid or free.' })
  kind!: string;

  @Field(() => Boolean, {
    description: 'False if the subscription has ended. Then the limits of the Free plan apply.',
  })
  entitled!: boolean;

  @Field(() => DateTime, { description: 'When the period ends and the counters reset.' })
  periodEnd!: string;
}

@ObjectType({
  simpleResolvers: true,
  description: 'A bucket in its units, with up to two decimals; -1 is unlimited.',
})
export class BucketQuota {
  @Field(() => BucketName, { description: 'The bucket.' })
  bucket!: Bucket;

  @Field(() => Float, {
    description: 'The remaining amount: the limit minus the used and the reserved amount; -1 is unlimited.',
  })
  remaining!: number;

  @Field(() => Float, { description: "The plan's allowance plus top-ups; -1 is unlimited." })
  limit!: number;

  @Field(() => Float, {
    description: 'The amount that was charged in this period. Reserved amounts do not count.',
  })
  used!: number;

  @Field(() => Float, { description: 'What work under way may still be charged.' })
  reserved!: number;

  @Field(() => Float, {
    description: '`used` as a percentage of `limit`, with two decimals; 0 if the limit is 0 or unlimited.',
  })
  usagePercent!: number;
}

/** Contract 2.14. */
@ObjectType({ simpleResolvers: true, description: 'The quota of an organisation in this period.' })
export class Quota {
  @Field(() => ID, { description: 'The organisation.' })
  orgId!: string;

  @Field(() => QuotaPlan, { description: 'Its plan.' })
  plan!: QuotaPlan;

  @Field(() => [BucketQuota], { description: 'All nine buckets.' })
  quotas!: BucketQuota[];
}
