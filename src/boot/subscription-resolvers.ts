import type { ResolverClass } from '../../schema/index.js';
import {
  AgentRunSubscriptionResolver,
  ChatSubscriptionResolver,
  JobSubscriptionResolver,
  MessageSubscriptionResolver,
  ResponseSubscriptionResolver,
  UsageExportSubscriptionResolver,
  UsageSubscriptionResolver,
} from '../../subscriptions/index.js';

/** Resolvers of subscriptions, for the building of the schema. `schema/` cannot import them itself (import directions). */
export const subscriptionResolvers: readonly ResolverClass[] = [
  AgentRunSubscriptionResolver,
  ChatSubscriptionResolver,
  JobSubscriptionResolver,
  MessageSubscriptionResolver,
  ResponseSubscriptionResolver,
  UsageExportSubscriptionResolver,
  UsageSubscriptionResolver,
];
