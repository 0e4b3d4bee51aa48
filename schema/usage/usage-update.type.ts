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
    'The balance of a period. The limit of a bucket is `allowance` + `topupStart` + `topupAdded`; if the allowance is -1, the bucket is unlimited.',
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

  @Field(() => [BucketAmount], { description: 'The used amounts.' })
  used!: BucketAmount[];
}

@ObjectType('UsageUpdate', {
  simpleResolvers: true,
  description:
    'A row of the ledger. An update with `opening` sets the balance of its period. Every other update adds `amounts` to the used amounts of its period, and `granted` to the added amounts. So all updates in order give every balance.',
})
export class UsageUpdateType {
  @Field(() => SafeInt, {
    description:
      "Its number in the organisation's ledger, from 1 without gaps. Pass the last one as `after` to continue.",
  })
  sequence!: number;

  @Field(() => UsageUpdateKind, { description: 'The reason of the change.' })
  type!: Kind;

  @Field(() => DateTime, { description: 'When it happened.' })
  at!: Date;

  @Field(() => DateTime, { description: 'When the period of the changed balance began.' })
  periodStart!: Date;

  @Field(() => [BucketAmount], {
    description: 'The charge; negative for a refund. It never changes.',
  })
  amounts!: BucketAmount[];

  @Field(() => [BucketAmount], { description: 'The amounts that it added to the limit.' })
  granted!: BucketAmount[];

  @Field(() => UsageOpening, {
    nullable: true,
    description: 'The balance of a new period; null in other updates.',
  })
  opening!: UsageOpening | null;

  @Field(() => UsageRecordType, {
    nullable: true,
    description: 'The current record; null for the update of a period.',
  })
  record!: Omit<UsageRecordType, 'key' | 'job' | 'run' | 'response'> | null;
}

/** Hundredths in the order of BUCKETS; buckets without an amount are absent. */
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

/** An update with amounts in units. */
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
