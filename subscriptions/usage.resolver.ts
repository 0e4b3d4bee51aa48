import { Arg, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import {
  Quota,
  SafeInt,
  Scope,
  toUsageUpdate,
  UsageUpdateType,
  type GraphqlContext,
} from '../schema/index.js';
import type { QuotaReport } from '../src/metering/metering.types.js';
import type { UsageUpdate } from '../src/usage/stream.types.js';

type Subscribing<Args> = SubscribeResolverData<unknown, Args, GraphqlContext>;

function followUsage({ args, context }: Subscribing<{ after?: number | null }>) {
  const { call, services } = context;
  return services.usageEvents.follow(call.principal.orgId, args.after ?? undefined);
}

const followQuota = ({ context: { call, services } }: Subscribing<unknown>) =>
  services.usageEvents.quota(call.principal.orgId);

/** The ledger and the quota as they move (beyond 13.7): the hub's, shared by all subscribers of a process. */
@Resolver()
export class UsageSubscriptionResolver {
  @Scope('usage')
  @Subscription(() => UsageUpdateType, {
    subscribe: followUsage,
    description:
      "The organisation's ledger as it grows, without a gap. Without `after` the first item is the last record that there is. With `after` exactly the records after that one are sent (0: all that are kept). It does not complete.",
  })
  usageUpdates(
    @Root() update: UsageUpdate,
    @Arg('after', () => SafeInt, {
      nullable: true,
      description: 'The sequence of the last record that you received.',
    })
    _after?: number,
  ): UsageUpdateType {
    return toUsageUpdate(update);
  }

  @Scope('usage')
  @Subscription(() => Quota, {
    subscribe: followQuota,
    description: 'The quota: at once, and then whenever it has moved, at most twice a second.',
  })
  quotaUpdates(@Root() report: QuotaReport): Quota {
    return report as Quota;
  }
}
