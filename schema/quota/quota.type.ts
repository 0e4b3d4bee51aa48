import { Field, Float, ID, ObjectType } from 'type-graphql';
import type { Bucket, PlanCode as Plan } from '../../src/vocabulary.js';
import { BucketName, PlanCode } from '../enums.js';

@ObjectType({ simpleResolvers: true })
export class QuotaPlan {
  @Field(() => PlanCode)
  code!: Plan;

  @Field(() => String)
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
  @Field(() => BucketName)
  bucket!: Bucket;

  @Field(() => Float)
  remaining!: number;

  @Field(() => Float)
  limit!: number;

  @Field(() => Float)
  used!: number;

  @Field(() => Float)
  usagePercent!: number;
}

/** Contract 2.14. */
@ObjectType({ simpleResolvers: true })
export class Quota {
  @Field(() => ID)
  orgId!: string;

  @Field(() => QuotaPlan)
  plan!: QuotaPlan;

  @Field(() => [BucketQuota], { description: 'All nine buckets.' })
  quotas!: BucketQuota[];
}
