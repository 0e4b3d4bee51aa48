import { Arg, Ctx, Query, Resolver } from 'type-graphql';
import type { UsageDimension as Dimension, UsageInterval as Interval } from '../../src/usage/usage.types.js';
import type { GraphqlContext } from '../context.js';
import { UsageDimension, UsageInterval } from '../enums.js';
import { Scope } from '../guard.js';
import { DateTime } from '../scalars.js';
import { bucketAmounts } from './usage-record.type.js';
import { UsageSummaryRow } from './usage-summary.type.js';
import { UsageFilterInput } from './usage.input.js';

@Resolver()
export class UsageSummaryResolver {
  @Scope('usage')
  @Query(() => [UsageSummaryRow], {
    description:
      'Usage by intervals and at most two dimensions; at most a minute old. An operation belongs to the interval of its end. At most 10,000 rows; intervals and values without operations have no row.',
  })
  async usageSummary(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('since', () => DateTime, {
      nullable: true,
      description:
        'From this time on, rounded down to a quarter of an hour. Default: 30 days before `until`.',
    })
    since: Date | null | undefined,
    @Arg('until', () => DateTime, {
      nullable: true,
      description: 'Before this time, rounded up to a quarter of an hour. Default: now.',
    })
    until: Date | null | undefined,
    @Arg('interval', () => UsageInterval, {
      defaultValue: 'day',
      description: 'The length of the intervals.',
    })
    interval: Interval,
    @Arg('groupBy', () => [UsageDimension], { nullable: true, description: 'At most two.' })
    groupBy: Dimension[] | null | undefined,
    @Arg('filter', () => UsageFilterInput, { nullable: true, description: 'Default: all operations.' })
    filter: UsageFilterInput | null | undefined,
    @Arg('timeZone', () => String, {
      nullable: true,
      description: 'The time zone of days and months, such as `Europe/Berlin`. Default: UTC.',
    })
    timeZone: string | null | undefined,
  ): Promise<UsageSummaryRow[]> {
    const { orgId } = call.principal;
    const rows = await services.usage.summary({ orgId, since, until, interval, groupBy, filter, timeZone });
    return rows.map((row) => ({ ...row, amounts: bucketAmounts(row.amounts) }));
  }
}
