import { Arg, Ctx, Query, Resolver } from 'type-graphql';
import { After, checkFirst, toConnection, First } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { Scope } from '../guard.js';
import { DateTime } from '../scalars.js';
import { bucketAmounts, UsageRecordConnection } from './usage-record.type.js';
import type { UsageRecordType } from './usage-record.type.js';

@Resolver()
export class UsageRecordResolver {
  @Scope('usage')
  @Query(() => UsageRecordConnection, { description: "The organisation's metered operations, newest first." })
  async usageRecords(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('since', () => DateTime, { nullable: true, description: 'Only operations since this time.' })
    since: Date | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
  ): Promise<Connection<UsageRecordType>> {
    const page = await services.metering.usageRecords({
      orgId: call.principal.orgId,
      first: checkFirst(first),
      ...(since == null ? {} : { since }),
      ...(after == null ? {} : { after }),
    });
    const nodes = page.nodes.map((record) => ({
      ...record,
      amounts: bucketAmounts(record.amounts),
      granted: bucketAmounts(record.granted),
    }));
    return toConnection({ ...page, nodes }, after);
  }
}
