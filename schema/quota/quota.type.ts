import { Field, Float, ID, ObjectType } from 'type-graphql';
import type { Bucket, PlanCode as Plan } from '../../src/contract/words.js';
import { BucketName, PlanCode } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'The plan that holds, and until when.' })
export class QuotaPlan {
  @Field(() => PlanCode, { description: 'Its code.' })
  code!: Plan;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: '`recurring`, or `free`.' })
  kind!: string;

  @Field(() => Boolean, { description: 'False where the subscription has ended: the Free limits hold.' })
  entitled!: boolean;

  @Field(() => String, { description: 'ISO 8601: when the counters reset.' })
  periodEnd!: string;
}

@ObjectType({
  simpleResolvers: true,
  description: 'A bucket in its units, with up to two decimals; -1 is unlimited.',
})
export class BucketQuota {
  @Field(() => BucketName, { description: 'The bucket.' })
  bucket!: Bucket;

  @Field(() => Float, { description: 'Left: the limit less what is used or reserved; -1 is unlimited.' })
  remaining!: number;

  @Field(() => Float, { description: "The plan's allowance and top-ups; -1 is unlimited." })
  limit!: number;

  @Field(() => Float, { description: 'Charged in this period; what is only reserved does not count.' })
  used!: number;

  @Field(() => Float, {
    description: '`used` of `limit` in percent, two decimals; 0 where the limit is 0 or none.',
  })
  usagePercent!: number;
}

/** Contract 2.14. */
@ObjectType({ simpleResolvers: true, description: 'What an organisation may still use in this period.' })
export class Quota {
  @Field(() => ID, { description: 'The organisation.' })
  orgId!: string;

  @Field(() => QuotaPlan, { description: 'Its plan.' })
  plan!: QuotaPlan;

  @Field(() => [BucketQuota], { description: 'All nine buckets.' })
  quotas!: BucketQuota[];
}
