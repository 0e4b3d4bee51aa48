import { Field, ObjectType } from 'type-graphql';
import type { Amounts } from '../../src/contract/words.js';
import { BUCKETS } from '../../src/contract/words.js';
import type { UsageUpdate, UsageUpdateType as Kind } from '../../src/usage/stream.types.js';
import type { UsageRecord } from '../../src/usage/usage.types.js';
import { UsageUpdateKind } from '../enums.js';
import { DateTime, SafeInt } from '../scalars.js';
import { BucketAmount, bucketAmounts, UsageRecordType } from './usage-record.type.js';

@ObjectType({
  simpleResolvers: true,
  description:
    'How a period stands. What may be used of a bucket is `allowance` + `topupStart` + `topupAdded`; where the allowance is -1 it is unlimited.',
})
export class UsageOpening {
  @Field(() => DateTime, { description: 'When the period began.' })
  periodStart!: Date;

  @Field(() => DateTime, { description: 'When it ends.' })
  periodEnd!: Date;

  @Field(() => [BucketAmount], { description: "The plan's allowance; -1 is unlimited." })
  allowance!: BucketAmount[];

  @Field(() => [BucketAmount], { description: 'Units of top-ups that earlier periods left over.' })
  topupStart!: BucketAmount[];

  @Field(() => [BucketAmount], { description: 'Units that were added in this period.' })
  topupAdded!: BucketAmount[];

  @Field(() => [BucketAmount], { description: 'What is used.' })
  used!: BucketAmount[];
}

@ObjectType('UsageUpdate', {
  simpleResolvers: true,
  description:
    'A row of the ledger. An update with `opening` sets the balance of its period; each other one adds `amounts` to what is used in its period, and `granted` to what was added. So all updates in their order give every balance.',
})
export class UsageUpdateType {
  @Field(() => SafeInt, {
    description: "Its number in the organisation's ledger: counts from 1, without a gap. Pass it as `after`.",
  })
  sequence!: number;

  @Field(() => UsageUpdateKind, { description: 'What moved a balance.' })
  type!: Kind;

  @Field(() => DateTime, { description: 'When it happened.' })
  at!: Date;

  @Field(() => DateTime, { description: 'When the period began whose balance it moves.' })
  periodStart!: Date;

  @Field(() => [BucketAmount], {
    description: 'What it charged; negative where it gave back. It never changes.',
  })
  amounts!: BucketAmount[];

  @Field(() => [BucketAmount], { description: 'What it added to the limit.' })
  granted!: BucketAmount[];

  @Field(() => UsageOpening, { nullable: true, description: 'Of a period: how it stands.' })
  opening!: UsageOpening | null;

  @Field(() => UsageRecordType, {
    nullable: true,
    description: 'The record as it is now; null of a period.',
  })
  record!: Omit<UsageRecordType, 'key' | 'job' | 'run' | 'response'> | null;
}

/** Hundredths in the order of BUCKETS; what is nothing is left out. */
function amountsOf(vector: readonly number[]): BucketAmount[] {
  return BUCKETS.flatMap((bucket, index) => {
    const hundredths = vector[index] ?? 0;
    return hundredths === 0 ? [] : [{ bucket, amount: hundredths === -1 ? -1 : hundredths / 100 }];
  });
}

const listed = ({ amounts, granted }: { amounts: Amounts; granted: Amounts }) => ({
  amounts: bucketAmounts(amounts),
  granted: bucketAmounts(granted),
});

const recordOf = (record: UsageRecord) => ({ ...record, ...listed(record) });

/** An update as it is shown: amounts in units. */
export function toUsageUpdate({ opening, record, ...update }: UsageUpdate): UsageUpdateType {
  return {
    ...update,
    ...listed(update),
    opening: opening && {
      periodStart: new Date(opening.periodStart),
      periodEnd: new Date(opening.periodEnd),
      allowance: amountsOf(opening.allowance),
      topupStart: amountsOf(opening.topupStart),
      topupAdded: amountsOf(opening.topupAdded),
      used: amountsOf(opening.used),
    },
    record: record && recordOf(record),
  };
}
