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

/** Live records of the ledger and the live quota (beyond 13.7), from the hub that all subscribers of a process share. */
@Resolver()
export class UsageSubscriptionResolver {
  @Scope('usage')
  @Subscription(() => UsageUpdateType, {
    subscribe: followUsage,
    description:
      "New records of the organisation's ledger, without gaps. Without `after` the first item is the latest record. With `after` exactly the records after that one are sent (0: all stored records). It does not complete.",
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
    description: 'The quota: immediately, and then after each change, at most twice a second.',
  })
  quotaUpdates(@Root() report: QuotaReport): Quota {
    return report as Quota;
  }
}
