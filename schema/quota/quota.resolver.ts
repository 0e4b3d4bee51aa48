import { Ctx, Query, Resolver } from 'type-graphql';
import type { QuotaReport } from '../../src/metering/metering.types.js';
import type { GraphqlContext } from '../context.js';
import { Scope } from '../guard.js';
import { Quota } from './quota.type.js';

@Resolver()
export class QuotaResolver {
  @Scope('usage')
  @Query(() => Quota, {
    description: 'The quota of the organisation in the current period of its plan.',
  })
  quota(@Ctx() { call, services }: GraphqlContext): Promise<QuotaReport> {
    return services.metering.quota(call.principal.orgId);
  }
}
